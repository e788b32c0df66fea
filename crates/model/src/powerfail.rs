//! What a device kept, and what it lost, when its power failed.

use iostall_measure::named;
use serde::{Deserialize, Serialize};

/// Lost writes that are named; more are only counted.
pub const LOST_NAMED: usize = 20;

named! {
    /// The call after which a write must be durable.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Primitive {
        Fdatasync = "fdatasync",
        Fsync = "fsync",
        /// A write to a file that is open with `O_DSYNC`.
        OpenDatasync = "open_datasync",
        /// A write with `RWF_DSYNC`: FUA, where the device has it.
        RwfDsync = "rwf_dsync",
    }
}

impl Primitive {
    pub fn is_per_write(self) -> bool {
        matches!(self, Self::OpenDatasync | Self::RwfDsync)
    }
}

/// A run of writes, as its writer announces it to the witness.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PowerfailRun {
    /// Its number, which every sector carries: 16 hexadecimal digits.
    pub run: String,
    pub primitive: Primitive,
    pub block_bytes: u32,
    pub first_byte: u64,
    pub blocks: u64,
    /// The target as its user named it.
    pub target: String,
    /// Whether the device takes FUA; `None` if unknown.
    pub takes_fua: Option<bool>,
    pub is_direct: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Acknowledged {
    /// From 1, in the order of the writes.
    pub sequence: u64,
    pub offset: u64,
    /// CRC-32C of the sums of its sectors.
    pub checksum: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "is")]
pub enum Found {
    /// Nothing of this run.
    Missing,
    /// An older write of this run, whole.
    Stale {
        sequence: u64,
    },
    Torn,
    Unreadable,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LostWrite {
    pub sequence: u64,
    pub offset: u64,
    /// The flush that acknowledged it, from 1.
    pub flush: u64,
    pub found: Found,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Finding {
    Lost,
    Stale,
    /// Of the last acknowledged flush nothing is there.
    FlushIgnored,
    /// Of the last acknowledged flush a part is there.
    FlushPartial,
    /// A write after a flush survived one before it.
    Reordered,
    /// A write was cut into pieces. That breaks no promise of a flush.
    Torn,
}

impl Finding {
    pub fn is_loss(self) -> bool {
        self != Self::Torn
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cut {
    pub run: PowerfailRun,
    pub acknowledged_writes: u64,
    pub acknowledged_flushes: u64,
    pub blocks_checked: u64,
    /// Whether the writer ended by itself, so that nothing was cut.
    pub is_ended: bool,
    pub lost_writes: u64,
    pub stale_writes: u64,
    /// The first of them by sequence.
    pub lost: Vec<LostWrite>,
    /// Of the writes of the last acknowledged flush: how many are there, and how many are not.
    pub last_flush: (u64, u64),
    /// The flush of a lost write, and a later write that survived.
    pub reordered: Option<(u64, u64)>,
    pub torn_blocks: u64,
    /// The largest size of pieces that explains them, bytes.
    pub torn_bytes: Option<u32>,
}

impl Cut {
    pub fn counts(&self) -> bool {
        !self.is_ended && self.acknowledged_writes > 0
    }

    pub fn findings(&self) -> Vec<Finding> {
        let (kept, lost) = self.last_flush;
        let of = [
            (Finding::Lost, self.lost_writes > 0),
            (Finding::Stale, self.stale_writes > 0),
            (Finding::FlushIgnored, kept == 0 && lost > 0 && self.reordered.is_none()),
            (Finding::FlushPartial, kept > 0 && lost > 0),
            (Finding::Reordered, self.reordered.is_some()),
            (Finding::Torn, self.torn_blocks > 0),
        ];
        of.into_iter().filter_map(|(finding, is_so)| is_so.then_some(finding)).collect()
    }

    pub fn is_loss(&self) -> bool {
        self.lost_writes > 0
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PrimitiveVerdict {
    pub primitive: Primitive,
    pub cuts: u64,
    pub cuts_with_loss: u64,
    /// With a confidence of 95 %, at most this share of cuts loses something; `None` if one did, or none was seen.
    pub loss_share_max: Option<f64>,
    /// Cuts without a loss that would show the share that was asked for.
    pub cuts_wanted: u64,
    /// The smallest pieces that writes were torn into, bytes.
    pub torn_bytes: Option<u32>,
    /// Whether the kernel turned FUA into a flush, so that nothing is known of the device's FUA.
    pub is_not_passed: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PowerfailReport {
    pub cut: Cut,
    pub findings: Vec<Finding>,
    /// The share of cuts with a loss that is to be excluded.
    pub below: f64,
    pub verdicts: Vec<PrimitiveVerdict>,
}
