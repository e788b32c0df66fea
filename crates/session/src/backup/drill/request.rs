//! What a drill is to do.

use std::path::PathBuf;

use iostall_measure::Nanos;
use iostall_transfer::backup::codec::Unlock;

use crate::backup::wal::PointRequest;

pub struct DrillRequest {
    /// The manifest, a stripe, or all stripes; or directories, of which the newest whole set is drilled.
    pub from: Vec<PathBuf>,
    /// In directories: only sets of a source whose name contains this.
    pub source: Option<String>,
    pub scratch: PathBuf,
    pub keep: bool,
    /// Where the programs of PostgreSQL or MariaDB are, if not where distributions have them.
    pub engine_dir: Option<PathBuf>,
    /// The account that a server is started under by root.
    pub user: Option<String>,
    /// A superuser of the copy.
    pub role: String,
    /// The database that statements are run in; the usual one of the engine, if it has one, if `None`.
    pub database: Option<String>,
    /// Statements that must run without an error, and be true if they say whether something is true.
    pub statements: Vec<String>,
    pub settings: Vec<(String, String)>,
    pub timeout: Nanos,
    /// Where the sets may be that an increment is based on, if not beside it.
    pub bases: Vec<PathBuf>,
    pub unlock: Option<Unlock>,
    /// Where a PostgreSQL is to be brought, if not to the end of the backup.
    pub point: Option<PointRequest>,
    pub workers: Option<u32>,
    /// Maximum read rate, bytes a second.
    pub limit: Option<u64>,
}
