//! What a collector has to know again after a restart: the alerts that somebody was notified of.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::notice::Notice;

/// An alert that fires, or has ended and nobody was notified of that yet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SavedAlert {
    /// What was, or would be, sent of it.
    pub notice: Notice,
    /// Its times.
    pub times: SavedTimes,
}

/// When what happened to an alert, by the calendar: clocks that only move forward begin anew with each process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SavedTimes {
    /// When the condition began to hold.
    pub since: Timestamp,
    /// When somebody was notified last.
    pub notified: Timestamp,
    /// When it ended.
    pub ended: Option<Timestamp>,
    /// The highest value.
    pub value_max: f64,
}
