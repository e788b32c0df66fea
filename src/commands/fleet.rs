//! `iostall fleet`.

use std::io::Write;
use std::sync::atomic::Ordering;

use iostall_measure::clock::utc_now;
use iostall_measure::foreign::shown;
use iostall_report::fleet::{RepositoryEntry, sections, title, write_fleet};
use iostall_session::output::{Form, Outputs};
use iostall_store::Initialised;
use iostall_watch::{
    FleetRequest, fleet_report, initialise_repository, introduce, open_repository, place_volumes,
    send_history,
};

use crate::cli::timestamp::timestamp;
use crate::cli::{
    FleetArgs, FleetCommand, FleetInitArgs, FleetReportArgs, FleetSendArgs, FleetTagArgs, GlobalArgs,
};
use crate::failure::{Status, hinted};
use crate::interrupt::stop_flag;
use crate::output::{text_of_sections, write_or_show};
use crate::printer::Printer;
use crate::store::{open_watch, taken};

/// Works on a central repository.
pub(crate) fn run(args: &FleetArgs, global: &GlobalArgs, printer: &Printer) -> anyhow::Result<Status> {
    match &args.command {
        FleetCommand::Init(args) => init(args, printer),
        FleetCommand::Send(args) => send(args, global, printer),
        FleetCommand::Report(args) => report(args, global, printer),
        FleetCommand::Tag(args) => tag(args),
    }
}

fn init(args: &FleetInitArgs, printer: &Printer) -> anyhow::Result<Status> {
    let repository = initialise_repository(&args.url, &Printer::ask_password)?;
    let (done, before) = match repository.done {
        Initialised::Created => ("created", None),
        Initialised::Upgraded { from } => ("upgraded", Some(from)),
        Initialised::UpToDate => ("up-to-date", Some(repository.schema_version)),
    };
    let entry = RepositoryEntry {
        repository: repository.name,
        id: repository.id.to_string(),
        done,
        schema_version_before: before,
        schema_version: repository.schema_version,
        postgres_version: repository.server_version,
    };
    let text = if args.json { serde_json::to_string_pretty(&entry)? + "\n" } else { entry.line() };
    printer.result(&text)?;
    Ok(Status::Done)
}

fn send(args: &FleetSendArgs, global: &GlobalArgs, printer: &Printer) -> anyhow::Result<Status> {
    let mut repository = open_repository(&args.url, &Printer::ask_password)?;
    let store = open_watch(global)?;
    let stop = stop_flag(Some(printer))?;
    if let Some(clone) = introduce(&store, &mut repository, env!("CARGO_PKG_VERSION"))? {
        let (other, at) = (shown(&clone.other), clone.last_seen);
        printer.warning(&hinted(
            anyhow::anyhow!("another machine, {other}, has sent as this server at {at:.0}: its store is a copy of this one"),
            "let only one of them send: on the other, `iostall store remove` its sources, and sample them again",
        ));
    }
    let mut outcome = Ok(());
    send_history(&store, &mut repository, &stop, &mut |source, samples| {
        let line = printer.result(&format!("{}: {samples} samples\n", shown(&source.name)));
        outcome = std::mem::replace(&mut outcome, Ok(())).and(line);
    })?;
    outcome?;
    place_volumes(&store, &mut repository)?;
    Ok(if stop.load(Ordering::Relaxed) { Status::Interrupted } else { Status::Done })
}

fn report(args: &FleetReportArgs, global: &GlobalArgs, printer: &Printer) -> anyhow::Result<Status> {
    let wanted = [
        ("--json", Form::Json, args.json.as_deref()),
        ("--html", Form::Html, args.html.as_deref()),
        ("--markdown", Form::Markdown, args.markdown.as_deref()),
    ];
    let outputs = Outputs::check(&wanted, &taken(global))?;
    let now = utc_now();
    let from = timestamp("--since", &args.since, now)?;
    let to = args.until.as_deref().map_or(Ok(now), |text| timestamp("--until", text, now))?;
    anyhow::ensure!(from < to, "the report ends before it begins: {from:.0} to {to:.0}");
    let version = env!("CARGO_PKG_VERSION");
    let repository = open_repository(&args.url, &Printer::ask_password)?;
    let report = fleet_report(&repository, &FleetRequest { from, to, now, top: args.top, version })?;
    let render = |form, out: &mut dyn Write| write_fleet(&report, form, out);
    let text = || Some(text_of_sections(&title(&report), &sections(&report), printer));
    Ok(write_or_show(&outputs, &render, &text, printer, Status::Done))
}

fn tag(args: &FleetTagArgs) -> anyhow::Result<Status> {
    let mut repository = open_repository(&args.url, &Printer::ask_password)?;
    repository.tag(&args.source, &args.volume, args.server.as_deref(), &args.name)?;
    Ok(Status::Done)
}
