//! A load on one line.

use iostall_measure::{Op, Percentile};
use iostall_model::LoadOutcome;
use iostall_model::figures::{RowKind, rows};
use iostall_model::outcome::SpanOutcome;

use crate::format::{rates, shown};

/// The roles of its last span, where a sequence of spans ends.
pub(super) fn line(load: &LoadOutcome) -> String {
    let found = load.spans.last().map_or_else(|| "nothing measured".to_owned(), span_line);
    match load.profile.spans.len() {
        0 | 1 => found,
        many => format!("span {} of {many}: {found}", load.spans.len()),
    }
}

fn span_line(span: &SpanOutcome) -> String {
    let named = span.roles.len() > 1;
    let roles = span.roles.iter().map(|role| {
        let rows = rows(role);
        let total = rows.iter().find(|row| row.kind == RowKind::Total);
        let row = total.or_else(|| rows.first());
        let said = match row {
            None => "no I/O".to_owned(),
            Some(row) => rates(
                row.iops(span.measured_ns).unwrap_or(0.0),
                row.mib_per_s(span.measured_ns).unwrap_or(0.0),
                row.waited_ns().and_then(|latency| latency.value_at(Percentile::P99)),
            ),
        };
        let word = match row.map(|row| row.kind) {
            Some(RowKind::Op(Op::Read)) => "read ",
            Some(RowKind::Op(Op::Write)) => "write ",
            Some(RowKind::Op(Op::Sync) | RowKind::Total | RowKind::Commit) | None => "",
        };
        if named { format!("{}: {word}{said}", shown(&role.name)) } else { format!("{word}{said}") }
    });
    roles.collect::<Vec<_>>().join("; ")
}
