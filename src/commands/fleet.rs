//! `iostall fleet`.

mod agent;
mod members;
mod pull;
mod push;
mod release;
mod report;
mod runs;
mod send;
mod serve;
mod settings;

use iostall_report::fleet::RepositoryEntry;
use iostall_store::Initialised;
use iostall_watch::{initialise_repository, open_repository};

use crate::cli::{FleetArgs, FleetCommand, FleetInitArgs, FleetTagArgs, GlobalArgs};
use crate::failure::Status;
use crate::printer::Printer;

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
        FleetCommand::Report(args) => report::run(args, global, printer),
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
