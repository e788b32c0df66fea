//! `iostall backup restore`.

use serde::{Deserialize, Serialize};

use super::backup_verify::Newest;
use super::outcome::Outcome;
use crate::capacity::Capacity;
use crate::entry::Summary;
use crate::give_way::GiveWay;
use crate::measured::Measured;
use crate::outcome::EngineUse;
use crate::point::Point;
use crate::profile::Profile;
use crate::stripe::{BackupDamage, StripeUse};
use crate::transfer_use::TransferUse;
use crate::wal_archive::RecoveryRecord;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RestoreOutcome {
    /// Id of the stripe set, in hexadecimal digits.
    pub set: String,
    /// The manifest or stripe that was named.
    pub from: String,
    /// Where everything was restored to. Invalid UTF-8 is replaced.
    pub to: String,
    /// The part of the backup that was asked for; all of it if `None`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub only: Option<String>,
    /// The tablespaces in the backup: where they were, and where they are now.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tablespaces: Vec<RestoredTablespace>,
    /// Where a server that is started on it brings it, if not to the end of the backup.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovery: Option<RecoveryRecord>,
    /// Page size of the database in the backup, bytes; `None` for anything else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page_bytes: Option<u32>,
    #[serde(default, skip_serializing_if = "Newest::is_unknown")]
    pub newest: Newest,
    /// Whether everything has its name: before that, nothing looks whole.
    pub is_whole: bool,
    /// Where the unfinished restore was left, if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left: Option<String>,
    pub files: u64,
    pub bytes: u64,
    /// What was read from all stripes together.
    pub stored_bytes: u64,
    pub stripes: Vec<StripeUse>,
    pub reads_max: u32,
    pub worker_count: u32,
    /// Most bytes of content in one request; `None` in runs of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transfer_bytes: Option<u32>,
    /// From the first byte until everything was durable, nanoseconds.
    pub elapsed_ns: u64,
    /// Of this, the final sync calls, nanoseconds.
    pub sync_ns: u64,
    /// Of this, what making the files of MariaDB ready for a server took, nanoseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prepare_ns: Option<u64>,
    #[serde(flatten)]
    pub used: TransferUse,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub damage: Vec<BackupDamage>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit_bytes_per_second: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gave_way: Option<GiveWay>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RestoredTablespace {
    pub oid: String,
    /// Its place on the server that was backed up. Invalid UTF-8 is replaced.
    pub was: String,
    pub is: String,
}

impl RestoreOutcome {
    pub fn pages(&self) -> Option<u64> {
        self.page_bytes.map(|size| self.bytes / u64::from(size.max(1)))
    }
}

impl Outcome for RestoreOutcome {
    fn kind(&self) -> &'static str {
        "restore"
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
