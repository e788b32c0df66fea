//! `iostall fleet`.

use iostall_report::fleet::RepositoryEntry;
use iostall_store::Initialised;
use iostall_watch::initialise_repository;

use crate::cli::{FleetArgs, FleetCommand, FleetInitArgs};
use crate::failure::Status;
use crate::printer::Printer;

/// Works on a central repository.
pub(crate) fn run(args: &FleetArgs, printer: &Printer) -> anyhow::Result<Status> {
    match &args.command {
        FleetCommand::Init(args) => init(args, printer),
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
