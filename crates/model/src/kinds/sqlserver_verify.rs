//! `iostall backup verify --sqlserver`: a server's own backup, read back by the server.

use serde::{Deserialize, Serialize};

use super::outcome::Outcome;
use super::sqlserver_backup::FileInBackup;
use crate::capacity::Capacity;
use crate::entry::Summary;
use crate::measured::Measured;
use crate::outcome::EngineUse;
use crate::point::Point;
use crate::profile::Profile;
use crate::sqlserver_backup::ServerVersion;

/// What HEADERONLY, FILELISTONLY and VERIFYONLY say of a media set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SqlServerVerifyOutcome {
    /// The server's address, without its password.
    pub server: String,
    pub version: ServerVersion,
    pub edition: String,
    /// All stripes of the media set, seen from the server.
    pub devices: Vec<String>,
    pub backups: Vec<BackupHeader>,
    /// Which of them was checked.
    pub position: u64,
    pub files: Vec<FileInBackup>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub headers_only: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    pub statements: Vec<String>,
    /// Of VERIFYONLY, nanoseconds.
    pub elapsed_ns: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackupHeader {
    /// Where it is in its media set, from 1.
    pub position: u64,
    pub database: String,
    pub server: String,
    /// `full`, `differential`, `log`, `files`, `files differential`, `partial` or `partial differential`.
    pub kind: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    pub bytes: u64,
    /// What was written; `None` if the server does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stored_bytes: Option<u64>,
    /// When it was made, in the time of the server that made it.
    pub started: String,
    pub finished: String,
    pub is_copy_only: bool,
    pub has_checksums: bool,
    /// Pages were damaged, and it went on nevertheless.
    pub is_damaged: bool,
}

impl SqlServerVerifyOutcome {
    pub fn checked(&self) -> Option<&BackupHeader> {
        self.backups.iter().find(|backup| backup.position == self.position)
    }

    /// What was read to check it.
    pub fn stored_bytes(&self) -> u64 {
        self.checked().map_or(0, |backup| backup.stored_bytes.unwrap_or(backup.bytes))
    }
}

impl Outcome for SqlServerVerifyOutcome {
    fn kind(&self) -> &'static str {
        "sql-server-verify"
    }

    fn used_bytes(&self, _index: usize, _whole_bytes: u64) -> Option<u64> {
        None
    }

    fn profile(&self) -> Option<&Profile> {
        None
    }

    // The server does the I/O.
    fn engines(&self) -> Vec<&EngineUse> {
        Vec::new()
    }

    fn points(&self) -> &[Point] {
        &[]
    }

    fn measured(&self) -> Vec<Measured> {
        Vec::new()
    }

    fn capacities(&self, _targets: usize) -> Vec<Capacity> {
        Vec::new()
    }

    fn summary(&self) -> Summary {
        Summary::of_moved(self.stored_bytes(), self.elapsed_ns)
    }
}
