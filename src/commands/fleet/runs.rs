//! `iostall fleet runs`.

use iostall_report::forms::write_figures;
use iostall_report::runs::{ServerRun, fleet_table, fleet_to_json};
use iostall_session::output::Outputs;
use iostall_store::{FleetRun, FleetRunFilter, StoreError};
use iostall_watch::open_repository;

use crate::cli::{FleetRunArgs, FleetRunsArgs, FleetRunsCommand, GlobalArgs, RunOutput as _};
use crate::failure::Status;
use crate::output::{Delivery, to_stdout};
use crate::printer::Printer;
use crate::store::{selector, taken};

pub(super) fn run(args: &FleetRunsArgs, global: &GlobalArgs, printer: &Printer) -> anyhow::Result<Status> {
    match &args.command {
        None => list(args, printer),
        Some(FleetRunsCommand::Show(show)) => show_run(&args.url, show, global, printer),
    }
}

fn list(args: &FleetRunsArgs, printer: &Printer) -> anyhow::Result<Status> {
    let choice = &args.choice;
    let (server, kind) = (args.server.clone(), args.kind.clone());
    let filter = FleetRunFilter { server, kind, since: choice.since()?, limit: choice.limit };
    let repository = open_repository(&args.url, &Printer::ask_password)?;
    let found = repository.fleet_runs(&filter).map_err(StoreError::from)?;
    let listed = |FleetRun { server, server_id, entry }| ServerRun { server, server_id, entry };
    let runs: Vec<ServerRun> = found.into_iter().map(listed).collect();
    if choice.json {
        to_stdout(printer, &|out| write_figures(&fleet_to_json(&runs), out))?;
    } else if runs.is_empty() {
        printer.note("no server has sent such a run: `iostall fleet send` sends them");
    } else {
        printer.result(&fleet_table(&runs))?;
    }
    Ok(Status::Done)
}

fn show_run(
    url: &str,
    show: &FleetRunArgs,
    global: &GlobalArgs,
    printer: &Printer,
) -> anyhow::Result<Status> {
    let outputs = Outputs::check(&show.output.wanted(), &taken(global))?;
    let wanted = selector(&show.run)?;
    let repository = open_repository(url, &Printer::ask_password)?;
    let mut stored = repository.fleet_run(&show.server, &wanted)?;
    Ok(Delivery::new(&outputs, &show.output, printer).show(&mut stored.run, stored.number))
}
