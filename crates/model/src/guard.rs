//! What a guard of a volume measures, and what it is compared with.

use iostall_measure::{ByteCount, Nanos};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::entry::RunId;
use crate::point::Point;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GuardPlan {
    /// Requests in flight per worker, with small requests; large ones have fewer.
    pub queue_depth: u32,
    pub workers: u32,
    /// Size of a new file; of an existing target, how much of it is used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<ByteCount>,
    pub probe: Nanos,
    pub probes_max: u32,
    /// Requests a second of a canary, which only looks at latency. Absent: as many as the target takes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_iops: Option<f64>,
    pub time_limit: Nanos,
    pub byte_limit: ByteCount,
    /// A volume may be slower by this share.
    pub tolerance: f64,
}

impl GuardPlan {
    pub fn is_like(&self, other: &Self) -> bool {
        let rate = |plan: &Self| plan.rate_iops.map(f64::to_bits);
        (self.queue_depth, self.workers, self.size, self.probe, rate(self))
            == (other.queue_depth, other.workers, other.size, other.probe, rate(other))
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DatabaseNear {
    pub name: String,
    /// Reads and writes a second in its newest interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iops: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stall_per_s: Option<f64>,
    /// When that interval ended; `None`: there is none that tells of now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until_utc: Option<Timestamp>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PaidFor {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iops: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes_per_s: Option<f64>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GuardPast {
    pub run: RunId,
    pub started_utc: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub firmware: Option<String>,
    /// One for each size that it measured.
    pub figures: Vec<GuardFigure>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct GuardFigure {
    pub block_bytes: u32,
    pub iops: f64,
    pub latency_ns_mean: f64,
}

impl GuardFigure {
    /// Of a point; `None` if nothing completed.
    pub fn of(point: &Point) -> Option<Self> {
        Some(Self {
            block_bytes: point.block_size.largest().bytes(),
            iops: point.iops()?,
            latency_ns_mean: point.latency_ns.mean()?,
        })
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GuardBaseline {
    pub run: RunId,
    pub started_utc: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub firmware: Option<String>,
    pub points: Vec<Point>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GuardEnd {
    Decided,
    Probes,
    Time,
    Bytes,
    Busy,
    DatabaseBusy,
    /// What a database on the volume does is not known: it is watched, but there are no new samples.
    DatabaseUnknown,
    Interrupted,
}
