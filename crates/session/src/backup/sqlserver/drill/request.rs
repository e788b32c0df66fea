//! What a drill on a server is to do.

use iostall_connect::{Address, Secret};
use iostall_model::sqlserver_backup::BackupDevice;

/// What to restore, under which name, and what to ask of it.
pub struct SqlServerDrillRequest {
    pub address: Address,
    pub password: Secret,
    /// All stripes of the media set.
    pub devices: Vec<BackupDevice>,
    /// Which backup of the media set; `None` for the last full one.
    pub position: Option<u64>,
    /// The name of the database that is made. There must be none of it.
    pub name: String,
    /// The directory for its files, as the server sees it.
    pub directory: String,
    /// Statements that must run without an error in it, and must not give zero.
    pub statements: Vec<String>,
    /// Leaves the database there.
    pub keep: bool,
}
