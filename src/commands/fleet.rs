//! `iostall fleet`.

use std::sync::atomic::Ordering;

use iostall_measure::foreign::shown;
use iostall_report::fleet::RepositoryEntry;
use iostall_store::Initialised;
use iostall_watch::{initialise_repository, open_repository, send_history};

use crate::cli::{FleetArgs, FleetCommand, FleetInitArgs, FleetSendArgs, GlobalArgs};
use crate::failure::Status;
use crate::interrupt::stop_flag;
use crate::printer::Printer;
use crate::store::open_watch;

/// Works on a central repository.
pub(crate) fn run(args: &FleetArgs, global: &GlobalArgs, printer: &Printer) -> anyhow::Result<Status> {
    match &args.command {
        FleetCommand::Init(args) => init(args, printer),
        FleetCommand::Send(args) => send(args, global, printer),
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
    let mut outcome = Ok(());
    send_history(&store, &mut repository, &stop, &mut |source, samples| {
        let line = printer.result(&format!("{}: {samples} samples\n", shown(&source.name)));
        outcome = std::mem::replace(&mut outcome, Ok(())).and(line);
    })?;
    outcome?;
    Ok(if stop.load(Ordering::Relaxed) { Status::Interrupted } else { Status::Done })
}
