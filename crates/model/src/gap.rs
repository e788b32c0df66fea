//! Missed samples.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// Ticks of a source without a sample, with the reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gap {
    pub at: Timestamp,
    pub missed: u64,
    /// The reason, as a sentence.
    pub reason: String,
}
