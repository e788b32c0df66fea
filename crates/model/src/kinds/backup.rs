//! `iostall backup create`.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::outcome::Outcome;
use crate::backup::{ObjectLock, Through};
use crate::capacity::Capacity;
use crate::entry::Summary;
use crate::give_way::GiveWay;
use crate::identity::Identity;
use crate::measured::Measured;
use crate::outcome::EngineUse;
use crate::point::Point;
use crate::profile::Profile;
use crate::stripe::{BackupShape, StripeUse};
use crate::transfer::is_zero;
use crate::transfer_use::TransferUse;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BackupOutcome {
    /// Id of the stripe set, in hexadecimal digits; `None` if nothing was written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub set: Option<String>,
    /// Of an increment: the set that it was compared with, then what that one is based on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bases: Vec<String>,
    /// What the first of them is a backup of, and when it was begun.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_source: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_made_utc: Option<Timestamp>,
    /// Bytes that are as they were in these, and were not stored again.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub base_bytes: u64,
    /// Where the manifest is, which makes the stripes a backup. `None` if there is none: nothing was written, or it was
    /// not completed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub manifest: Option<String>,
    /// Until when the store keeps stripes and manifest from everybody who would delete them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object_lock: Option<ObjectLock>,
    /// What was backed up, as named. Invalid UTF-8 is replaced, and passwords are left out.
    pub sources: Vec<String>,
    /// What they are, however they were named; empty in runs of versions before this was noted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub identities: Vec<Identity>,
    /// Why the content may not be as it should, as the manifest says it too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub content_warnings: Vec<String>,
    /// How the files of a PostgreSQL were read; `None` for anything else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub through: Option<Through>,
    /// Page size of the database that was backed up, bytes; `None` for anything else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page_bytes: Option<u32>,
    pub shape: BackupShape,
    pub files: u64,
    /// Total size of the files without their holes: what was read.
    pub bytes: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub hole_bytes: u64,
    /// What came out of the compressor, without headers, padding and indexes; 0 if it is not known.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub compressed_bytes: u64,
    /// What all stripes have together; for `null:`, what they would have.
    pub stored_bytes: u64,
    pub stripes: Vec<StripeUse>,
    /// From the beginning, before the sources were listed, until the manifest was durable, nanoseconds.
    pub elapsed_ns: u64,
    /// Of this, the final sync calls, nanoseconds.
    pub sync_ns: u64,
    #[serde(flatten)]
    pub used: TransferUse,
    /// Pages of the database whose own checksum was compared; `None` if it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pages_checked: Option<u64>,
    /// Pages whose checksum is wrong, one sentence each. They are in the backup as they were read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bad_pages: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gave_way: Option<GiveWay>,
}

impl BackupOutcome {
    /// Size of what had to be stored of the source as a multiple of what was written; `None` if one of them is nothing.
    pub fn ratio(&self) -> Option<f64> {
        let stored = self.bytes.saturating_sub(self.base_bytes);
        (self.stored_bytes > 0 && stored > 0).then(|| stored as f64 / self.stored_bytes as f64)
    }

    pub fn pages(&self) -> Option<u64> {
        self.page_bytes.map(|size| self.bytes / u64::from(size.max(1)))
    }

    pub fn is_whole(&self) -> bool {
        self.manifest.is_some()
    }
}

impl Outcome for BackupOutcome {
    fn kind(&self) -> &'static str {
        "backup"
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
