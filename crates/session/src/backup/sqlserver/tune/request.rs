//! What is asked of a tuner.

use iostall_connect::{Address, Secret};
use iostall_measure::Nanos;
use iostall_model::sqlserver_backup::BackupStatement;

pub struct ServerTuneRequest {
    pub address: Address,
    pub password: Secret,
    /// The database; NUL, or the files that trials may write, and write over.
    pub statement: BackupStatement,
    pub budget: Nanos,
    pub memory_bytes: Option<u64>,
    /// Have the server say what it does in the first trial, by trace flags of its session.
    pub trace_flags: bool,
}
