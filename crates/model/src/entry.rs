//! A run as a listing shows it.

use std::fmt;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{RunId, Summary};

/// The number a store gives a run, counted from 1 and never given twice. Written `#12`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RunNumber(pub u32);

impl fmt::Display for RunNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.0)
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    pub number: RunNumber,
    pub id: RunId,
    pub kind: String,
    pub name: String,
    /// Time of the first request, UTC.
    pub started_utc: Timestamp,
    /// Time of the last completion, UTC.
    pub ended_utc: Timestamp,
    pub host: String,
    pub tool_version: String,
    pub interrupted: bool,
    pub warning_count: u32,
    /// The targets' paths in the run's order.
    pub targets: Vec<String>,
    pub summary: Summary,
}
