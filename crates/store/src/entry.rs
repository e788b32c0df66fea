//! A run as a listing shows it, and what a listing can be narrowed by.

use std::fmt;

use iostall_measure::{Op, Percentile};
use iostall_model::paced::MethodOutcome;
use iostall_model::{LoadOutcome, OpOutcome, Point, Run, RunBody, RunId};
use jiff::Timestamp;

/// The number a store gives a run, counted from 1 and never given twice. Written `#12`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunNumber(pub u32);

impl fmt::Display for RunNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.0)
    }
}

/// One line of a listing.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Its number in this store.
    pub number: RunNumber,
    /// Its identity everywhere.
    pub id: RunId,
    /// [`RunBody::kind`].
    pub kind: String,
    /// What the user calls it.
    pub name: String,
    /// When the first request was made, UTC.
    pub started_utc: Timestamp,
    /// When the last answer was in, UTC.
    pub ended_utc: Timestamp,
    /// Name of the machine.
    pub host: String,
    /// Version of iostall that measured it.
    pub tool_version: String,
    /// Stopped before its end.
    pub interrupted: bool,
    /// How many doubts it carries.
    pub warning_count: u32,
    /// The targets' paths in the run's order.
    pub targets: Vec<String>,
    /// Its few numbers.
    pub summary: Summary,
}

/// The numbers of a run that fit in a line. They are for finding a run; its document has the real ones, apart by
/// span, role and operation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Summary {
    /// Length of the measured parts of all spans, nanoseconds; `None` where nothing was measured.
    pub measured_ns: Option<u64>,
    /// Block sizes of the roles as the profile has them, each once: `8K, 64K`.
    pub block_size: Option<String>,
    /// Reads and writes a second, all roles together, over `measured_ns`.
    pub iops: Option<f64>,
    /// 2^20 bytes a second, all roles together, over `measured_ns`.
    pub mib_per_s: Option<f64>,
    /// 99th percentile of the latency of all reads and writes (response in open loop, else service), nanoseconds.
    pub latency_ns_p99: Option<u64>,
}

impl Summary {
    /// Of data moved, which is counted in bytes and not in requests.
    fn of_moved(bytes: u64, elapsed_ns: u64) -> Self {
        let rate = (elapsed_ns > 0).then(|| bytes as f64 / 1_048_576.0 / (elapsed_ns as f64 / 1e9));
        Self { measured_ns: (elapsed_ns > 0).then_some(elapsed_ns), mib_per_s: rate, ..Self::default() }
    }

    /// The summary of `run`.
    pub fn of(run: &Run) -> Self {
        match &run.body {
            RunBody::Load(outcome) => Self::of_load(outcome),
            RunBody::Sweep(outcome) => Self::of_points(&outcome.points, fastest(&outcome.points)),
            RunBody::Matrix(outcome) => Self::of_points(&outcome.points, fastest(&outcome.points)),
            // A search ends with the rate that it confirms.
            RunBody::MaxRate(outcome) => Self::of_points(&outcome.points, outcome.points.last()),
            RunBody::Copy(copy) => Self::of_moved(copy.bytes, copy.elapsed_ns),
            RunBody::Verify(verify) => Self::of_moved(verify.bytes, verify.elapsed_ns),
            RunBody::Write(paced) => {
                let sum = |of: fn(&MethodOutcome) -> u64| paced.methods.iter().map(of).sum();
                Self::of_moved(sum(|method| method.bytes), sum(|method| method.elapsed_ns))
            }
            _ => Self::default(),
        }
    }

    /// Of several settings one is shown.
    fn of_points(points: &[Point], shown: Option<&Point>) -> Self {
        let Some(best) = shown else { return Self::default() };
        Self {
            measured_ns: Some(points.iter().map(Point::measured_ns).sum()),
            block_size: Some(best.block_size.to_string()),
            iops: best.iops(),
            mib_per_s: best.mib_per_s(),
            latency_ns_p99: best.latency_ns.value_at(Percentile::P99),
        }
    }

    fn of_load(outcome: &LoadOutcome) -> Self {
        let mut block_sizes: Vec<String> = Vec::new();
        for role in outcome.profile.spans.iter().flat_map(|span| &span.roles) {
            let text = role.block_size.to_string();
            if !block_sizes.contains(&text) {
                block_sizes.push(text);
            }
        }
        let measured_ns: u64 = outcome.spans.iter().map(|span| span.measured_ns).sum();
        let cells = outcome.spans.iter().flat_map(|span| &span.roles).flat_map(|role| &role.cells);
        let sum = OpOutcome::sum(cells.filter(|cell| cell.op != Op::Sync));
        Self {
            measured_ns: (measured_ns > 0).then_some(measured_ns),
            block_size: (!block_sizes.is_empty()).then(|| block_sizes.join(", ")),
            iops: sum.as_ref().and_then(|sum| sum.iops(measured_ns)),
            mib_per_s: sum.as_ref().and_then(|sum| sum.mebibytes_per_second(measured_ns)),
            latency_ns_p99: sum.as_ref().and_then(|sum| sum.latency_ns().value_at(Percentile::P99)),
        }
    }
}

/// The setting with the most throughput: what the storage can do.
fn fastest(points: &[Point]) -> Option<&Point> {
    let rate = |point: &&Point| point.iops().unwrap_or(0.0);
    points.iter().max_by(|left, right| rate(left).total_cmp(&rate(right)))
}

/// What a listing is narrowed by. Everything that is set must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// The kind, exactly.
    pub kind: Option<String>,
    /// The name, exactly.
    pub name: Option<String>,
    /// Started at this moment or later.
    pub since: Option<Timestamp>,
    /// Started before this moment.
    pub until: Option<Timestamp>,
    /// The path, device or device model of one of the targets contains this text.
    pub target_contains: Option<String>,
    /// At most so many, the newest.
    pub limit: Option<u32>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::sample_run;

    #[test]
    fn a_summary_sums_reads_and_writes_over_the_measured_time_and_leaves_syncs_out() {
        let run = sample_run(1);
        let RunBody::Load(outcome) = &run.body else { unreachable!("the sample is a load") };
        let summary = Summary::of(&run);
        let span = &outcome.spans[0];
        let count: u64 = span
            .roles
            .iter()
            .flat_map(|role| &role.cells)
            .filter(|cell| cell.op != Op::Sync)
            .map(|cell| cell.service_ns.count())
            .sum();
        assert_eq!(summary.measured_ns, Some(span.measured_ns));
        let iops = summary.iops.unwrap();
        assert!((iops * span.measured_ns as f64 / 1e9 - count as f64).abs() < 1e-6);
        assert_eq!(summary.block_size.as_deref(), Some("8K, 4K"));
        assert!(summary.latency_ns_p99.is_some());
    }

    #[test]
    fn a_run_that_measured_nothing_has_no_numbers_rather_than_zeros() {
        let mut run = sample_run(1);
        let RunBody::Load(outcome) = &mut run.body else { unreachable!("the sample is a load") };
        outcome.spans.clear();
        let summary = Summary::of(&run);
        assert_eq!((summary.measured_ns, summary.iops, summary.latency_ns_p99), (None, None, None));
    }
}
