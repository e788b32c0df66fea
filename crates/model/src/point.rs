//! A point: the result of one setting, measured in a few short intervals. Sweeps and matrices consist of
//! points.

use iostall_measure::{Histogram, Percent, Percentile};
use serde::{Deserialize, Serialize};

use crate::profile::{Access, BlockMix};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Indices in the run's targets.
    pub targets: Vec<u32>,
    pub block_size: BlockMix,
    pub access: Access,
    pub write_pct: Percent,
    /// Requests in flight per worker and target; in an open loop the maximum.
    pub queue_depth: u32,
    pub workers: u32,
    /// Open loop: requested Poisson arrivals per second. Absent: closed loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_iops: Option<f64>,
    pub repeats: Vec<Repeat>,
    /// Latency of the reads and writes of all intervals, nanoseconds: response in an open loop, otherwise
    /// service.
    pub latency_ns: Histogram,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Repeat {
    /// Start of its measured part, nanoseconds from the start of the run.
    pub start_ns: u64,
    pub measured_ns: u64,
    pub count: u64,
    pub bytes: u64,
    pub failed: u64,
    pub latency_ns_mean: Option<f64>,
    /// 99th percentile, nanoseconds; `None` if nothing completed.
    pub latency_ns_p99: Option<u64>,
    /// Open loop: arrivals due and not submitted at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backlog_at_end: Option<u64>,
}

impl Repeat {
    pub fn iops(&self) -> Option<f64> {
        (self.measured_ns > 0).then(|| self.count as f64 / (self.measured_ns as f64 / 1e9))
    }
}

impl Point {
    /// Requests in flight over all workers and targets (closed loop).
    pub fn in_flight(&self) -> u64 {
        u64::from(self.queue_depth) * u64::from(self.workers) * self.targets.len() as u64
    }

    /// The setting in words: `depth 8 × 2 workers`.
    pub fn setting(&self) -> String {
        setting(self.queue_depth, self.workers)
    }

    /// The setting with the highest throughput: what the storage can do.
    pub fn fastest(points: &[Self]) -> Option<&Self> {
        let rate = |point: &&Self| point.iops().unwrap_or(0.0);
        points.iter().max_by(|left, right| rate(left).total_cmp(&rate(right)))
    }

    pub fn measured_ns(&self) -> u64 {
        self.repeats.iter().map(|repeat| repeat.measured_ns).sum()
    }

    /// Completed requests a second over all intervals; `None` if the time is zero.
    pub fn iops(&self) -> Option<f64> {
        self.per_second(self.repeats.iter().map(|repeat| repeat.count).sum())
    }

    pub fn mib_per_s(&self) -> Option<f64> {
        let bytes = self.per_second(self.repeats.iter().map(|repeat| repeat.bytes).sum());
        bytes.map(|bytes| bytes / 1_048_576.0)
    }

    pub fn failed(&self) -> u64 {
        self.repeats.iter().map(|repeat| repeat.failed).sum()
    }

    fn per_second(&self, amount: u64) -> Option<f64> {
        let measured_ns = self.measured_ns();
        (measured_ns > 0).then(|| amount as f64 / (measured_ns as f64 / 1e9))
    }
}

pub fn setting(queue_depth: u32, workers: u32) -> String {
    let plural = if workers == 1 { "" } else { "s" };
    format!("depth {queue_depth} × {workers} worker{plural}")
}

/// An interval did not keep its rate if more than this share of its arrivals had not started at its end.
const BACKLOG_SHARE: f64 = 0.02;

/// Whether more arrives than is done, by what waits at the end.
pub(crate) fn exceeds_backlog(backlog_at_end: u64, arrivals: f64) -> bool {
    backlog_at_end as f64 > arrivals * BACKLOG_SHARE
}

impl Point {
    /// Whether an open-loop point did in each interval what was asked for.
    pub fn keeps_its_rate(&self) -> bool {
        let falls = |repeat: &Repeat| {
            let arrivals = self.rate_iops.unwrap_or(0.0) * repeat.measured_ns as f64 / 1e9;
            exceeds_backlog(repeat.backlog_at_end.unwrap_or(0), arrivals)
        };
        !self.repeats.iter().any(falls)
    }

    /// Whether an open-loop point meets the target: nothing failed, no interval fell behind its rate, and the
    /// 99th percentile of the response time is at most `p99_ns_target`. Arrivals still waiting at the end of
    /// an interval count as too late: they are the slowest, and no histogram includes them.
    pub fn answers_in_time(&self, p99_ns_target: u64) -> bool {
        let waiting: u64 = self.repeats.iter().filter_map(|repeat| repeat.backlog_at_end).sum();
        let answered = self.latency_ns.count() as f64;
        // The same rank among the answered requests only.
        let percent = Percentile::P99.percent() * (answered + waiting as f64) / answered;
        let p99_ns = Percentile::new(percent).and_then(|percentile| self.latency_ns.value_at(percentile));
        self.failed() == 0 && self.keeps_its_rate() && p99_ns.is_some_and(|ns| ns <= p99_ns_target)
    }
}

#[cfg(test)]
mod tests {
    use iostall_measure::{Histogram, Percent};

    use super::*;

    fn point(rate: f64, backlog: u64, latency_ns: u64) -> Point {
        let mut histogram = Histogram::new();
        (0..2000).for_each(|_| histogram.record(latency_ns));
        let repeat = Repeat {
            start_ns: 0,
            measured_ns: 2_000_000_000,
            count: 2000,
            bytes: 2000 * 8192,
            failed: 0,
            latency_ns_mean: histogram.mean(),
            latency_ns_p99: histogram.max(),
            backlog_at_end: Some(backlog),
        };
        Point {
            targets: vec![0],
            block_size: "8K".parse().unwrap(),
            access: crate::profile::Access::Random,
            write_pct: Percent::ZERO,
            queue_depth: 64,
            workers: 1,
            rate_iops: Some(rate),
            repeats: vec![repeat],
            latency_ns: histogram,
        }
    }

    #[test]
    fn the_promise_is_broken_by_slow_answers_failures_and_a_backlog() {
        let good = point(1000.0, 10, 1_000_000);
        assert!(good.answers_in_time(1_000_000));
        assert!(!good.answers_in_time(999_000));
        assert!(!point(1000.0, 100, 1_000_000).answers_in_time(1_000_000));
        // Within the tolerated backlog of 2 %, more than 1 % of the arrivals could wait forever.
        let mut slow_in_the_end = point(1000.0, 15, 900_000);
        slow_in_the_end.latency_ns.record(2_000_000);
        assert!(slow_in_the_end.answers_in_time(1_000_000), "15 of 2016 are 0.7 %");
        (0..10).for_each(|_| slow_in_the_end.latency_ns.record(2_000_000));
        assert!(!slow_in_the_end.answers_in_time(1_000_000), "15 that wait and 11 that were slow are 1.3 %");
        assert!(!point(1000.0, 30, 900_000).answers_in_time(1_000_000), "30 of 2030 are 1.5 %");
        let mut failing = good;
        failing.repeats[0].failed = 1;
        assert!(!failing.answers_in_time(1_000_000));
    }
}
