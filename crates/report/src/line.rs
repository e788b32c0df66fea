//! One line about a run, for listings and for progress.

use iostall_measure::Op;
use iostall_model::outcome::SpanOutcome;
use iostall_model::{Run, RunBody};

use crate::figures::{RowKind, rows};
use crate::format::{duration, number, shown};

/// `45,210 IOPS · 353 MiB/s · p99 1.20 ms`; a part that is not known is left out.
pub fn rates(iops: f64, mib_per_s: f64, p99_ns: Option<u64>) -> String {
    let mut text = format!("{} IOPS · {} MiB/s", number(iops), number(mib_per_s));
    if let Some(ns) = p99_ns {
        text.push_str(&format!(" · p99 {}", duration(ns as f64)));
    }
    text
}

/// What a run found, on one line: each role of its last span (where a sweep ends), marked where it was interrupted or doubted.
pub fn run_line(run: &Run) -> String {
    let RunBody::Load(load) = &run.body else { return String::new() };
    let mut text = load.spans.last().map_or_else(|| "nothing measured".to_owned(), span_line);
    if load.spans.len() > 1 {
        text = format!("span {} of {}: {text}", load.spans.len(), load.profile.spans.len());
    }
    if run.interrupted {
        text.push_str(" [interrupted]");
    }
    match run.warnings.len() {
        0 => {}
        1 => text.push_str(" [1 warning]"),
        many => text.push_str(&format!(" [{many} warnings]")),
    }
    text
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
                row.waited_ns().and_then(|latency| latency.value_at(iostall_measure::Percentile::P99)),
            ),
        };
        let word = match row.map(|row| row.kind) {
            Some(RowKind::Op(Op::Read)) => "read ",
            Some(RowKind::Op(Op::Write)) => "write ",
            _ => "",
        };
        if named { format!("{}: {word}{said}", shown(&role.name)) } else { format!("{word}{said}") }
    });
    roles.collect::<Vec<_>>().join("; ")
}
