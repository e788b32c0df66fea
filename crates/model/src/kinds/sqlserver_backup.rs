//! `iostall backup run --sqlserver`: a backup that the server makes itself.

use serde::{Deserialize, Serialize};

use super::outcome::Outcome;
use crate::capacity::Capacity;
use crate::entry::Summary;
use crate::measured::Measured;
use crate::outcome::EngineUse;
use crate::point::Point;
use crate::profile::Profile;
use crate::sqlserver_backup::{BackupKind, BackupTrace, ServerVersion};

const PAGE_BYTES: u64 = 8192;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SqlServerBackupOutcome {
    /// The server's address, without its password.
    pub server: String,
    pub version: ServerVersion,
    pub edition: String,
    pub database: String,
    pub kind: BackupKind,
    /// Where the stripes went, seen from the server.
    pub devices: Vec<String>,
    pub statement: String,
    pub end: BackupEnd,
    /// From the statement until its answer, by our clock, nanoseconds.
    pub elapsed_ns: u64,
    /// How far it was, as the server estimated it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub progress: Vec<ProgressPoint>,
    /// The entry in the server's history; `None` if there is none, or it may not be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub history: Option<HistoryEntry>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_back: Option<ReadBack>,
    /// Why it was not read back, although that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_read_back: Option<String>,
    /// What the server said of its work, if trace flags were on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<BackupTrace>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BackupEnd {
    #[default]
    Complete,
    /// The connection broke, and the server completed it alone.
    CompleteAlone {
        reason: String,
    },
    /// The server refused it or gave it up.
    Failed {
        reason: String,
    },
    Stopped {
        how: String,
    },
    /// The connection broke, and nobody can say what became of it.
    Unknown {
        reason: String,
    },
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgressPoint {
    /// Since its start, nanoseconds.
    pub at_ns: u64,
    pub percent_hundredths: u32,
}

/// An entry of `msdb.dbo.backupset`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HistoryEntry {
    pub backup_set_id: u64,
    /// Where it is in its media set, from 1.
    pub position: u64,
    pub bytes: u64,
    /// What was written; `None` if the server does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stored_bytes: Option<u64>,
    /// From its start to its end by the server's clock, which counts whole seconds here.
    pub elapsed_s: u64,
    /// When it ended, in the server's own time.
    pub finished: String,
    pub has_checksums: bool,
    /// Pages were damaged, and it went on nevertheless.
    pub is_damaged: bool,
    pub first_lsn: String,
    pub last_lsn: String,
}

/// What VERIFYONLY, HEADERONLY and FILELISTONLY found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadBack {
    /// Of VERIFYONLY, nanoseconds.
    pub elapsed_ns: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// How many backups its media set holds.
    pub backups: u64,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<FileInBackup>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileInBackup {
    pub logical_name: String,
    pub physical_name: String,
    pub bytes: u64,
}

impl SqlServerBackupOutcome {
    pub fn is_complete(&self) -> bool {
        matches!(self.end, BackupEnd::Complete | BackupEnd::CompleteAlone { .. })
    }

    pub fn is_to_nul(&self) -> bool {
        self.devices.iter().any(|device| device == "NUL")
    }

    pub fn bytes(&self) -> u64 {
        self.history.as_ref().map_or(0, |entry| entry.bytes)
    }

    /// What was written; `None` if the server does not say.
    pub fn stored_bytes(&self) -> Option<u64> {
        self.history.as_ref()?.stored_bytes
    }

    /// Size of the source as a multiple of what was written.
    pub fn ratio(&self) -> Option<f64> {
        let stored = self.stored_bytes().filter(|bytes| *bytes > 0)?;
        (self.bytes() > 0).then(|| self.bytes() as f64 / stored as f64)
    }

    pub fn pages(&self) -> u64 {
        self.bytes() / PAGE_BYTES
    }
}

impl Outcome for SqlServerBackupOutcome {
    fn kind(&self) -> &'static str {
        "sql-server-backup"
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
        Summary::of_moved(self.bytes(), self.elapsed_ns)
    }
}
