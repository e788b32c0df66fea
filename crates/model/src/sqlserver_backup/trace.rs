//! What SQL Server says of its own work on a BACKUP while trace flags are on.

use serde::{Deserialize, Serialize};

/// From the server's error log. What a version does not say is `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackupTrace {
    /// The most memory that its buffers could take, bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_limit_bytes: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub buffer_count: Option<u64>,
    /// How often there are so many buffers: three times with compression.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub buffer_sets: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transfer_bytes: Option<u64>,
    /// Of all buffers together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub buffer_bytes: Option<u64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<TraceSetting>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<TraceStep>,
    /// Steps that are not in the list because there were too many.
    #[serde(default, skip_serializing_if = "crate::transfer::is_zero")]
    pub more_steps: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceSetting {
    pub name: String,
    pub value: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceStep {
    /// Since the first line, milliseconds by the server's clock.
    pub at_ms: u64,
    /// Until the next line; 0 for the last.
    pub elapsed_ms: u64,
    /// In the server's words, without the name of the database before them.
    pub name: String,
}
