//! One line about a run, for listings and for progress.

use iostall_measure::{Op, Percentile};
use iostall_model::outcome::SpanOutcome;
use iostall_model::{Run, RunBody};

use crate::format::{rates, shown};
use crate::point;
use iostall_model::figures::{RowKind, rows};

/// What a run found, on one line: each role of its last span (where a sweep ends), marked where it was interrupted or doubted.
pub fn run_line(run: &Run) -> String {
    let RunBody::Load(load) = &run.body else { return point::measured_words(run) };
    let found = load.spans.last().map_or_else(|| "nothing measured".to_owned(), span_line);
    let span = match load.profile.spans.len() {
        0 | 1 => String::new(),
        many => format!("span {} of {many}: ", load.spans.len()),
    };
    let interrupted = if run.interrupted { " [interrupted]" } else { "" };
    let warnings = match run.warnings.len() {
        0 => String::new(),
        1 => " [1 warning]".to_owned(),
        many => format!(" [{many} warnings]"),
    };
    format!("{span}{found}{interrupted}{warnings}")
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
            _ => "",
        };
        if named { format!("{}: {word}{said}", shown(&role.name)) } else { format!("{word}{said}") }
    });
    roles.collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn a_line_names_each_role_and_every_mark() {
        assert_eq!(
            run_line(&fixture::run()),
            "data: 3,000 IOPS · 23.4 MiB/s · p99 2.07 ms; log: write 2,000 IOPS · 7.81 MiB/s · p99 299 µs [2 warnings]"
        );
        assert!(run_line(&fixture::interrupted()).ends_with("[interrupted] [3 warnings]"));
        assert_eq!(run_line(&fixture::empty()), "data: no I/O; log: no I/O [interrupted] [1 warning]");
        assert!(run_line(&fixture::two_spans()).starts_with("span 2 of 2: data: 1,500 IOPS"));
    }
}
