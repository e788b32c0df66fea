//! What is known of a drill before it begins.

use iostall_model::sqlserver_backup::BackupStatement;
use iostall_model::{BackupHeader, Warning};
use jiff::Timestamp;

use super::plan::MovedFile;

/// Everything that is known before the first byte is restored.
pub(super) struct Plan {
    pub(super) statement: BackupStatement,
    pub(super) backup: BackupHeader,
    /// Id of the backup, and when it was made, if the server says so.
    pub(super) set: String,
    pub(super) made_utc: Option<Timestamp>,
    pub(super) files: Vec<MovedFile>,
    pub(super) engine: String,
    pub(super) warnings: Vec<Warning>,
}
