//! `iostall runs`: stored runs.

mod capacity;

use iostall_report::forms::write_figures;
use iostall_report::runs::{table, to_json};
use iostall_session::diskspd::report_again;
use iostall_session::output::{Form, Outputs, Wanted};
use iostall_store::{Filter, SqliteStore, Store};

use crate::cli::{GlobalArgs, RunOutput as _, RunsArgs, RunsCommand};
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
        Some(RunsCommand::Capacity(args)) => capacity::show(args, &store, printer)?,
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
