//! Missed samples.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gap {
    pub at: Timestamp,
    pub missed: u64,
    pub reason: String,
}
