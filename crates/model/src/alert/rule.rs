//! What is to be told, of what, and when.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::class::{Match, StorageClass};
use super::mute::MuteHours;
use crate::counter::Counter;
use crate::level::Level;
use crate::sample::Subject;
use crate::totals::Totals;

/// A number that can be too high.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Measured {
    /// Stall per read, nanoseconds.
    StallPerRead,
    /// Stall per write, nanoseconds.
    StallPerWrite,
    /// Stall per read or write, nanoseconds.
    StallPerIo,
    /// Bytes read and written per second.
    Throughput,
    /// Reads and writes per second.
    Iops,
}

impl Measured {
    /// Its value in an interval; `None` where it has none: no operation, or not told.
    pub fn value(self, totals: &Totals) -> Option<f64> {
        match self {
            Self::StallPerRead => totals.read_stall_ns_mean(),
            Self::StallPerWrite => totals.write_stall_ns_mean(),
            Self::StallPerIo => totals.io_stall_ns_mean(),
            Self::Throughput => totals.bytes_per_second(),
            Self::Iops => totals.iops(),
        }
    }

    /// The operations it is about.
    pub fn operations(self, totals: &Totals) -> u64 {
        let (reads, writes) =
            (totals.amounts.or_zero(Counter::Reads), totals.amounts.or_zero(Counter::Writes));
        match self {
            Self::StallPerRead => reads,
            Self::StallPerWrite => writes,
            Self::StallPerIo | Self::Throughput | Self::Iops => reads.saturating_add(writes),
        }
    }
}

/// What must be so.
#[derive(Clone, Debug, PartialEq)]
pub enum Condition {
    /// A number is above a threshold.
    Over {
        /// Which.
        measured: Measured,
        /// Threshold where no class has its own, in the number's unit; `None`: only those classes are judged.
        threshold: Option<f64>,
        /// Thresholds by the name of a class.
        by_class: BTreeMap<String, f64>,
    },
    /// A source gives no sample.
    Silent,
}

impl Condition {
    /// The threshold for storage of `class`; `None` where it is not judged.
    pub fn threshold(&self, class: Option<&str>) -> Option<f64> {
        match self {
            Self::Over { threshold, by_class, .. } => {
                class.and_then(|class| by_class.get(class).copied()).or(*threshold)
            }
            Self::Silent => None,
        }
    }
}

/// One rule.
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    /// Its name.
    pub name: String,
    /// What must be so.
    pub condition: Condition,
    /// Of which rows; of a silent source only its name counts.
    pub matches: Match,
    /// What the rows are summed to before they are judged.
    pub level: Level,
    /// For how long without a break, nanoseconds.
    pub sustained_ns: u64,
    /// For how long it must not be so until the alert ends, nanoseconds.
    pub clear_ns: u64,
    /// Fewer operations in an interval mean nothing.
    pub operations_min: u64,
    /// Told again after so long, nanoseconds; `None`: once.
    pub repeat_ns: Option<u64>,
    /// When it is not told.
    pub mute: Vec<MuteHours>,
    /// The names of the channels it is told through.
    pub channels: Vec<String>,
}

impl Rule {
    /// Whether nothing is told at `at`.
    pub fn is_muted(&self, at: Timestamp) -> bool {
        self.mute.iter().any(|hours| hours.cover(at))
    }
}

/// All rules, and the classes of storage they tell apart.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RuleBook {
    /// The classes; a row is of the first that it fits.
    pub classes: Vec<StorageClass>,
    /// The rules.
    pub rules: Vec<Rule>,
}

impl RuleBook {
    /// The class of storage that a row about `subject` lies on.
    pub fn class_of(&self, source: &str, subject: &Subject) -> Option<&str> {
        let class = self.classes.iter().find(|class| class.matches.fits(source, subject))?;
        Some(&class.name)
    }
}
