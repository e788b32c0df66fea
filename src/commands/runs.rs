//! `iostall runs`: stored runs.

use std::path::Path;

use iostall_host as host;
use iostall_report::capacity;
use iostall_report::forms::write_figures;
use iostall_report::runs::{table, to_json};
use iostall_session::diskspd::report_again;
use iostall_session::output::{Form, Outputs, Wanted};
use iostall_store::{Filter, SqliteStore, Store};

use crate::cli::{CapacityArgs, GlobalArgs, RunOutput as _, RunsArgs, RunsCommand};
use crate::failure::Status;
use crate::output::{Delivery, Shown, to_stdout, write_or_show};
use crate::printer::Printer;
use crate::store;

pub(crate) fn run(args: &RunsArgs, global: &GlobalArgs, printer: &Printer) -> anyhow::Result<Status> {
    // Before the store is opened: looking into the store's own file would drop its locks.
    let outputs = Outputs::check(&wanted_of(args), &store::taken(global))?;
    let mut store = store::open(global)?;
    match &args.command {
        None => list(args, &store, printer)?,
        Some(RunsCommand::Show(show)) => {
            let mut stored = store.get(&store::selector(&show.run)?)?;
            let mut delivery = Delivery::new(&outputs, &show.output, printer);
            if let Some(format) = show.diskspd {
                delivery.shown = Shown::Text(report_again(&stored.run, format.into())?);
            }
            return Ok(delivery.show(&mut stored.run, stored.number));
        }
        Some(RunsCommand::Export(export)) => {
            let document = store.export(&store::selector(&export.run)?)?;
            return Ok(write_or_show(
                &outputs,
                &|_, out| writeln!(out, "{document}"),
                &|| export.output.is_none().then(|| format!("{document}\n")),
                printer,
                Status::Done,
            ));
        }
        Some(RunsCommand::Capacity(args)) => show_capacities(args, &store, printer)?,
        Some(RunsCommand::Delete(delete)) => {
            for text in &delete.runs {
                let gone = store.delete(&store::selector(text)?)?;
                printer.note(&format!("deleted run {} ({}, {})", gone.number, gone.name, gone.started_utc));
            }
        }
    }
    Ok(Status::Done)
}

fn wanted_of(args: &RunsArgs) -> Vec<Wanted<'_>> {
    match &args.command {
        Some(RunsCommand::Show(show)) => show.output.wanted(),
        Some(RunsCommand::Export(export)) => vec![("--output", Form::Json, export.output.as_deref())],
        Some(RunsCommand::Capacity(_) | RunsCommand::Delete(_)) | None => Vec::new(),
    }
}

fn list(args: &RunsArgs, store: &SqliteStore, printer: &Printer) -> anyhow::Result<()> {
    let list = &args.list;
    let since = list.choice.since()?;
    let filter = Filter {
        name: list.name.clone(),
        target_contains: list.target.clone(),
        since,
        limit: Some(list.choice.limit),
        ..Filter::default()
    };
    let entries = store.list(&filter)?;
    if list.choice.json {
        return Ok(to_stdout(printer, &|out| write_figures(&to_json(&entries), out))?);
    }
    if entries.is_empty() {
        printer.note("there are no runs yet: `iostall load` creates one");
        return Ok(());
    }
    printer.result(&table(&entries))?;
    Ok(())
}

/// Lists the records: of each device and shape the best that is not in doubt first.
fn show_capacities(args: &CapacityArgs, store: &SqliteStore, printer: &Printer) -> anyhow::Result<()> {
    let device = args.device.as_deref().map(lasting_name);
    let all = store.capacities(device.as_deref(), None)?.into_iter().map(|one| (one.number, one.record));
    let mut found = capacity::best_first(all.collect());
    found.truncate(args.limit as usize);
    let records = found.iter().map(|(number, record)| (*number, record));
    if args.json {
        to_stdout(printer, &|out| write_figures(&capacity::to_json(records.clone()), out))?;
    } else if found.is_empty() {
        printer.note("there are no measurements of such a device yet: run `iostall sweep` on it");
    } else {
        printer.result(&capacity::table(records))?;
    }
    Ok(())
}

/// The persistent name of a device given as a path; other names unchanged.
fn lasting_name(device: &str) -> String {
    let identity = device.starts_with('/').then(|| host::identity_of(Path::new(device))).flatten();
    let name = || device.strip_prefix("/dev/").unwrap_or(device).to_owned();
    identity.map_or_else(name, |identity| identity.key().unwrap_or(identity.kernel_name))
}
