//! The methods of a paced write in a table.

use iostall_measure::Percentile;
use iostall_model::PacedOutcome;
use iostall_model::paced::{MethodOutcome, PacedInterval};

use crate::format::{bytes, count, number};
use crate::table::{Column, Severity, Table, TableCell};

const MIB: f64 = 1_048_576.0;

/// A method, with its packets per burst if several paces were tried.
pub(super) fn method_name(paced: &PacedOutcome, method: &MethodOutcome) -> String {
    let name = method.method.name();
    let packets = method.pace.packets_per_burst;
    if paced.methods.iter().any(|other| other.pace.packets_per_burst != packets) {
        format!("{name} × {packets}")
    } else {
        name.to_owned()
    }
}

fn method_cell(paced: &PacedOutcome, method: &MethodOutcome) -> TableCell {
    let name = method_name(paced, method);
    match method.failed {
        Some(_) => TableCell::from(format!("{name} (failed)")).severity(Severity::Bad),
        None => TableCell::from(name).severity(Severity::Strong),
    }
}

pub(super) fn table(paced: &PacedOutcome) -> Table {
    let mut table = Table::new(
        "Methods",
        vec![
            Column::words("method"),
            Column::numbers("written"),
            Column::numbers("MiB/s"),
            Column::numbers("with sync").droppable(3),
            Column::numbers("write mean"),
            Column::numbers("p99"),
            Column::numbers("peak"),
            Column::numbers("peak at").droppable(1),
            Column::numbers("intervals MiB/s").droppable(2),
            Column::numbers("late bursts"),
            Column::numbers("buffer needed"),
        ],
    );
    for method in &paced.methods {
        let rate = |rate: Option<f64>| rate.map_or_else(|| "-".to_owned(), |rate| number(rate / MIB));
        // The last interval may be too short to say much.
        let whole_bytes = method.whole_interval_bytes(paced.interval_bytes);
        let whole = method.intervals.iter().filter(|interval| interval.is_most_of(whole_bytes));
        let speeds = whole.filter_map(PacedInterval::bytes_per_second);
        let (low, high) = speeds.fold((f64::MAX, 0.0_f64), |(low, high), at| (low.min(at), high.max(at)));
        let range = if high > 0.0 {
            format!("{} to {}", number(low / MIB), number(high / MIB))
        } else {
            "-".to_owned()
        };
        let percentile = method.write_ns.value_at(Percentile::P99);
        let paced_here = method.pace.period_ns > 0;
        let late = if paced_here {
            format!("{} of {}", count(method.late_bursts), count(method.bursts))
        } else if method.pace.delay_ns > 0 {
            "it waits".to_owned()
        } else {
            "no pace".to_owned()
        };
        let late = TableCell::from(late).severity(if method.kept_pace() == Some(false) {
            Severity::Bad
        } else {
            Severity::Plain
        });
        table.row(vec![
            method_cell(paced, method),
            bytes(method.bytes).into(),
            rate(method.bytes_per_second()).into(),
            rate(method.durable_bytes_per_second()).into(),
            TableCell::maybe_time(method.write_ns.mean()),
            TableCell::maybe_time(percentile.map(|ns| ns as f64)),
            TableCell::maybe_time(method.write_ns.max().map(|ns| ns as f64)),
            bytes(method.peak_offset).into(),
            range.into(),
            late,
            method.advised_buffer_bytes().map_or_else(|| "-".to_owned(), bytes).into(),
        ]);
    }
    table.note("with sync: the same with the sync at the end, which buffered writing owes.");
    table.note("late: a burst that began more than half a period after it was due. buffer needed: what a source that cannot wait must hold.");
    table
}
