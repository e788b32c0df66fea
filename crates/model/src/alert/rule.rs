//! Alert rules: what to check, and when to notify.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::class::{Match, RuleSource, StorageClass};
use super::mute::MuteHours;
use super::volume_limit::VolumeLimit;
use crate::counter::Counter;
use crate::level::Level;
use crate::newest_backup::BackupSort;
use crate::sample::Subject;
use crate::totals::Totals;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Measured {
    StallPerRead,
    StallPerWrite,
    StallPerIo,
    StallPerSync,
    Syncs,
    Throughput,
    Iops,
    Size,
    /// Time since the last backup, nanoseconds. Not from an interval.
    BackupAge,
    /// Reads and writes per second at which a volume is held. From several intervals.
    HeldIops,
    HeldThroughput,
    /// Time until credits are spent, nanoseconds.
    EmptyIn,
}

impl Measured {
    pub fn of_limit(limit: VolumeLimit) -> Self {
        match limit {
            VolumeLimit::HeldIops => Self::HeldIops,
            VolumeLimit::HeldThroughput => Self::HeldThroughput,
            VolumeLimit::Draining { .. } => Self::EmptyIn,
        }
    }

    /// Its value in an interval at whose end the size was `size_bytes`; `None` if there were no operations, or
    /// the source does not report it.
    pub fn value(self, totals: &Totals, size_bytes: Option<u64>) -> Option<f64> {
        match self {
            Self::StallPerRead => totals.read_stall_ns_mean(),
            Self::StallPerWrite => totals.write_stall_ns_mean(),
            Self::StallPerIo => totals.io_stall_ns_mean(),
            Self::StallPerSync => totals.sync_stall_ns_mean(),
            Self::Syncs => totals.per_second(Counter::Syncs),
            Self::Throughput => totals.bytes_per_second(),
            Self::Iops => totals.iops(),
            Self::Size => size_bytes.map(|bytes| bytes as f64),
            Self::BackupAge | Self::HeldIops | Self::HeldThroughput | Self::EmptyIn => None,
        }
    }

    /// The number of operations it applies to; `None` if it does not come from operations.
    pub fn operations(self, totals: &Totals) -> Option<u64> {
        let (reads, writes) =
            (totals.amounts.or_zero(Counter::Reads), totals.amounts.or_zero(Counter::Writes));
        match self {
            Self::StallPerRead => Some(reads),
            Self::StallPerWrite => Some(writes),
            Self::StallPerSync | Self::Syncs => Some(totals.amounts.or_zero(Counter::Syncs)),
            Self::StallPerIo | Self::Throughput | Self::Iops => Some(reads.saturating_add(writes)),
            Self::Size | Self::BackupAge | Self::HeldIops | Self::HeldThroughput | Self::EmptyIn => None,
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum Condition {
    Over {
        measured: Measured,
        /// Threshold for classes without their own, in the metric's unit; `None`: only the classes listed are
        /// checked.
        threshold: Option<f64>,
        by_class: BTreeMap<String, f64>,
    },
    Silent,
    /// The last good drill of a backup is too long ago, or there never was one.
    Undrilled {
        /// A part of what it is a backup of, or the beginning of a set's id; `None`: any backup.
        backup: Option<String>,
    },
    Limit(VolumeLimit),
    /// The last backup of a database is too long ago, or there never was one.
    NotBackedUp {
        counts: Vec<BackupSort>,
    },
}

impl Condition {
    pub fn is_silence(&self) -> bool {
        matches!(self, Self::Silent)
    }

    pub fn is_about_drills(&self) -> bool {
        matches!(self, Self::Undrilled { .. })
    }

    /// Whether it is about databases and files of a source, and not about a whole source or about none.
    pub(super) fn is_about_parts(&self) -> bool {
        matches!(self, Self::Over { .. } | Self::Limit(_) | Self::NotBackedUp { .. })
    }

    /// The threshold for storage of `class`; `None` if it is not checked.
    pub fn threshold(&self, class: Option<&str>) -> Option<f64> {
        match self {
            Self::Over { threshold, by_class, .. } => {
                class.and_then(|class| by_class.get(class).copied()).or(*threshold)
            }
            Self::Limit(limit) => Some(limit.threshold()),
            Self::Silent | Self::Undrilled { .. } | Self::NotBackedUp { .. } => None,
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    pub name: String,
    pub condition: Condition,
    /// Which rows; for silence only the source's name matters.
    pub matches: Match,
    pub level: Level,
    /// How long the condition must hold without a break, nanoseconds.
    pub sustained_ns: u64,
    /// How long the condition must be false before the alert ends, nanoseconds.
    pub clear_ns: u64,
    /// Intervals with fewer operations are ignored.
    pub operations_min: u64,
    /// Time between repeats, nanoseconds; `None` notifies once.
    pub repeat_ns: Option<u64>,
    pub mute: Vec<MuteHours>,
    pub channels: Vec<String>,
    pub grouping: Grouping,
    /// How long the first of a group waits for others, nanoseconds.
    pub group_wait_ns: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Grouping {
    /// What lies on one volume of a source.
    #[default]
    Volume,
    Source,
    Each,
}

impl Rule {
    pub fn is_muted(&self, at: Timestamp) -> bool {
        self.mute.iter().any(|hours| hours.cover(at))
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct RuleBook {
    pub classes: Vec<StorageClass>,
    pub rules: Vec<Rule>,
}

impl RuleBook {
    pub fn class_of(&self, source: &RuleSource, subject: &Subject) -> Option<&str> {
        let class = self.classes.iter().find(|class| class.matches.fits(source, subject))?;
        Some(&class.name)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GoodDrill {
    /// What it is a backup of: the host and the sources.
    pub source: String,
    pub set: String,
    pub at: Timestamp,
}

impl GoodDrill {
    /// Whether it counts for a rule about `backup`: a part of the source, or the beginning of the set's id.
    pub fn is_of(&self, backup: Option<&str>) -> bool {
        backup.is_none_or(|part| self.source.contains(part) || self.set.starts_with(part))
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastDrill {
    pub backup: Option<String>,
    /// When the last good one ended; `None` if there never was one.
    pub at: Option<Timestamp>,
}

impl LastDrill {
    /// What a notice of a rule with `condition` says before anybody has looked; `None` if it is not about drills.
    pub(super) fn of(condition: &Condition) -> Option<Self> {
        match condition {
            Condition::Undrilled { backup } => Some(Self { backup: backup.clone(), at: None }),
            Condition::Over { .. }
            | Condition::Limit(_)
            | Condition::Silent
            | Condition::NotBackedUp { .. } => None,
        }
    }
}
