//! What both ways to the files of a server have in common.

use std::sync::Arc;
use std::time::Duration;

use iostall_connect::{Address, Secret};
use iostall_model::backup::Through;
use iostall_transfer::backup::read::OpenSet;

/// What the server's functions and its log call the backup.
pub(super) const LABEL: &str = "iostall backup";

#[derive(Clone, Debug)]
pub struct PostgresRequest {
    pub address: Address,
    pub password: Secret,
    pub limit: Duration,
    /// Whether the checkpoint at the beginning is made at once, which costs the server a burst of writes, or spread as the
    /// server's own, which may take minutes.
    pub fast_checkpoint: bool,
    /// How its files are read; `None`: from its data directory if that is possible, otherwise through replication.
    pub through: Option<Through>,
    /// If the server sends its files: the set on which it makes an increment of its own. Files that are read are compared with their
    /// base by whoever stores them.
    pub base: Option<Arc<OpenSet>>,
}

/// The warning that settings are not in the backup, but in the file at `path` on the server.
pub(super) fn settings_are_in(path: &str) -> String {
    format!(
        "the settings of the server are in {path}, outside its data directory: back up that directory too"
    )
}

pub(super) fn no_checksums() -> String {
    "the cluster has no page checksums, so damaged pages cannot be found (pg_checksums --enable)".to_owned()
}
