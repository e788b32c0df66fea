//! `iostall runs`: what was kept.

mod capacity;

use std::fmt::Write as _;

use iostall_measure::clock::utc_now;
use iostall_measure::foreign::shown;
use iostall_report::format::rates;
use iostall_store::{Entry, Filter, SqliteStore, Store};
use serde_json::json;

use crate::cli::{GlobalArgs, RunsArgs, RunsCommand};
use crate::failure::Status;
use crate::output::{Delivery, Form, Outputs, Taken, Wanted, wanted};
use crate::printer::Printer;
use crate::store::{self, with_hint};
use crate::timestamp::timestamp;

/// Lists, shows, exports or deletes.
pub(crate) fn run(args: &RunsArgs, global: &GlobalArgs, printer: &Printer) -> anyhow::Result<Status> {
    // Before the store is opened: to look into a file that is the store would take its locks away.
    let outputs = Outputs::check(&wanted_of(args), &Taken::new(global))?;
    let mut store = store::open(global)?;
    match &args.command {
        None => list(args, &store, printer)?,
        Some(RunsCommand::Show(show)) => {
            let stored = store.get(&store::selector(&show.run)?).map_err(with_hint)?;
            let delivery = Delivery::new(&outputs, &show.output);
            return Ok(delivery.show(&stored.run, stored.number, printer, Status::Done));
        }
        Some(RunsCommand::Export(export)) => {
            let document = store.export(&store::selector(&export.run)?).map_err(with_hint)?;
            return Ok(outputs.write_or_show(
                &|_, out| Ok(writeln!(out, "{document}")?),
                &|| Ok(export.output.is_none().then(|| format!("{document}\n"))),
                printer,
                Status::Done,
            ));
        }
        Some(RunsCommand::Capacity(args)) => capacity::show(args, &store, printer)?,
        Some(RunsCommand::Delete(delete)) => {
            for text in &delete.runs {
                let gone = store.delete(&store::selector(text)?).map_err(with_hint)?;
                printer.note(&format!("deleted run {} ({}, {})", gone.number, gone.name, gone.started_utc));
            }
        }
    }
    Ok(Status::Done)
}

/// What is written to files.
fn wanted_of(args: &RunsArgs) -> Vec<Wanted<'_>> {
    match &args.command {
        Some(RunsCommand::Show(show)) => wanted(&show.output),
        Some(RunsCommand::Export(export)) => vec![("--output", Form::Json, export.output.as_deref())],
        Some(RunsCommand::Capacity(_) | RunsCommand::Delete(_)) | None => Vec::new(),
    }
}

fn list(args: &RunsArgs, store: &SqliteStore, printer: &Printer) -> anyhow::Result<()> {
    let list = &args.list;
    let since = list.since.as_deref().map(|text| timestamp("--since", text, utc_now())).transpose()?;
    let filter = Filter {
        name: list.name.clone(),
        target_contains: list.target.clone(),
        since,
        limit: Some(list.limit),
        ..Filter::default()
    };
    let entries = store.list(&filter).map_err(with_hint)?;
    if list.json {
        let rows: Vec<_> = entries.iter().map(as_json).collect();
        printer.document(format!("{}\n", serde_json::to_string_pretty(&rows)?).as_bytes())?;
        return Ok(());
    }
    if entries.is_empty() {
        printer.note("no runs here yet: `iostall load` makes one");
        return Ok(());
    }
    printer.result(&as_table(&entries))?;
    Ok(())
}

fn as_table(entries: &[Entry]) -> String {
    let names: Vec<String> = entries.iter().map(|entry| shown(&entry.name)).collect();
    let name_width = names.iter().map(|name| name.chars().count()).max().unwrap_or(4).max(4);
    let mut text = format!("{:>5}  {:19}  {:name_width$}  result\n", "run", "started (UTC)", "name");
    for (entry, name) in entries.iter().zip(&names) {
        let summary = &entry.summary;
        let result = match (summary.iops, summary.mib_per_s) {
            (Some(iops), Some(mib_per_s)) => rates(iops, mib_per_s, summary.latency_ns_p99),
            (None, Some(mib_per_s)) => format!("{} {mib_per_s:.0} MiB/s", shown(&entry.kind)),
            _ => "nothing measured".to_owned(),
        };
        let mut marks = String::new();
        if entry.interrupted {
            marks.push_str(", interrupted");
        }
        if entry.warning_count > 0 {
            let plural = if entry.warning_count == 1 { "" } else { "s" };
            marks.push_str(&format!(", {} warning{plural}", entry.warning_count));
        }
        let started = entry.started_utc.strftime("%Y-%m-%d %H:%M:%S");
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{:>5}  {started:19}  {:name_width$}  {result}{marks}  {}",
            entry.number.to_string(),
            name,
            shown(&entry.targets.join(" "))
        );
    }
    text
}

fn as_json(entry: &Entry) -> serde_json::Value {
    json!({
        "number": entry.number.0,
        "id": entry.id,
        "kind": entry.kind,
        "name": entry.name,
        "started_utc": entry.started_utc,
        "ended_utc": entry.ended_utc,
        "host": entry.host,
        "tool_version": entry.tool_version,
        "interrupted": entry.interrupted,
        "warnings": entry.warning_count,
        "targets": entry.targets,
        "measured_ns": entry.summary.measured_ns,
        "block_size": entry.summary.block_size,
        "iops": entry.summary.iops,
        "mib_per_s": entry.summary.mib_per_s,
        "latency_ns_p99": entry.summary.latency_ns_p99,
    })
}
