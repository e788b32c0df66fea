//! `iostall fleet`, and `init`, `tag` and `report` of it.

mod agent;
mod members;
mod pull;
mod push;
mod release;
mod runs;
mod send;
mod serve;
mod settings;

use std::io::Write;

use iostall_measure::clock::utc_now;
use iostall_report::fleet::{RepositoryEntry, sections, title, write_fleet};
use iostall_session::output::{Form, Outputs};
use iostall_store::Initialised;
use iostall_watch::{FleetRequest, fleet_report, initialise_repository, open_repository};

use crate::cli::timestamp::timestamp;
use crate::cli::{FleetArgs, FleetCommand, FleetInitArgs, FleetReportArgs, FleetTagArgs, GlobalArgs};
use crate::failure::Status;
use crate::output::{text_of_sections, write_or_show};
use crate::printer::Printer;
use crate::store::taken;

pub(crate) fn run(args: &FleetArgs, global: &GlobalArgs, printer: &Printer) -> anyhow::Result<Status> {
    match &args.command {
        FleetCommand::Init(args) => init(args, printer),
        FleetCommand::Send(args) => send::run(args, global, printer),
        FleetCommand::Serve(args) => serve::run(args, printer),
        FleetCommand::Pull(args) => pull::run(args, global, printer),
        FleetCommand::Code(args) => members::code(args, printer),
        FleetCommand::Join(args) => members::join(args, global, printer),
        FleetCommand::Servers(args) => members::servers(args, printer),
        FleetCommand::Revoke(args) => members::revoke(args, printer),
        FleetCommand::Report(args) => run_report(args, global, printer),
        FleetCommand::Runs(args) => runs::run(args, global, printer),
        FleetCommand::Settings(args) => settings::settings(args, printer),
        FleetCommand::Advise(args) => settings::advice(args, printer),
        FleetCommand::Notes(args) => settings::notes(args, printer),
        FleetCommand::Release(args) => release::run(args, printer),
        FleetCommand::Agent(args) => agent::run(args, global, printer),
        FleetCommand::Push(args) => push::run(args, printer),
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
        timescaledb_version: repository.timescaledb,
    };
    let text = if args.json { serde_json::to_string_pretty(&entry)? + "\n" } else { entry.line() };
    printer.result(&text)?;
    Ok(Status::Done)
}

fn tag(args: &FleetTagArgs) -> anyhow::Result<Status> {
    let mut repository = open_repository(&args.url, &Printer::ask_password)?;
    repository.tag(&args.source, &args.volume, args.server.as_deref(), &args.name)?;
    Ok(Status::Done)
}

fn run_report(args: &FleetReportArgs, global: &GlobalArgs, printer: &Printer) -> anyhow::Result<Status> {
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
