//! The methods in a table, grouped by the number of committers.

use iostall_measure::Percentile;
use iostall_model::sync::{LogLayout, ServerSync, SyncStep};
use iostall_model::{FsyncOutcome, Run, WarningCode};

use crate::format::{NONE, count, maybe_number, number};
use crate::judgement::{self, Judgement, is_of_storage, scale};
use crate::percentiles::{note_cautions, percentile_cell};
use crate::table::{Column, Severity, Table, TableCell};

/// The column of the commits' 99th percentile.
const P99: usize = 6;

pub(super) fn table(run: &Run, fsync: &FsyncOutcome) -> Table {
    let mut table = Table::new(
        "Sync methods",
        vec![
            Column::words("method"),
            Column::numbers("commits/s"),
            Column::numbers("beside the server's"),
            Column::numbers("per flush").droppable(3),
            Column::numbers("commit p50"),
            Column::numbers("p95").droppable(2),
            Column::numbers("p99"),
            Column::numbers("max"),
            Column::numbers("flush p50").droppable(1),
        ],
    );
    let mut is_judged = false;
    let committers = fsync.committers();
    for number_of in &committers {
        let steps: Vec<&SyncStep> = fsync.steps.iter().filter(|step| step.committers == *number_of).collect();
        if committers.len() > 1 || *number_of > 1 {
            let (title, note) = group(*number_of, steps.first().map(|step| step.log));
            table.group(title, note);
        }
        let of_server = rate_of_server(fsync, &steps);
        for step in steps {
            let mut cells = cells(fsync, step, of_server);
            note_cautions(&mut table, &cells[4..7]);
            if let Some(judgement) = judged(run, fsync, step) {
                is_judged = true;
                cells[P99] = judgement.on(cells[P99].clone());
            }
            table.row(cells);
        }
    }
    if fsync.steps.iter().any(|step| !step.method.is_durable()) {
        table.note(
            "sync_file_range is not durable: it leaves the data in the device's cache and does not sync metadata. It shows what the flush costs.",
        );
    }
    if let Some(thresholds) = fsync.thresholds.as_ref().filter(|_| is_judged) {
        table.note(&format!("1 committer: {}", scale(thresholds)));
    }
    table.note("per flush: how many commits one flush made durable. A flush is the write and the call that makes it durable.");
    table
}

fn group(committers: u32, log: Option<LogLayout>) -> (String, String) {
    let title = if committers == 1 {
        "1 committer".to_owned()
    } else {
        format!("{} committers", count(committers.into()))
    };
    let note = match log {
        Some(LogLayout::Separate) if committers > 1 => "with a log each",
        Some(LogLayout::Shared) if committers > 1 => "of one log, with group commit",
        _ => "",
    };
    (title, note.to_owned())
}

fn rate_of_server(fsync: &FsyncOutcome, steps: &[&SyncStep]) -> Option<f64> {
    let method = fsync.server.as_ref()?.method()?;
    steps.iter().find(|step| step.method == method)?.commits_per_s()
}

fn cells(fsync: &FsyncOutcome, step: &SyncStep, of_server: Option<f64>) -> Vec<TableCell> {
    let beside = match (step.commits_per_s(), of_server) {
        (Some(rate), Some(server)) if server > 0.0 => format!("{} ×", number(rate / server)),
        _ => NONE.to_owned(),
    };
    let at = |percentile| percentile_cell(&step.commit_ns, percentile);
    let flush_ns = step.flush_ns.value_at(Percentile::P50);
    vec![
        name(fsync, step),
        rate(step),
        beside.into(),
        maybe_number(step.commits_per_flush()).into(),
        at(Percentile::P50),
        at(Percentile::P95),
        at(Percentile::P99),
        TableCell::maybe_time(step.commit_ns.max().map(|ns| ns as f64)),
        TableCell::maybe_time(flush_ns.map(|ns| ns as f64)),
    ]
}

fn name(fsync: &FsyncOutcome, step: &SyncStep) -> TableCell {
    let name = step.method.name();
    let is_servers = fsync.server.as_ref().and_then(ServerSync::method) == Some(step.method);
    if step.failed.is_some() {
        TableCell::from(format!("{name} (failed)")).severity(Severity::Bad)
    } else if is_servers {
        TableCell::from(format!("{name} (the server's)")).severity(Severity::Strong)
    } else if step.method.is_durable() {
        name.into()
    } else {
        TableCell::from(format!("{name} (not durable)")).severity(Severity::Caution)
    }
}

fn rate(step: &SyncStep) -> TableCell {
    match step.commits_per_s() {
        Some(rate) => TableCell::from(number(rate)).severity(Severity::Strong),
        None if step.unavailable.is_some() => "unavailable".into(),
        None => NONE.into(),
    }
}

/// The judgement on the commits of one committer: several share their flushes. `None` if nothing can be said.
pub(super) fn judged(run: &Run, fsync: &FsyncOutcome, step: &SyncStep) -> Option<Judgement> {
    let is_doubtful = run.warnings.iter().any(|warning| warning.code == WarningCode::SyncTooFast);
    let is_judged = step.committers == 1 && step.method.is_durable() && !is_doubtful && is_of_storage(run);
    judgement::judged(&step.commit_ns, fsync.thresholds.as_ref().filter(|_| is_judged)?, &run.disturbed_by())
}
