//! The series of a load: one row per span, interval, role and operation. The columns are described in
//! `docs/formats.md`.

use std::collections::BTreeSet;

use iostall_measure::Op;
use iostall_model::LoadOutcome;
use iostall_model::figures::per_second;
use iostall_model::outcome::{IntervalPoint, RoleOutcome};

use crate::report::{Field, Series};

const HEADER: [&str; 14] = [
    "span",
    "start_s",
    "length_s",
    "role",
    "op",
    "latency_kind",
    "count",
    "bytes",
    "iops",
    "mib_per_s",
    "latency_ms_mean",
    "latency_ms_p50",
    "latency_ms_p99",
    "latency_ms_max",
];

pub(super) fn series(load: &LoadOutcome) -> Series<'_> {
    let rows = load.spans.iter().enumerate().flat_map(|(index, span)| {
        span.roles.iter().flat_map(move |role| {
            ops_of(role).into_iter().flat_map(move |op| {
                role.series.iter().map(move |point| row(index as u64 + 1, role, op, point))
            })
        })
    });
    Series { header: &HEADER, rows: Box::new(rows) }
}

pub(super) fn ops_of(role: &RoleOutcome) -> BTreeSet<Op> {
    role.series.iter().flat_map(|point| &point.ops).map(|op| op.op).collect()
}

/// An interval without completions has zero requests and no latency.
fn row<'a>(span: u64, role: &'a RoleOutcome, op: Op, point: &IntervalPoint) -> Vec<Field<'a>> {
    let found = point.ops.iter().find(|found| found.op == op);
    let (count, bytes) = found.map_or((0, 0), |found| (found.count, found.bytes));
    let kind = if role.open_loop.is_some() { "response" } else { "service" };
    let millis = |ns: u64| ns as f64 / 1e6;
    vec![
        span.into(),
        (point.start_ns as f64 / 1e9).into(),
        (point.length_ns as f64 / 1e9).into(),
        role.name.as_str().into(),
        op.name().into(),
        kind.into(),
        count.into(),
        bytes.into(),
        per_second(count as f64, point.length_ns).into(),
        per_second(bytes as f64 / 1_048_576.0, point.length_ns).into(),
        found.map(|found| found.latency_ns_mean / 1e6).into(),
        found.map(|found| millis(found.latency_ns_p50)).into(),
        found.map(|found| millis(found.latency_ns_p99)).into(),
        found.map(|found| millis(found.latency_ns_max)).into(),
    ]
}
