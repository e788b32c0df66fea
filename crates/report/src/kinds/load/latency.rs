//! Rates and latencies: the main table, and the percentile table.

use iostall_measure::{Histogram, Percentile};
use iostall_model::figures::{Row, RowKind, rows};
use iostall_model::outcome::{RoleOutcome, SpanOutcome};
use iostall_model::profile::SpanProfile;

use crate::facts;
use crate::format::{maybe_duration, maybe_number, shown};
use crate::percentiles::{note_cautions, percentile_cell, percentile_table};
use crate::table::{Column, Severity, Table, TableCell};

/// Rates and latencies of a span, grouped by role. Closed loops have only service latency; if a role of the
/// span is an open loop, a column distinguishes service and response, and rows come in pairs.
pub(super) fn results(span: &SpanOutcome, asked: Option<&SpanProfile>) -> Table {
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
        let profile = asked.and_then(|span| span.roles.iter().find(|asked| asked.name == role.name));
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
            result_lines(&mut table, row, span.measured_ns, open);
        }
    }
    if open {
        table.note(
            "service: from submit to completion. response: from the intended start, what a user waits for.",
        );
    }
    table
}

fn result_lines(table: &mut Table, row: &Row, measured_ns: u64, open: bool) {
    for (index, (kind, histogram)) in row.latencies().enumerate() {
        let first = index == 0;
        let once = |text: String| if first { text.into() } else { TableCell::from("") };
        let mut cells = vec![once(row.kind.name().to_owned())];
        if open {
            cells.push(kind.name().into());
        }
        cells.push(once(maybe_number(row.iops(measured_ns))));
        cells.push(once(maybe_number(row.mib_per_s(measured_ns))));
        cells.push(maybe_duration(histogram.mean()).into());
        for percentile in [Percentile::P50, Percentile::P95, Percentile::P99, Percentile::P99_9] {
            cells.push(percentile_cell(histogram, percentile));
        }
        cells.push(maybe_duration(histogram.max().map(|ns| ns as f64)).into());
        note_cautions(table, &cells);
        if row.kind == RowKind::Total {
            cells = cells.into_iter().map(strengthen).collect();
        }
        table.row(cells);
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
