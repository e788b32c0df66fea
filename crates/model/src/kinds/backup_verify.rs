//! `iostall backup verify`.

use serde::{Deserialize, Serialize};

use super::outcome::Outcome;
use crate::capacity::Capacity;
use crate::entry::Summary;
use crate::measured::Measured;
use crate::outcome::EngineUse;
use crate::point::Point;
use crate::profile::Profile;
use crate::stripe::{BackupDamage, StripeUse};
use crate::transfer_use::TransferUse;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BackupVerifyOutcome {
    /// Id of the stripe set, in hexadecimal digits.
    pub set: String,
    /// The manifest or stripe that was named.
    pub from: String,
    /// Only headers, index and ends were read: nothing is known about the data itself.
    pub headers_only: bool,
    /// The set is encrypted and was read without its key: nothing is known about what is in its frames.
    #[serde(default, skip_serializing_if = "is_false")]
    pub without_key: bool,
    pub newest: Newest,
    /// Of an increment: what it needs of the sets that it is based on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bases: Vec<BaseUse>,
    pub files: u64,
    /// Those of its bases that it needs included.
    pub frames: u64,
    pub good_frames: u64,
    /// What the checked frames hold.
    pub bytes: u64,
    /// What was read from all stripes together.
    pub stored_bytes: u64,
    pub stripes: Vec<StripeUse>,
    pub elapsed_ns: u64,
    #[serde(flatten)]
    pub used: TransferUse,
    /// What is damaged, in the order of stripes and positions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub damage: Vec<BackupDamage>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BaseUse {
    /// Its id, in hexadecimal digits.
    pub set: String,
    /// Frames of it that the increment needs.
    pub frames: u64,
}

/// Whether the set is the newest of its source, which a set cannot tell by itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Newest {
    #[default]
    Unknown,
    Expected,
    /// The store knows the backups of its source, and none that is newer.
    Known,
    Other {
        set: String,
        because: String,
    },
    /// The store knows a newer one of the same source: `set`.
    Older {
        set: String,
        because: String,
    },
}

impl Newest {
    pub fn is_unknown(&self) -> bool {
        *self == Self::Unknown
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
fn is_false(flag: &bool) -> bool {
    !*flag
}

impl BackupVerifyOutcome {
    pub fn unchecked(&self) -> u64 {
        let bad = self.damage.iter().filter(|damage| damage.frame.is_some()).count() as u64;
        self.frames.saturating_sub(self.good_frames).saturating_sub(bad)
    }
}

impl Outcome for BackupVerifyOutcome {
    fn kind(&self) -> &'static str {
        "backup-verify"
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
