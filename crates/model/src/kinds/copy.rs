//! `iostall copy`.

use serde::{Deserialize, Serialize};

use super::outcome::Outcome;
use crate::capacity::Capacity;
use crate::entry::Summary;
use crate::give_way::GiveWay;
use crate::measured::Measured;
use crate::outcome::EngineUse;
use crate::point::Point;
use crate::profile::Profile;
use crate::transfer::{
    CopyCounts, CopySettings, DeviceImage, DryRun, Mismatch, NotCopied, TransferShape, is_zero,
};
use crate::transfer_use::TransferUse;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CopyOutcome {
    pub settings: CopySettings,
    /// How it was moved; `None` if every file was small, shared or empty.
    pub shape: Option<TransferShape>,
    pub counts: CopyCounts,
    /// Total size of the copied files.
    pub bytes: u64,
    /// Of these, bytes that are holes in both source and destination.
    pub hole_bytes: u64,
    /// Bytes kept from an earlier attempt after checking them at the destination.
    pub kept_bytes: u64,
    /// Durable in unfinished files that were kept, so that the same command goes on from there.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unfinished_bytes: u64,
    /// From the first byte until the last directory was durable, including verification, nanoseconds.
    pub elapsed_ns: u64,
    /// Of this, preparing destinations (preallocation), nanoseconds.
    pub prepare_ns: u64,
    /// Of this, the final sync calls, nanoseconds.
    pub sync_ns: u64,
    /// Of this, reading back, nanoseconds.
    pub verify_ns: u64,
    #[serde(flatten)]
    pub used: TransferUse,
    pub verified_files: u64,
    /// Files that differed when read back; exit status 1.
    pub mismatches: Vec<Mismatch>,
    /// What could not be copied. A directory includes everything in it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_copied: Vec<NotCopied>,
    /// Files, links and special files left when the copy ended early.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub remaining: u64,
    /// The device, if the copy went to one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<DeviceImage>,
    /// What would have been done. Nothing was, if this is present.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dry_run: Option<DryRun>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gave_way: Option<GiveWay>,
}

impl CopyOutcome {
    pub fn has_copied_something(&self) -> bool {
        let counts = &self.counts;
        let made = counts.files + counts.symlinks + counts.hard_links + counts.specials;
        let would_do = self.dry_run.as_ref().is_some_and(|dry_run| !dry_run.entries.is_empty());
        would_do || made + counts.already_there + counts.newer_there > 0
    }

    /// Whether all that there is was left out by what the user selects.
    pub fn has_selected_nothing(&self) -> bool {
        self.counts.excluded > 0 && !self.has_copied_something() && self.not_copied.is_empty()
    }

    /// Whether it was refused, or failed before a byte was moved: nothing has happened that a run could say.
    pub fn is_refusal(&self) -> bool {
        let is_moved = self.used.series.iter().any(|point| point.read_bytes + point.written_bytes > 0);
        !self.not_copied.is_empty() && !self.has_copied_something() && self.mismatches.is_empty() && !is_moved
    }

    /// Decimal megabytes per second overall; `None` if the time is zero.
    pub fn megabytes_per_second(&self) -> Option<f64> {
        (self.elapsed_ns > 0).then(|| self.bytes as f64 / 1e6 / (self.elapsed_ns as f64 / 1e9))
    }

    /// CPU seconds (user and kernel) per GiB; `None` below 64 MiB, where the process itself would dominate.
    pub fn cpu_seconds_per_gibibyte(&self) -> Option<f64> {
        let seconds = self.used.cpu_ns() as f64 / 1e9;
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

    // It opens files in several ways, and its own report says how.
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
