//! A point: the result of one setting, measured in a few short intervals. Sweeps and matrices consist of
//! points.

mod in_time;

use iostall_measure::{Histogram, Percent};
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
