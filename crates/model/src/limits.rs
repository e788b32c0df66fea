//! What is asked of a search for the limits of a volume, and what was measured.

use iostall_measure::{BlockSize, ByteCount, Nanos};
use serde::{Deserialize, Serialize};

use crate::entry::RunId;
use crate::volume_log::VolumeLog;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LimitsTask {
    /// First reads are compared with second ones, and then the limits are searched.
    Whole,
    #[default]
    Search,
    FirstReads,
    ReadAll,
    VendorLog,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LimitsPlan {
    #[serde(default)]
    pub task: LimitsTask,
    pub writes: bool,
    /// Requests in flight per worker, with small requests; large ones have fewer.
    pub queue_depth: u32,
    pub workers: u32,
    /// Size of a new file; of an existing target, how much of it is used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<ByteCount>,
    pub seed: u64,
    pub time_limit: Nanos,
    pub byte_limit: ByteCount,
    /// Every block is read no faster than this, bytes a second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes_per_s: Option<f64>,
}

impl LimitsPlan {
    pub fn is_search(&self) -> bool {
        matches!(self.task, LimitsTask::Whole | LimitsTask::Search)
    }
}

/// Two reads of which one may be slower, nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadPair {
    /// Of a block that was not read before in this run.
    pub first_ns: u64,
    /// Of a block that was read before in this run.
    pub again_ns: u64,
}

/// First reads of blocks, one at a time, against second ones.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FirstReads {
    pub block_size: BlockSize,
    /// The first read of a block, and one of the same block shortly after.
    pub soon: Vec<ReadPair>,
    /// What was read then, in other places, so that a cache forgets those blocks, bytes.
    pub between_bytes: u64,
    /// After that: the first read of a block, and the third one of a block from before.
    pub late: Vec<ReadPair>,
}

impl FirstReads {
    pub fn bytes(&self) -> u64 {
        let pairs = (self.soon.len() + self.late.len()) as u64;
        self.between_bytes.saturating_add(pairs * 2 * u64::from(self.block_size.bytes()))
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct VolumeLogs {
    /// At the beginning; absent if there is only one, which counts since the volume was attached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<VolumeLog>,
    pub after: VolumeLog,
    /// Time between the two, nanoseconds; absent if it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elapsed_ns: Option<u64>,
}

impl VolumeLogs {
    /// What came in between, or since the volume was attached; `None` if it was attached again in between.
    pub fn counted(&self) -> Option<VolumeLog> {
        self.before.as_ref().map_or_else(|| Some(self.after.clone()), |before| self.after.since(before))
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ReadAll {
    /// Where an earlier run had ended, bytes.
    pub from_bytes: u64,
    /// Everything before this was read, bytes.
    pub to_bytes: u64,
    /// The end of what is used of the target, bytes.
    pub whole_bytes: u64,
    pub elapsed_ns: u64,
    pub failed: u64,
    /// Where the first of them are, bytes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed_at: Vec<u64>,
    /// The stopped run that this one continued.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resumed: Option<RunId>,
}

impl ReadAll {
    pub const FAILED_AT_MAX: usize = 16;

    pub fn bytes(&self) -> u64 {
        self.to_bytes.saturating_sub(self.from_bytes)
    }

    pub fn is_whole(&self) -> bool {
        self.to_bytes >= self.whole_bytes
    }

    /// Bytes a second of this run; `None` if it took no time.
    pub fn bytes_per_s(&self) -> Option<f64> {
        (self.elapsed_ns > 0).then(|| self.bytes() as f64 / (self.elapsed_ns as f64 / 1e9))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LimitsEnd {
    Complete,
    Time,
    Bytes,
    Interrupted,
}

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
    Together,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LimitsProbe {
    pub step: ProbeStep,
    /// Indices in the run's targets.
    pub targets: Vec<u32>,
    pub block_size: BlockSize,
    pub in_flight: u64,
    /// From the start of the run, nanoseconds.
    pub start_ns: u64,
    /// Time without requests before it, nanoseconds.
    pub pause_ns: u64,
    pub interval_ns: u64,
    pub counts: Vec<u64>,
    /// Mean latency, nanoseconds; `None` if nothing completed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_ns_mean: Option<f64>,
    pub failed: u64,
    /// Asked for in all, also what came after the last whole interval, bytes; `None` in older runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked_bytes: Option<u64>,
}

impl LimitsProbe {
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    pub fn bytes(&self) -> u64 {
        self.count().saturating_mul(u64::from(self.block_size.bytes()))
    }

    pub fn seconds(&self) -> f64 {
        self.counts.len() as f64 * self.interval_s()
    }

    pub fn interval_s(&self) -> f64 {
        self.interval_ns as f64 / 1e9
    }
}
