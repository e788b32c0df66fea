//! One reading of a watched source, stored as read: cumulative values in the source's own units.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::counter::{Counter, Counters};
use crate::kind::Kind;
use crate::scope::Scope;
use crate::warning::Warning;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SampleTime {
    /// For people and calendars. Never subtracted.
    pub utc: Timestamp,
    /// The monotonic clock of `clock_ns`: only times of the same clock are comparable.
    pub clock: String,
    pub clock_ns: u64,
}

impl SampleTime {
    /// Nanoseconds since `earlier`; `None` unless both were timed by one clock that moved forward.
    pub fn since_ns(&self, earlier: &Self) -> Option<u64> {
        if self.clock != earlier.clock {
            return None;
        }
        self.clock_ns.checked_sub(earlier.clock_ns).filter(|ns| *ns > 0)
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Epoch {
    /// Which instance answered: a system identifier, a server id, a boot id.
    pub instance: String,
    /// The version that decides what the columns mean: the major version of the server.
    pub version: u32,
    /// When the process started, as a mark to compare.
    pub process_start: String,
    /// Marks of the start of counting. The counters restarted if *none* of the marks is left: a reset of one
    /// view changes one mark, a restart that loses the counters changes all.
    pub counters_since: Vec<String>,
    /// Uptime reported by the server, seconds, if it reports nothing else about its start.
    pub uptime_s: Option<u64>,
}

/// What a row is about: a file, relation, device or the like.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Subject {
    pub kind: Kind,
    pub scope: Scope,
    /// Display name: a path, a relation, a device, `backend/object/context`.
    pub name: String,
    /// What identifies it over time: a file id with its GUID, an object id, a device number.
    pub identity: String,
    /// Its volume or device, if the source knows it.
    pub volume: Option<String>,
}

impl Subject {
    pub(crate) fn series_key(&self) -> (Kind, &Scope, &str) {
        (self.kind, &self.scope, &self.identity)
    }

    /// Whether `other` is the same subject, even if renamed or moved.
    pub fn is_same_series(&self, other: &Self) -> bool {
        self.kind == other.kind && self.scope == other.scope && self.identity == other.identity
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    pub subject: Subject,
    /// Cumulative values, gauges and marks, as read.
    pub counters: Counters,
    /// Age by the server's own clock, milliseconds, if reported.
    pub age_ms: Option<u64>,
}

impl Row {
    /// When it was read, on the clock of its sample taken at `taken`.
    pub fn read_clock_ns(&self, taken: &SampleTime) -> u64 {
        self.counters.get(Counter::ReadClockNs).unwrap_or(taken.clock_ns)
    }

    /// Whether its values come from an earlier sample because it could not be read again.
    pub fn is_stale(&self) -> bool {
        self.counters.get(Counter::ReadClockNs).is_some()
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    pub taken: SampleTime,
    pub epoch: Epoch,
    /// Each subject occurs at most once.
    pub rows: Vec<Row>,
    pub warnings: Vec<Warning>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gap {
    pub at: Timestamp,
    pub missed: u64,
    pub reason: String,
}
