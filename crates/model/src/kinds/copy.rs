//! `iostall copy`.

use serde::{Deserialize, Serialize};

use super::outcome::Outcome;
use crate::capacity::Capacity;
use crate::measured::Measured;
use crate::outcome::EngineUse;
use crate::point::Point;
use crate::profile::Profile;
use crate::summary::Summary;
use crate::transfer::{
    BufferTime, CopyCounts, CopySettings, DeviceImage, Mismatch, NotCopied, TransferPoint, TransferShape,
};

/// A copy.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CopyOutcome {
    /// What was asked.
    pub settings: CopySettings,
    /// How it was moved; `None` where every file was small, shared or empty.
    pub shape: Option<TransferShape>,
    /// How many of what.
    pub counts: CopyCounts,
    /// Sum of the sizes of the files copied.
    pub bytes: u64,
    /// Of them, bytes that are holes in the source and holes in the destination.
    pub hole_bytes: u64,
    /// Bytes kept from an earlier try after they were checked on the destination.
    pub kept_bytes: u64,
    /// From the first byte to the last directory made durable, verification included, nanoseconds.
    pub elapsed_ns: u64,
    /// Of it, preparing destinations (preallocation), nanoseconds.
    pub prepare_ns: u64,
    /// Of it, the sync calls at the end, nanoseconds.
    pub sync_ns: u64,
    /// Of it, reading back, nanoseconds.
    pub verify_ns: u64,
    /// Where buffers spent their time.
    pub buffer_time: BufferTime,
    /// Throughput over time.
    pub series: Vec<TransferPoint>,
    /// Processor time of this process, user part, nanoseconds.
    pub cpu_user_ns: u64,
    /// Kernel part.
    pub cpu_system_ns: u64,
    /// Files read back and found equal.
    pub verified_files: u64,
    /// Files read back and found different: the answer is no.
    pub mismatches: Vec<Mismatch>,
    /// What could not be copied. A directory stands for all that is in it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_copied: Vec<NotCopied>,
    /// Files, links and nodes that were still to be copied when the copy ended early.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub remaining: u64,
    /// The device, where the copy went onto one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<DeviceImage>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl CopyOutcome {
    /// Whether anything is at the destination that this copy was to bring there.
    pub fn has_brought_something(&self) -> bool {
        let counts = &self.counts;
        counts.files + counts.symlinks + counts.hard_links + counts.specials + counts.already_there > 0
    }

    /// Decimal megabytes a second over the whole; `None` over no time.
    pub fn megabytes_per_second(&self) -> Option<f64> {
        (self.elapsed_ns > 0).then(|| self.bytes as f64 / 1e6 / (self.elapsed_ns as f64 / 1e9))
    }

    /// Processor seconds (user and kernel) for each GiB; `None` below 64 MiB, where it would be the cost of the process
    /// itself.
    pub fn cpu_seconds_per_gibibyte(&self) -> Option<f64> {
        let seconds = (self.cpu_user_ns + self.cpu_system_ns) as f64 / 1e9;
        (self.bytes >= 64 << 20).then(|| seconds / (self.bytes as f64 / 1_073_741_824.0))
    }
}

impl Outcome for CopyOutcome {
    fn kind(&self) -> &'static str {
        "copy"
    }

    fn used_bytes(&self, _index: usize, _whole_bytes: u64) -> Option<u64> {
        None
    }

    fn profile(&self) -> Option<&Profile> {
        None
    }

    // It opens files in more than one way, and its own report says how.
    fn engines(&self) -> Vec<&EngineUse> {
        Vec::new()
    }

    fn points(&self) -> &[Point] {
        &[]
    }

    fn measured(&self) -> Vec<Measured> {
        Vec::new()
    }

    fn capacities(&self, _targets: usize) -> Vec<Capacity> {
        Vec::new()
    }

    fn summary(&self) -> Summary {
        Summary::of_moved(self.bytes, self.elapsed_ns)
    }
}
