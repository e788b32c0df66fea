//! Percentiles in tables: single cells, and whole percentile tables.

use iostall_measure::{Histogram, Percentile};

use crate::format::{NONE, count};
use crate::table::{Column, Severity, Table, TableCell};

/// Note under a table with a percentile that its samples cannot support.
const UNSUPPORTED: &str =
    "? fewer than 10 samples lie beyond this percentile: it says little more than the maximum does.";

/// A percentile of a histogram, marked if the samples cannot support it.
pub(crate) fn percentile_cell(histogram: &Histogram, percentile: Percentile) -> TableCell {
    match histogram.value_at(percentile) {
        None => NONE.into(),
        Some(ns) if percentile.is_supported_by(histogram.count()) => TableCell::time(ns as f64),
        Some(ns) => TableCell::time(ns as f64).marked("?").severity(Severity::Caution),
    }
}

/// Explains the mark of a percentile under the table, if one of `cells` has it.
pub(crate) fn note_cautions(table: &mut Table, cells: &[TableCell]) {
    if cells.iter().any(|cell| cell.severity == Severity::Caution) {
        table.note(UNSUPPORTED);
    }
}

/// The percentile table of one latency. `None` if nothing completed.
pub(crate) fn single_percentile_table(caption: &str, latency_ns: &Histogram) -> Option<Table> {
    let sets = [("latency".to_owned(), latency_ns)];
    percentile_table(caption, if latency_ns.is_empty() { &[] } else { &sets })
}

/// The percentile table of several latencies, one column each. `None` if there are none.
pub(crate) fn percentile_table(caption: &str, sets: &[(String, &Histogram)]) -> Option<Table> {
    if sets.is_empty() {
        return None;
    }
    let mut columns = vec![Column::words("percentile")];
    columns.extend(sets.iter().map(|(name, _)| Column::numbers(name)));
    let mut table = Table::new(caption, columns);
    let whole = |value: fn(&Histogram) -> Option<u64>| {
        move |histogram: &Histogram| -> TableCell {
            TableCell::maybe_time(value(histogram).map(|ns| ns as f64))
        }
    };
    percentile_line(&mut table, sets, "min", whole(Histogram::min));
    for (percentile, label) in Percentile::LEVELS {
        // A row of nines needs ten samples beyond it in one of the columns: DiskSpd shows all, and most of them repeat the maximum.
        let is_known = sets.iter().any(|(_, histogram)| percentile.is_supported_by(histogram.count()));
        if label.ends_with("-nines") && !is_known {
            continue;
        }
        let name = match label.strip_suffix("-nines") {
            Some(nines) => format!("{} % ({nines} nines)", percentile.percent()),
            None => format!("{} %", percentile.percent()),
        };
        percentile_line(&mut table, sets, &name, |histogram| percentile_cell(histogram, percentile));
    }
    percentile_line(&mut table, sets, "max", whole(Histogram::max));
    percentile_line(&mut table, sets, "mean", |histogram| TableCell::maybe_time(histogram.mean()));
    percentile_line(&mut table, sets, "std. deviation", |histogram| TableCell::maybe_time(histogram.stdev()));
    percentile_line(&mut table, sets, "samples", |histogram| count(histogram.count()).into());
    Some(table)
}

fn percentile_line(
    table: &mut Table,
    sets: &[(String, &Histogram)],
    name: &str,
    cell: impl Fn(&Histogram) -> TableCell,
) {
    let mut cells: Vec<TableCell> = vec![name.into()];
    cells.extend(sets.iter().map(|(_, histogram)| cell(histogram)));
    note_cautions(table, &cells);
    table.row(cells);
}
