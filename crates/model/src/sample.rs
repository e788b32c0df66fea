//! One reading of a monitored source, kept as read: cumulative values in the source's own units.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::counter::Counters;
use crate::kind::Kind;
use crate::scope::Scope;
use crate::warning::Warning;

/// When a sample was taken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SampleTime {
    /// For people and for calendars. Never subtracted.
    pub utc: Timestamp,
    /// Which monotonic clock `clock_ns` was read from: two moments are comparable only on one clock.
    pub clock: String,
    /// That clock, nanoseconds.
    pub clock_ns: u64,
}

impl SampleTime {
    /// Nanoseconds from `earlier` to here; `None` unless both were timed by one clock and it moved forward.
    pub fn since_ns(&self, earlier: &Self) -> Option<u64> {
        if self.clock != earlier.clock {
            return None;
        }
        self.clock_ns.checked_sub(earlier.clock_ns).filter(|ns| *ns > 0)
    }
}

/// What must be the same for two samples to be compared.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Epoch {
    /// Which instance answered: a system identifier, a server id, a boot id.
    pub instance: String,
    /// The version that decides what the columns mean: the major version of the server.
    pub version: u32,
    /// When the process started, as a mark to compare.
    pub process_start: String,
    /// Marks of the beginning of the counters. They began anew when *none* of the marks is still there: one
    /// view's own reset moves one mark, a restart that loses the counters moves all.
    pub counters_since: Vec<String>,
    /// How long the server says it has been up, seconds, where that is all it tells of its start.
    pub uptime_s: Option<u64>,
}

/// What a row is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Subject {
    /// Kind.
    pub kind: Kind,
    /// What it is part of.
    pub scope: Scope,
    /// Its name for people: a path, a relation, a device, `backend/object/context`.
    pub name: String,
    /// What makes it the same thing over time: a file id with its GUID, an object id, a device number.
    pub identity: String,
    /// The volume or device it lies on, where the source knows.
    pub volume: Option<String>,
}

impl Subject {
    /// Whether `other` is the same thing, though it may have been renamed or moved.
    pub fn is_same_series(&self, other: &Self) -> bool {
        self.kind == other.kind && self.scope == other.scope && self.identity == other.identity
    }
}

/// One row of a sample.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// What it is about.
    pub subject: Subject,
    /// Cumulative values, gauges and marks, as read.
    pub counters: Counters,
    /// How long the thing has existed by the server's own clock, milliseconds, where the server tells.
    pub age_ms: Option<u64>,
}

/// One complete reading of one source.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// When.
    pub taken: SampleTime,
    /// Of what.
    pub epoch: Epoch,
    /// The rows, each subject at most once.
    pub rows: Vec<Row>,
    /// What the source could not tell, and why.
    pub warnings: Vec<Warning>,
}
