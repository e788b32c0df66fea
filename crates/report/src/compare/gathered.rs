//! The numbers of one side, by what they are about.

use std::collections::BTreeMap;

use iostall_measure::{Histogram, Op};
use iostall_model::outcome::{IntervalOp, RoleOutcome, SpanOutcome};
use iostall_model::{Point, Repeat, Run, RunBody};

use super::metric::{Metric, value_of};
use crate::format::shown;
use crate::point::{access_word, setting};
use iostall_model::figures::{RowKind, rows};

/// Shorter intervals of a series are left out.
const WHOLE_NS: u64 = 500_000_000;

/// What one subject (a role's operation, a setting) gave in all runs of a side.
#[derive(Default)]
pub(super) struct Gathered {
    count: u64,
    bytes: u64,
    measured_ns: u64,
    latency_ns: Histogram,
    /// By metric: one value a run.
    pub(super) runs: BTreeMap<Metric, Vec<f64>>,
    /// By metric: one value a second, or an interval of a point.
    pub(super) seconds: BTreeMap<Metric, Vec<f64>>,
}

impl Gathered {
    fn add_run(&mut self, count: u64, bytes: u64, measured_ns: u64, latency_ns: &Histogram) {
        for metric in Metric::ALL {
            if let Some(value) = value_of(metric, count, bytes, measured_ns, latency_ns) {
                self.runs.entry(metric).or_default().push(value);
            }
        }
        self.count += count;
        self.bytes += bytes;
        self.measured_ns += measured_ns;
        self.latency_ns.merge(latency_ns);
    }

    fn add_second(&mut self, metric: Metric, value: Option<f64>) {
        self.seconds.entry(metric).or_default().extend(value);
    }

    pub(super) fn value(&self, metric: Metric) -> Option<f64> {
        value_of(metric, self.count, self.bytes, self.measured_ns, &self.latency_ns)
    }
}

/// Subjects in the order they come up first.
#[derive(Default)]
pub(super) struct Subjects(pub(super) Vec<(String, Gathered)>);

impl Subjects {
    fn of(&mut self, subject: &str) -> &mut Gathered {
        let place = self.0.iter().position(|(name, _)| name == subject).unwrap_or_else(|| {
            self.0.push((subject.to_owned(), Gathered::default()));
            self.0.len() - 1
        });
        &mut self.0[place].1
    }

    pub(super) fn get(&self, subject: &str) -> Option<&Gathered> {
        self.0.iter().find(|(name, _)| name == subject).map(|(_, gathered)| gathered)
    }
}

/// Everything that the runs of a side measured, by subject.
pub(super) fn gather(runs: &[Run]) -> Subjects {
    let mut all = Subjects::default();
    for run in runs {
        if let RunBody::Load(load) = &run.body {
            for (index, span) in load.spans.iter().enumerate() {
                let several = load.profile.spans.len() > 1;
                let prefix = if several { format!("span {} ", index + 1) } else { String::new() };
                for role in &span.roles {
                    gather_role(&prefix, span, role, &mut all);
                }
            }
        }
        for point in crate::point::points(run) {
            gather_point(point, all.of(&subject_of(point)));
        }
    }
    all
}

fn gather_role(prefix: &str, span: &SpanOutcome, role: &RoleOutcome, all: &mut Subjects) {
    for row in rows(role).iter().filter(|row| row.kind.moves_data()) {
        let Some(latency_ns) = row.waited_ns() else { continue };
        let gathered = all.of(&format!("{prefix}{} {}", shown(&role.name), row.kind.name()));
        gathered.add_run(row.count, row.bytes, span.measured_ns, latency_ns);
        // A last interval of a few milliseconds is too short for a rate.
        for point in role.series.iter().filter(|point| point.length_ns >= WHOLE_NS) {
            let counts = |op: &&IntervalOp| match row.kind {
                RowKind::Op(kind) => op.op == kind,
                _ => op.op != Op::Sync,
            };
            let ops: Vec<&IntervalOp> = point.ops.iter().filter(counts).collect();
            gather_second(&ops, point.length_ns, gathered);
        }
    }
}

fn gather_second(ops: &[&IntervalOp], length_ns: u64, gathered: &mut Gathered) {
    let seconds = length_ns as f64 / 1e9;
    let count: u64 = ops.iter().map(|op| op.count).sum();
    let bytes: u64 = ops.iter().map(|op| op.bytes).sum();
    gathered.add_second(Metric::Iops, Some(count as f64 / seconds));
    gathered.add_second(Metric::MibPerS, Some(bytes as f64 / 1_048_576.0 / seconds));
    let mean = ops.iter().map(|op| op.latency_ns_mean * op.count as f64).sum::<f64>() / count as f64;
    gathered.add_second(Metric::LatencyNsMean, Some(mean).filter(|mean| mean.is_finite()));
    // Percentiles of two operations cannot be put together: only a single one has them.
    if let [op] = ops {
        gathered.add_second(Metric::LatencyNsP50, Some(op.latency_ns_p50 as f64));
        gathered.add_second(Metric::LatencyNsP99, Some(op.latency_ns_p99 as f64));
    }
}

fn subject_of(point: &Point) -> String {
    let op = match point.write_pct.percent() {
        none if none <= 0.0 => "read".to_owned(),
        all if all >= 100.0 => "write".to_owned(),
        some => format!("with {some} % writes"),
    };
    let target =
        if point.targets.len() == 1 { format!(", target {}", point.targets[0] + 1) } else { String::new() };
    format!("{} {op} {}, {}{target}", access_word(point), point.block_size, setting(point))
}

fn gather_point(point: &Point, gathered: &mut Gathered) {
    let count = point.repeats.iter().map(|repeat| repeat.count).sum();
    let bytes = point.repeats.iter().map(|repeat| repeat.bytes).sum();
    gathered.add_run(count, bytes, point.measured_ns(), &point.latency_ns);
    for repeat in &point.repeats {
        let mib = |repeat: &Repeat| {
            repeat.iops().map(|_| repeat.bytes as f64 / 1_048_576.0 / (repeat.measured_ns as f64 / 1e9))
        };
        gathered.add_second(Metric::Iops, repeat.iops());
        gathered.add_second(Metric::MibPerS, mib(repeat));
        gathered.add_second(Metric::LatencyNsMean, repeat.latency_ns_mean);
        gathered.add_second(Metric::LatencyNsP99, repeat.latency_ns_p99.map(|ns| ns as f64));
    }
}
