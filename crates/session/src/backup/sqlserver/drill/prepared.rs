//! What is known of a drill before it begins.

use iostall_model::Warning;
use jiff::Timestamp;
use jiff::civil::DateTime;

use super::plan::{MovedFile, Part};

/// Everything that is known before the first byte is restored.
pub(super) struct Plan {
    /// The full backup, and what goes on it.
    pub(super) parts: Vec<Part>,
    /// Where the log is to end, if not with the last part.
    pub(super) stop_at: Option<DateTime>,
    /// Id of the last backup that it takes, and when that was made, if the server says so.
    pub(super) set: String,
    pub(super) made_utc: Option<Timestamp>,
    pub(super) files: Vec<MovedFile>,
    pub(super) engine: String,
    pub(super) warnings: Vec<Warning>,
}

impl Plan {
    /// Bytes of the database in all parts, and bytes of the files that are read.
    pub(super) fn bytes(&self) -> (u64, u64) {
        let stored = |part: &Part| part.backup.stored_bytes.unwrap_or(part.backup.bytes);
        (self.parts.iter().map(|part| part.backup.bytes).sum(), self.parts.iter().map(stored).sum())
    }
}
