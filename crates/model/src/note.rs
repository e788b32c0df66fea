//! What was done at a time, as people or programs note it.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// A deployment, a failover or the like, to be read beside the stall.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Note {
    pub at: Timestamp,
    /// One line.
    pub text: String,
}
