//! An archive of PostgreSQL's write-ahead log as a list shows it.
//!
//! Positions are written as PostgreSQL does: `16/B374D848`.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct WalListing {
    pub directory: String,
    /// Of the cluster; a text, because many readers of JSON round such numbers.
    pub system_identifier: String,
    pub segment_bytes: u64,
    /// Archived files, and their size, bytes.
    pub files: u64,
    pub stored_bytes: u64,
    /// Segments without a gap between them, by timeline.
    pub ranges: Vec<WalRange>,
    /// What is missing between ranges of one timeline.
    pub gaps: Vec<WalGap>,
    /// Files that count as missing.
    pub damaged: Vec<WalDamage>,
    /// Whether every byte was read, and not only the header of each file.
    pub is_checked: bool,
    pub sets: Vec<WalSet>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct WalRange {
    pub timeline: u32,
    /// Names of the first segment and of the last.
    pub first: String,
    pub last: String,
    pub segments: u64,
    /// Size of their files, bytes.
    pub stored_bytes: u64,
    /// Where the first begins, and where the last record in the last ends.
    pub from_lsn: String,
    pub to_lsn: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from_utc: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to_utc: Option<Timestamp>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct WalGap {
    /// Names of the first and of the last.
    pub first: String,
    pub last: String,
    pub segments: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct WalDamage {
    pub file: String,
    pub wrong: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct WalSet {
    /// Id of the stripe set, in hexadecimal digits.
    pub set: String,
    pub source: String,
    /// When it ended: it cannot be brought to an earlier time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_utc: Option<Timestamp>,
    pub timeline: u32,
    pub start_lsn: String,
    /// It cannot be brought to an earlier position.
    pub stop_lsn: String,
    /// By the timeline at the end, the newest last. None: the archive is of no use to it.
    pub reaches: Vec<WalReach>,
    /// Why the archive is of no use to it, if so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wrong: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct WalReach {
    pub timeline: u32,
    pub to_lsn: String,
    /// When the last transaction before that ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to_utc: Option<Timestamp>,
    /// What is missing there; `None` if nothing was archived after it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gap: Option<WalGap>,
}

/// A recovery to a point in time, which a server carries out that is started on what was restored.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecoveryRecord {
    /// The directory of the archive. Invalid UTF-8 is replaced.
    pub archive: String,
    /// The target, in words.
    pub until: String,
    pub timeline: u32,
    /// Where the archive ended when it was looked at, and when the last transaction in it ended.
    pub archive_end_lsn: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub archive_end_utc: Option<Timestamp>,
    /// Whether the server waits there; otherwise it becomes a primary.
    pub then_pauses: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct WalPruned {
    pub directory: String,
    /// Why nothing was removed, if nobody can say what is needed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
    /// The first segment that is needed, without its timeline.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub needed_from: Option<String>,
    /// Names of the first and the last file that were removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last: Option<String>,
    /// Files that were removed, and their size, bytes.
    pub files: u64,
    pub bytes: u64,
    /// Files of before that which iostall did not write, or that could not be removed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left: Vec<String>,
}

impl WalListing {
    /// Whether nothing is wrong: no damage, and no gap after one of the backups, or none at all if there is no backup to be
    /// asked about.
    pub fn is_good(&self) -> bool {
        let has_gap =
            |set: &WalSet| set.wrong.is_some() || set.reaches.iter().any(|reach| reach.gap.is_some());
        let is_broken =
            if self.sets.is_empty() { !self.gaps.is_empty() } else { self.sets.iter().any(has_gap) };
        self.damaged.is_empty() && !is_broken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_before_every_backup_harms_nobody() {
        let gap = WalGap { segments: 1, ..WalGap::default() };
        let set =
            |gap| WalSet { reaches: vec![WalReach { gap, ..WalReach::default() }], ..WalSet::default() };
        let alone = WalListing { gaps: vec![gap.clone()], ..WalListing::default() };
        assert!(!alone.is_good());
        let before = WalListing { sets: vec![set(None)], ..alone.clone() };
        assert!(before.is_good());
        let after = WalListing { sets: vec![set(None), set(Some(gap))], ..alone };
        assert!(!after.is_good());
        let damaged = WalListing { damaged: vec![WalDamage::default()], ..before };
        assert!(!damaged.is_good());
    }
}
