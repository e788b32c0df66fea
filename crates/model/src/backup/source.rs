//! What was backed up.

use std::str::FromStr;

use iostall_measure::named;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::bytes::StoredName;
use crate::identity::Identity;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceRecord {
    /// As it was named on the command line, without a password. Invalid UTF-8 is replaced.
    pub named: String,
    /// What it is, however it was named; `None` in sets of versions before this was noted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<Identity>,
    /// What its entries' names begin with; empty if it was the only source, and a directory.
    pub prefix: StoredName,
    #[serde(flatten)]
    pub kind: SourceKind,
    pub read_until_utc: Timestamp,
}

impl SourceRecord {
    /// A server tells what it is while it is backed up, and a stream that nobody named is nothing's newer version.
    pub fn identity(&self) -> Option<Identity> {
        match &self.kind {
            SourceKind::Postgresql(record) => {
                Some(Identity::Postgresql { system_identifier: record.system_identifier })
            }
            SourceKind::Stream => Some(self.identity.clone().unwrap_or(Identity::Unnamed)),
            _ => self.identity.clone(),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "source", rename_all = "kebab-case")]
pub enum SourceKind {
    File,
    Directory,
    BlockDevice,
    Stream,
    Postgresql(PostgresRecord),
    Mariadb(MariadbRecord),
    Sqlite { version: String },
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PostgresRecord {
    /// As `server_version` says.
    pub version: String,
    pub system_identifier: u64,
    pub timeline: u32,
    /// Where recovery must begin, as PostgreSQL writes a position: `16/B374D848`.
    pub start_lsn: String,
    /// What recovery must reach for a consistent state.
    pub stop_lsn: String,
    pub from_standby: bool,
    /// `archive_mode` was not `off`: a copy that starts with the same settings archives, too. `None` in sets of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub archives: Option<bool>,
    #[serde(default, skip_serializing_if = "Through::is_files")]
    pub through: Through,
    /// Of an increment that the server has made: where the backup began that it continues. Files of relations have only the blocks that
    /// changed since, and are called `INCREMENTAL.NAME`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub increment_from: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tablespaces: Vec<TablespaceRecord>,
}

named! {
    /// How the files of a running server were read.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum Through {
        /// From its data directory.
        #[default]
        Files = "files",
        /// The server has sent them.
        Replication = "replication",
    }
}

impl Through {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    fn is_files(&self) -> bool {
        *self == Self::Files
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0:?} is no way to a server's files: write files or replication")]
pub struct ThroughError(String);

impl FromStr for Through {
    type Err = ThroughError;

    fn from_str(text: &str) -> Result<Self, ThroughError> {
        Self::named(text).ok_or_else(|| ThroughError(text.to_owned()))
    }
}

/// A tablespace of a cluster. In the set its content stands below the data directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TablespaceRecord {
    /// The name of its link in `pg_tblspc`.
    pub oid: String,
    pub location: StoredName,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MariadbRecord {
    /// As `VERSION()` says.
    pub version: String,
    pub tool_version: String,
    /// Position in InnoDB's log up to which its changes are in the backup, bytes.
    pub end_lsn: u64,
    /// Where the server's binary log was then, as mariadb-backup says it, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub binlog: Option<String>,
    pub page_bytes: u32,
    /// Whether names of tables are kept in lower case: a server on the files needs the same setting.
    pub lower_case_table_names: u32,
    /// Tablespaces whose pages have another size, as those of `ROW_FORMAT=COMPRESSED`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub other_pages: Vec<TablespacePages>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TablespacePages {
    pub name: StoredName,
    pub page_bytes: u32,
}
