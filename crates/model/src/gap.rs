//! Missed samples.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// Ticks of a source without a sample, and why: a hole in a history has its reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gap {
    /// The first of them.
    pub at: Timestamp,
    /// How many samples are missing.
    pub missed: u64,
    /// Why, in a sentence.
    pub reason: String,
}
