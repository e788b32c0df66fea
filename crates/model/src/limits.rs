//! What is asked of a search for the limits of a volume, and what was measured.

use iostall_measure::{BlockSize, ByteCount, Nanos};
use serde::{Deserialize, Serialize};

/// What is asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LimitsPlan {
    /// Writes instead of reads.
    pub writes: bool,
    /// Requests in flight per worker, with small requests; large ones have fewer.
    pub queue_depth: u32,
    pub workers: u32,
    /// Size of a new file; of an existing target, how much of it is used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<ByteCount>,
    /// Seed of every random sequence.
    pub seed: u64,
    /// The whole search takes no longer.
    pub time_limit: Nanos,
    /// The whole search reads or writes no more.
    pub byte_limit: ByteCount,
}

/// Why a search was over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LimitsEnd {
    /// Everything was measured.
    Complete,
    /// The time was up before that.
    Time,
    /// The bytes were used up before that.
    Bytes,
    Interrupted,
}

/// What a probe is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProbeStep {
    /// One request at a time: how fast a request is that waits for no other.
    Unloaded,
    /// As many requests as the target takes, until its rate falls or the time is up.
    Load,
    /// The same after a pause, in which a bucket earns.
    Again,
    /// A few seconds of requests of another size.
    Size,
    /// A few seconds at the rate that is left, for its latencies.
    Sustained,
    /// Two targets at once.
    Together,
}

/// Requests of one size, counted in short intervals.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LimitsProbe {
    pub step: ProbeStep,
    /// Indices in the run's targets.
    pub targets: Vec<u32>,
    pub block_size: BlockSize,
    /// Requests in flight over all workers and targets.
    pub in_flight: u64,
    /// From the start of the run, nanoseconds.
    pub start_ns: u64,
    /// Time without requests before it, nanoseconds.
    pub pause_ns: u64,
    /// Length of each interval, nanoseconds.
    pub interval_ns: u64,
    /// Requests completed in each interval, in order.
    pub counts: Vec<u64>,
    /// Mean latency, nanoseconds; `None` if nothing completed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_ns_mean: Option<f64>,
    pub failed: u64,
}

impl LimitsProbe {
    /// Requests completed in whole intervals.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Bytes that they moved.
    pub fn bytes(&self) -> u64 {
        self.count().saturating_mul(u64::from(self.block_size.bytes()))
    }

    /// Length of all intervals, seconds.
    pub fn seconds(&self) -> f64 {
        self.counts.len() as f64 * self.interval_s()
    }

    /// Length of an interval, seconds.
    pub fn interval_s(&self) -> f64 {
        self.interval_ns as f64 / 1e9
    }
}
