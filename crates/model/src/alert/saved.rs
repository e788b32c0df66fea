//! What a collector has to know again after a restart: the alerts that somebody was notified of.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::notice::Notice;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SavedAlert {
    pub notice: Notice,
    pub times: SavedTimes,
}

/// When what happened to an alert, by the calendar: clocks that only move forward begin anew with each process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SavedTimes {
    pub since: Timestamp,
    pub notified: Timestamp,
    pub ended: Option<Timestamp>,
    pub value_max: f64,
}
