//! Rates and latencies: the main table, and the percentile table.

use iostall_measure::{Histogram, Percentile};
use iostall_model::Run;
use iostall_model::figures::{Row, RowKind, rows};
use iostall_model::outcome::{RoleOutcome, SpanOutcome};
use iostall_model::profile::{RoleProfile, SpanProfile};

use super::judged::{Figure, Judged, waited};
use crate::facts;
use crate::format::{maybe_number, shown};
use crate::judgement::Limits;
use crate::percentiles::{note_cautions, percentile_cell, percentile_table};
use crate::section::LatencyBars;
use crate::table::{Column, Severity, Table, TableCell};

/// Where a line of the table has its IOPS, its p99 and its maximum, from the right.
const IOPS_FROM_RIGHT: usize = 8;
const P99_FROM_RIGHT: usize = 3;

/// Rates and latencies of a span, grouped by role. Closed loops have only service latency; if a role of the
/// span is an open loop, a column distinguishes service and response, and rows come in pairs.
pub(super) fn results(run: &Run, span: &SpanOutcome, asked: Option<&SpanProfile>) -> Table {
    let open = span.roles.iter().any(|role| role.open_loop.is_some());
    let mut columns = vec![Column::words("")];
    if open {
        columns.push(Column::words("latency"));
    }
    columns.extend([
        Column::numbers("IOPS"),
        Column::numbers("MiB/s"),
        Column::numbers("mean").droppable(2),
        Column::numbers("p50"),
        Column::numbers("p95").droppable(1),
        Column::numbers("p99"),
        Column::numbers("p99.9").droppable(3),
        Column::numbers("max"),
    ]);
    let mut table = Table::new("Rates and latency", columns);
    for role in &span.roles {
        let profile = asked_of(role, asked);
        let judged = Judged::of(run, span, role, profile);
        let note = match profile {
            Some(profile) => format!(
                "{} · {} · {}",
                facts::role_shape(profile),
                facts::role_drive(profile),
                facts::in_flight(role)
            ),
            None => facts::in_flight(role),
        };
        table.group(shown(&role.name), note);
        let rows = rows(role);
        if rows.is_empty() {
            table.note(&format!("{}: no request completed in the measured part.", shown(&role.name)));
        }
        for row in &rows {
            result_lines(&mut table, row, span.measured_ns, open, judged.as_ref());
        }
        if let Some(judged) = judged {
            table.note(&judged.scale(&role.name));
        }
    }
    if open {
        table.note(
            "service: from submit to completion. response: from the intended start, what a user waits for.",
        );
    }
    table
}

fn asked_of<'a>(role: &RoleOutcome, asked: Option<&'a SpanProfile>) -> Option<&'a RoleProfile> {
    asked?.roles.iter().find(|asked| asked.name == role.name)
}

fn result_lines(table: &mut Table, row: &Row, measured_ns: u64, open: bool, judged: Option<&Judged<'_>>) {
    let latencies = row.latencies().count();
    for (index, (kind, histogram)) in row.latencies().enumerate() {
        let first = index == 0;
        let once = |text: String| if first { text.into() } else { TableCell::from("") };
        let mut cells = vec![once(row.kind.name().to_owned())];
        if open {
            cells.push(kind.name().into());
        }
        cells.push(once(maybe_number(row.iops(measured_ns))));
        cells.push(once(maybe_number(row.mib_per_s(measured_ns))));
        cells.push(TableCell::maybe_time(histogram.mean()));
        for percentile in [Percentile::P50, Percentile::P95, Percentile::P99, Percentile::P99_9] {
            cells.push(percentile_cell(histogram, percentile));
        }
        cells.push(TableCell::maybe_time(histogram.max().map(|ns| ns as f64)));
        note_cautions(table, &cells);
        if row.kind == RowKind::Total {
            cells = cells.into_iter().map(strengthen).collect();
        }
        // In an open loop users wait for the response, which is the last of two lines.
        let is_waited = index + 1 == latencies;
        if let Some(judged) = judged.filter(|judged| judged.kind == row.kind) {
            mark(&mut cells, judged, first, is_waited);
        }
        table.row(cells);
    }
}

/// Marks the number that the thresholds are about.
fn mark(cells: &mut [TableCell], judged: &Judged<'_>, is_first: bool, is_waited: bool) {
    let from_right = match &judged.figure {
        Figure::Iops(_) if is_first => IOPS_FROM_RIGHT,
        Figure::Latency(_) if is_waited => P99_FROM_RIGHT,
        Figure::Iops(_) | Figure::Latency(_) => return,
    };
    let place = cells.len() - from_right;
    if let Some(judgement) = judged.judgement {
        cells[place] = judgement.on(cells[place].clone());
    }
}

/// A total is emphasised, but keeps its warning.
fn strengthen(cell: TableCell) -> TableCell {
    if cell.severity == Severity::Plain { cell.severity(Severity::Strong) } else { cell }
}

/// The percentile table of a role, with a column for each row of [`rows`] and each kind of latency. `None` if
/// nothing completed.
pub(super) fn percentiles(role: &RoleOutcome) -> Option<Table> {
    let rows = rows(role);
    let sets: Vec<(String, &Histogram)> = rows
        .iter()
        .flat_map(|row| {
            let many = row.response_ns.is_some();
            row.latencies().map(move |(kind, histogram)| {
                let name = row.kind.name();
                let name = if many { format!("{name} {}", kind.name()) } else { name.to_owned() };
                (name, histogram)
            })
        })
        .filter(|(_, histogram)| !histogram.is_empty())
        .collect();
    percentile_table(&format!("Latency percentiles of {}", shown(&role.name)), &sets)
}

/// The latencies that the users of each role wait for, as bars.
pub(super) fn bars(run: &Run, span: &SpanOutcome, asked: Option<&SpanProfile>) -> Vec<LatencyBars> {
    let of_role = |role: &RoleOutcome| {
        let rows = rows(role);
        let latency = waited(&rows).or_else(|| rows.first())?.waited_ns()?;
        let judged = Judged::of(run, span, role, asked_of(role, asked));
        let limits = judged.and_then(|judged| Limits::of_thresholds(judged.thresholds));
        Some(LatencyBars { name: shown(&role.name), buckets: latency.filled().collect(), limits })
    };
    span.roles.iter().filter_map(of_role).collect()
}
