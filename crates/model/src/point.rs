//! A point: what storage gave at one setting, measured in a few short intervals. Sweeps and matrices are made of points.

mod in_time;

use iostall_measure::{BlockSize, ByteCount, Caching, Durability, Histogram, Nanos, Percent};
use serde::{Deserialize, Serialize};

use crate::outcome::EngineUse;
use crate::profile::{Access, BlockMix, Profile};
use crate::run_id::RunId;

/// One setting and what it gave.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Indices in the run's targets.
    pub targets: Vec<u32>,
    /// Size of a request, or a mix.
    pub block_size: BlockMix,
    /// Random or sequential.
    pub access: Access,
    /// Share of writes.
    pub write_pct: Percent,
    /// Requests in flight per worker and target; in open loop, the most there may be.
    pub queue_depth: u32,
    /// Workers.
    pub workers: u32,
    /// Open loop: arrivals a second asked for, Poisson. Absent: closed loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_iops: Option<f64>,
    /// The intervals, in the order they were measured.
    pub repeats: Vec<Repeat>,
    /// Latency of the reads and writes of all intervals, nanoseconds: response in open loop, else service.
    pub latency_ns: Histogram,
}

/// One interval of a point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Repeat {
    /// Start of its measured part, nanoseconds from the start of the run.
    pub start_ns: u64,
    /// Length of its measured part, nanoseconds.
    pub measured_ns: u64,
    /// Reads and writes completed in it.
    pub count: u64,
    /// Bytes they moved.
    pub bytes: u64,
    /// Requests that failed.
    pub failed: u64,
    /// Mean latency, nanoseconds; `None` where nothing completed.
    pub latency_ns_mean: Option<f64>,
    /// 99th percentile, nanoseconds; `None` where nothing completed.
    pub latency_ns_p99: Option<u64>,
    /// Open loop: arrivals that were due and not handed over at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backlog_at_end: Option<u64>,
}

impl Repeat {
    /// Completed requests a second; `None` over no time.
    pub fn iops(&self) -> Option<f64> {
        (self.measured_ns > 0).then(|| self.count as f64 / (self.measured_ns as f64 / 1e9))
    }
}

impl Point {
    /// Requests kept in flight over all workers and targets (closed loop).
    pub fn in_flight(&self) -> u64 {
        u64::from(self.queue_depth) * u64::from(self.workers) * self.targets.len() as u64
    }

    /// Length of all measured parts, nanoseconds.
    pub fn measured_ns(&self) -> u64 {
        self.repeats.iter().map(|repeat| repeat.measured_ns).sum()
    }

    /// Completed requests a second over all intervals; `None` over no time.
    pub fn iops(&self) -> Option<f64> {
        self.per_second(self.repeats.iter().map(|repeat| repeat.count).sum())
    }

    /// 2^20 bytes a second over all intervals; `None` over no time.
    pub fn mib_per_s(&self) -> Option<f64> {
        let bytes = self.per_second(self.repeats.iter().map(|repeat| repeat.bytes).sum());
        bytes.map(|bytes| bytes / 1_048_576.0)
    }

    /// Requests that failed.
    pub fn failed(&self) -> u64 {
        self.repeats.iter().map(|repeat| repeat.failed).sum()
    }

    fn per_second(&self, amount: u64) -> Option<f64> {
        let measured_ns = self.measured_ns();
        (measured_ns > 0).then(|| amount as f64 / (measured_ns as f64 / 1e9))
    }
}

/// A sweep: one load with ever more requests in flight.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SweepOutcome {
    /// The load, but for depth and workers, which each point has.
    pub profile: Profile,
    /// How much of each target, from its start, was used, bytes. Empty in runs kept before this was.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub target_bytes: Vec<u64>,
    /// What carried the requests out.
    pub engine: EngineUse,
    /// The 99th percentile that must not be exceeded, nanoseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_ns_p99_target: Option<u64>,
    /// Half width of the 95 % confidence interval of IOPS at which a point is done, in percent of the mean.
    pub precision_pct: f64,
    /// Most intervals of a point.
    pub repeats_max: u32,
    /// In the order they were measured.
    pub points: Vec<Point>,
    /// The intervals measured last, at the point to use, to see whether the storage still gives what it gave at first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checked: Option<Point>,
}

/// What a matrix measures: every combination.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MatrixPlan {
    /// Sizes of requests.
    pub sizes: Vec<BlockSize>,
    /// Random, sequential, or both.
    pub accesses: Vec<Access>,
    /// Shares of writes: 0 for reads, 100 for writes.
    pub write_pcts: Vec<Percent>,
    /// Requests in flight per worker.
    pub depths: Vec<u32>,
    /// Workers.
    pub workers: u32,
    /// Through the page cache or past it.
    pub caching: Caching,
    /// When a write is complete.
    pub durability: Durability,
    /// How much of each target is used, from its start; absent: all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<ByteCount>,
    /// Seed of the random sequences.
    pub seed: u64,
    /// Load before a cell that is not measured.
    pub warmup: Nanos,
    /// Length of an interval.
    pub interval: Nanos,
    /// Half width of the 95 % confidence interval of IOPS at which a cell is done, in percent of the mean.
    pub precision_pct: f64,
    /// Most intervals of a cell.
    pub repeats_max: u32,
}

/// A matrix: every combination of size, pattern and depth, on one device or several side by side.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MatrixOutcome {
    /// What was to be measured on each target.
    pub plan: MatrixPlan,
    /// What carried the requests out.
    pub engine: EngineUse,
    /// The cells that were measured, each on one target.
    pub points: Vec<Point>,
    /// The run that measured the first of them, where this one went on from it; their times are from the start of that run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resumed: Option<RunId>,
}

/// A search for the highest rate of arrivals whose response times keep a promise.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MaxRateOutcome {
    /// The load, but for rate, depth and workers, which each point has.
    pub profile: Profile,
    /// How much of each target, from its start, was used, bytes. Empty in runs kept before this was.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub target_bytes: Vec<u64>,
    /// What carried the requests out.
    pub engine: EngineUse,
    /// The promise: the 99th percentile of the response time, nanoseconds.
    pub latency_ns_p99_target: u64,
    /// What a closed loop gave before the search.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probe: Option<Point>,
    /// The rates that were tried, in order; the confirmations last.
    pub points: Vec<Point>,
    /// The last so many points were confirmations.
    pub confirmations: u32,
}
