//! Measurements of a run under names that runs with the same settings share, so that they can be compared.

use iostall_measure::foreign::shown;
use iostall_measure::{Histogram, Op};

use crate::figures::{Row, RowKind};
use crate::outcome::{IntervalOp, RoleOutcome, SpanOutcome};
use crate::point::{Point, Repeat};

/// Shorter intervals of a series are left out: a last one of a few milliseconds is too short for a rate.
const WHOLE_NS: u64 = 500_000_000;

/// A role's operation or a setting, over the whole run and by interval.
#[derive(Clone, Debug)]
pub struct Measured {
    /// `data read`, or `random read 8K, depth 8 × 1 worker, target 1`.
    pub name: String,
    pub count: u64,
    pub bytes: u64,
    pub measured_ns: u64,
    /// What a user waits for: response in an open loop, otherwise service.
    pub latency_ns: Histogram,
    /// Per second, or per interval of a point.
    pub intervals: Vec<IntervalFigures>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct IntervalFigures {
    pub iops: Option<f64>,
    pub mib_per_s: Option<f64>,
    pub latency_ns_mean: Option<f64>,
    pub latency_ns_p50: Option<f64>,
    pub latency_ns_p99: Option<f64>,
}

impl Measured {
    /// From a row of a role's figures; `None` if it has no latency. `prefix` distinguishes spans.
    pub fn of_row(prefix: &str, span: &SpanOutcome, role: &RoleOutcome, row: &Row) -> Option<Self> {
        let latency_ns = row.waited_ns()?.clone();
        let whole = role.series.iter().filter(|point| point.length_ns >= WHOLE_NS);
        let intervals = whole.map(|point| {
            let counts = |op: &&IntervalOp| match row.kind {
                RowKind::Op(kind) => op.op == kind,
                RowKind::Total | RowKind::Commit => op.op != Op::Sync,
            };
            let ops: Vec<&IntervalOp> = point.ops.iter().filter(counts).collect();
            IntervalFigures::of_ops(&ops, point.length_ns)
        });
        Some(Self {
            name: format!("{prefix}{} {}", shown(&role.name), row.kind.name()),
            count: row.count,
            bytes: row.bytes,
            measured_ns: span.measured_ns,
            latency_ns,
            intervals: intervals.collect(),
        })
    }

    pub fn of_point(point: &Point) -> Self {
        Self {
            name: name_of(point),
            count: point.repeats.iter().map(|repeat| repeat.count).sum(),
            bytes: point.repeats.iter().map(|repeat| repeat.bytes).sum(),
            measured_ns: point.measured_ns(),
            latency_ns: point.latency_ns.clone(),
            intervals: point.repeats.iter().map(IntervalFigures::of_repeat).collect(),
        }
    }
}

impl IntervalFigures {
    fn of_ops(ops: &[&IntervalOp], length_ns: u64) -> Self {
        let seconds = length_ns as f64 / 1e9;
        let count: u64 = ops.iter().map(|op| op.count).sum();
        let bytes: u64 = ops.iter().map(|op| op.bytes).sum();
        let mean = ops.iter().map(|op| op.latency_ns_mean * op.count as f64).sum::<f64>() / count as f64;
        // Percentiles of two operations cannot be combined, so only a single one has them.
        let single = if let [op] = ops { Some(op) } else { None };
        Self {
            iops: Some(count as f64 / seconds),
            mib_per_s: Some(bytes as f64 / 1_048_576.0 / seconds),
            latency_ns_mean: Some(mean).filter(|mean| mean.is_finite()),
            latency_ns_p50: single.map(|op| op.latency_ns_p50 as f64),
            latency_ns_p99: single.map(|op| op.latency_ns_p99 as f64),
        }
    }

    fn of_repeat(repeat: &Repeat) -> Self {
        let mib = |_| repeat.bytes as f64 / 1_048_576.0 / (repeat.measured_ns as f64 / 1e9);
        Self {
            iops: repeat.iops(),
            mib_per_s: repeat.iops().map(mib),
            latency_ns_mean: repeat.latency_ns_mean,
            latency_ns_p50: None,
            latency_ns_p99: repeat.latency_ns_p99.map(|ns| ns as f64),
        }
    }
}

fn name_of(point: &Point) -> String {
    let op = match point.write_pct.percent() {
        none if none <= 0.0 => "read".to_owned(),
        all if all >= 100.0 => "write".to_owned(),
        some => format!("with {some} % writes"),
    };
    let target =
        if point.targets.len() == 1 { format!(", target {}", point.targets[0] + 1) } else { String::new() };
    format!("{} {op} {}, {}{target}", point.access.name(), point.block_size, point.setting())
}
