//! PostgreSQL's backup mode, held by a session that stays open.
//!
//! The mode ends with the session, and so does the temporary replication slot that keeps the log: a backup that breaks
//! off leaves nothing on the server.

use std::path::PathBuf;
use std::pin::pin;
use std::time::Duration;

use iostall_engine::files::path_from_bytes;
use iostall_measure::clock::utc_now;
use thiserror::Error;
use tokio::runtime::Runtime;
use tokio_postgres::types::{FromSql, ToSql};
use tokio_postgres::{Client, Row};

use super::login::{Login, explain, is_denied};
use super::lsn::Lsn;
use crate::address::Address;
use crate::error::SourceError;
use crate::remote::{bounded, runtime};
use crate::secret::Secret;

/// A statement with its text by the first version it applies to, newest first.
type Texts = &'static [(u32, &'static str)];

const VERSION: &str = include_str!("sql/version.sql");
const IDENTIFIER: &str = include_str!("sql/identifier.sql");
const SERVER: Texts = &[(12, include_str!("sql/server_12.sql"))];
const SLOT: Texts = &[(12, include_str!("sql/slot_12.sql"))];
const PATIENCE: Texts =
    &[(14, include_str!("sql/patience_14.sql")), (12, include_str!("sql/patience_12.sql"))];
const START: Texts = &[(15, include_str!("sql/start_15.sql")), (12, include_str!("sql/start_12.sql"))];
const STOP: Texts = &[(15, include_str!("sql/stop_15.sql")), (12, include_str!("sql/stop_12.sql"))];

/// The oldest version with the control file and the functions that are used.
const OLDEST: u32 = 12;
/// How often a question that takes long looks whether its answer is still wanted.
const LOOK: Duration = Duration::from_millis(100);
/// A slot's name has at most 63 letters.
const SLOT_PREFIX: &str = "iostall_backup";
/// SQLSTATE when every replication slot is taken, or there are none.
const NO_SLOT: [&str; 2] = ["53400", "55000"];

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackupServer {
    pub version: u32,
    /// As `server_version` says.
    pub version_text: String,
    pub system_identifier: u64,
    pub is_standby: bool,
    /// Where its files are, on its own host.
    pub data_directory: PathBuf,
    pub config_file: PathBuf,
    pub port: u16,
    pub wal_segment_bytes: u64,
    pub blocks_per_segment: u32,
    pub block_bytes: u32,
    pub has_checksums: bool,
    /// `archive_mode` is `on` or `always`.
    pub archives: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackupStop {
    /// Recovery must reach this position.
    pub lsn: Lsn,
    /// The content of `backup_label`, which recovery begins from.
    pub label: String,
    /// The content of `tablespace_map`; empty without tablespaces.
    pub tablespace_map: String,
}

pub struct BackupSession {
    // Dropped first: the connection ends while its runtime is still there.
    client: Client,
    runtime: Runtime,
    source_name: String,
    user: String,
    server: BackupServer,
    slot: String,
}

/// What the cluster is, however it was addressed.
pub fn system_identifier(
    address: &Address,
    password: &Secret,
    limit: Duration,
) -> Result<u64, BackupSessionError> {
    let runtime = runtime(address)?;
    let login = Login::new(address, password, limit)?;
    let (source_name, user) = (address.to_string(), login.user().to_owned());
    let client = bounded(&runtime, address, limit, async { Ok(login.connect(None).await?.0) })?;
    let ask = Ask { client: &client, runtime: &runtime, source_name: &source_name, user: &user };
    let row = ask.one(&[(0, IDENTIFIER)], 0, "say which cluster it is", &[])?;
    Ok(ask.number::<i64>(&row, "system_identifier")?.cast_unsigned())
}

impl BackupSession {
    /// Connects and asks the server who it is. Backup mode begins with [`Self::start`], but the log is kept from here on.
    pub fn open(address: &Address, password: &Secret, limit: Duration) -> Result<Self, BackupSessionError> {
        let runtime = runtime(address)?;
        let login = Login::new(address, password, limit)?;
        let (source_name, user) = (address.to_string(), login.user().to_owned());
        let client = bounded(&runtime, address, limit, async { Ok(login.connect(None).await?.0) })?;
        let ask = Ask { client: &client, runtime: &runtime, source_name: &source_name, user: &user };
        let version = version(&ask)?;
        ask.one(PATIENCE, version, "SET its timeouts", &[])?;
        let server = server(&ask, version)?;
        let slot = create_slot(&ask, version)?;
        Ok(Self { client, runtime, source_name, user, server, slot })
    }

    pub fn server(&self) -> &BackupServer {
        &self.server
    }

    /// The name of the replication slot: as long as the session lives, the server's data directory has a directory of this
    /// name in `pg_replslot`, and no other server has.
    pub fn slot(&self) -> &str {
        &self.slot
    }

    /// Begins backup mode, and waits for the checkpoint that belongs to it: at once if `fast`, otherwise spread as the
    /// server's own. Returns where recovery has to begin. Stops waiting once `is_cancelled`.
    pub fn start(
        &mut self,
        label: &str,
        fast: bool,
        is_cancelled: &dyn Fn() -> bool,
    ) -> Result<Lsn, BackupSessionError> {
        let ask = self.ask();
        let values: [&(dyn ToSql + Sync); 2] = [&label, &fast];
        let row = ask.one_unless(is_cancelled, START, self.server.version, "begin a backup", &values)?;
        ask.position(&row)
    }

    /// Ends backup mode. The session goes on keeping the log until it is dropped.
    pub fn stop(&mut self) -> Result<BackupStop, BackupSessionError> {
        let ask = self.ask();
        let row = ask.one(STOP, self.server.version, "end the backup", &[])?;
        Ok(BackupStop {
            lsn: ask.position(&row)?,
            label: ask.column(&row, "label")?,
            tablespace_map: ask.column::<Option<String>>(&row, "tablespace_map")?.unwrap_or_default(),
        })
    }

    fn ask(&self) -> Ask<'_> {
        Ask { client: &self.client, runtime: &self.runtime, source_name: &self.source_name, user: &self.user }
    }
}

/// Asks a server, and waits for the answer for as long as it takes.
struct Ask<'a> {
    client: &'a Client,
    runtime: &'a Runtime,
    source_name: &'a str,
    user: &'a str,
}

impl Ask<'_> {
    /// The single row that every statement here returns.
    fn one(
        &self,
        texts: Texts,
        version: u32,
        action: &'static str,
        values: &[&(dyn ToSql + Sync)],
    ) -> Result<Row, BackupSessionError> {
        self.one_unless(&|| false, texts, version, action, values)
    }

    /// The same, unless `is_cancelled` meanwhile.
    fn one_unless(
        &self,
        is_cancelled: &dyn Fn() -> bool,
        texts: Texts,
        version: u32,
        action: &'static str,
        values: &[&(dyn ToSql + Sync)],
    ) -> Result<Row, BackupSessionError> {
        let text = texts.iter().find(|(since, _)| *since <= version).map_or("", |(_, text)| *text);
        let answer = self.runtime.block_on(async {
            let mut query = pin!(self.client.query_one(text, values));
            loop {
                match tokio::time::timeout(LOOK, query.as_mut()).await {
                    Ok(answer) => return Some(answer),
                    Err(_) if is_cancelled() => return None,
                    Err(_) => {}
                }
            }
        });
        answer.ok_or(BackupSessionError::Cancelled)?.map_err(|error| self.failed(action, &error))
    }

    fn column<'r, T: FromSql<'r>>(&self, row: &'r Row, name: &'static str) -> Result<T, BackupSessionError> {
        row.try_get(name).map_err(|error| self.unknown(name, explain(&error)))
    }

    fn number<T: std::str::FromStr>(&self, row: &Row, name: &'static str) -> Result<T, BackupSessionError> {
        let text: String = self.column(row, name)?;
        text.parse().map_err(|_| self.unknown(name, text))
    }

    fn position(&self, row: &Row) -> Result<Lsn, BackupSessionError> {
        self.number(row, "lsn")
    }

    fn failed(&self, action: &'static str, error: &tokio_postgres::Error) -> BackupSessionError {
        let (source_name, reason) = (self.source_name.to_owned(), explain(error));
        if error.is_closed() {
            return BackupSessionError::Lost { source_name, reason };
        }
        if is_denied(error) {
            return BackupSessionError::Denied { source_name, user: self.user.to_owned(), action, reason };
        }
        BackupSessionError::Refused { source_name, action, reason }
    }

    fn unknown(&self, what: &'static str, text: String) -> BackupSessionError {
        BackupSessionError::Unknown { source_name: self.source_name.to_owned(), what, text }
    }
}

fn version(ask: &Ask<'_>) -> Result<u32, BackupSessionError> {
    let row = ask.one(&[(0, VERSION)], 0, "name its version", &[])?;
    let version: i32 = ask.column(&row, "version")?;
    u32::try_from(version).ok().filter(|version| *version >= OLDEST).ok_or_else(|| {
        let (source_name, version) = (ask.source_name.to_owned(), version.to_string());
        SourceError::TooOld { source_name, version, oldest: "PostgreSQL 12" }.into()
    })
}

fn server(ask: &Ask<'_>, version: u32) -> Result<BackupServer, BackupSessionError> {
    let row = ask.one(SERVER, version, "describe itself", &[])?;
    let path = |name| -> Result<PathBuf, BackupSessionError> {
        let bytes: Option<&[u8]> = ask.column(&row, name)?;
        bytes.map(|bytes| path_from_bytes(bytes.to_vec())).ok_or_else(|| BackupSessionError::Denied {
            source_name: ask.source_name.to_owned(),
            user: ask.user.to_owned(),
            action: "see where the data directory is",
            reason: "it is not in pg_read_all_settings".into(),
        })
    };
    let checksums: String = ask.column(&row, "checksums")?;
    let archive_mode: String = ask.column(&row, "archive_mode")?;
    Ok(BackupServer {
        version,
        version_text: ask.column(&row, "version")?,
        system_identifier: ask.number::<i64>(&row, "system_identifier")?.cast_unsigned(),
        is_standby: ask.column(&row, "is_standby")?,
        data_directory: path("directory")?,
        config_file: path("config_file")?,
        port: ask.number(&row, "port")?,
        wal_segment_bytes: ask.number(&row, "wal_segment_bytes")?,
        blocks_per_segment: ask.number(&row, "blocks_per_segment")?,
        block_bytes: ask.number(&row, "block_bytes")?,
        has_checksums: checksums == "on",
        archives: archive_mode != "off",
    })
}

/// Named so that no two sessions of a server have the same one.
fn create_slot(ask: &Ask<'_>, version: u32) -> Result<String, BackupSessionError> {
    let name = format!("{SLOT_PREFIX}_{}_{}", std::process::id(), utc_now().as_nanosecond());
    let text = SLOT.iter().find(|(since, _)| *since <= version).map_or("", |(_, text)| *text);
    let answer = ask.runtime.block_on(ask.client.query_one(text, &[&name]));
    answer.map_err(|error| {
        if error.code().is_some_and(|state| NO_SLOT.contains(&state.code())) {
            let source_name = ask.source_name.to_owned();
            return BackupSessionError::NoSlot { source_name, reason: explain(&error) };
        }
        ask.failed("keep the log for a backup", &error)
    })?;
    Ok(name)
}

#[derive(Debug, Error)]
#[non_exhaustive]
pub enum BackupSessionError {
    #[error(transparent)]
    Server(#[from] SourceError),
    #[error("the login {user:?} of {source_name} may not {action}: {reason}")]
    Denied { source_name: String, user: String, action: &'static str, reason: String },
    #[error("{source_name} has no replication slot free that would keep the log for the backup: {reason}")]
    NoSlot { source_name: String, reason: String },
    #[error("{source_name} could not {action}: {reason}")]
    Refused { source_name: String, action: &'static str, reason: String },
    #[error("the connection to {source_name} ended during the backup: {reason}")]
    Lost { source_name: String, reason: String },
    #[error("{source_name} answered with something that is no {what}: {text:?}")]
    Unknown { source_name: String, what: &'static str, text: String },
    #[error("cancelled")]
    Cancelled,
}

impl BackupSessionError {
    pub fn hint(&self) -> String {
        match self {
            Self::Server(error) => error.hint(),
            Self::Denied { user, .. } => format!(
                "an administrator gives the login what a backup needs: ALTER ROLE {user} REPLICATION; GRANT pg_read_all_settings TO \
                 {user}; and GRANT EXECUTE on pg_backup_start and pg_backup_stop (before 15: pg_start_backup and pg_stop_backup) in \
                 the database that the URL names; or log in as a superuser"
            ),
            Self::NoSlot { .. } => "raise max_replication_slots, or drop a slot that nobody uses (pg_replication_slots)".into(),
            Self::Refused { .. } => {
                "the server's log says more; a backup needs wal_level = replica or above, and full_page_writes = on where the \
                 source is a standby"
                    .into()
            }
            Self::Lost { .. } => "the server has left backup mode by itself: see its log, and start again".into(),
            Self::Unknown { .. } => "check that it is PostgreSQL 12 or later".into(),
            Self::Cancelled => "the server leaves backup mode by itself".into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_statement_carries_its_tag_and_the_newest_that_applies_is_taken() {
        for texts in [SERVER, SLOT, PATIENCE, START, STOP] {
            assert!(texts.iter().all(|(_, text)| text.starts_with("/* iostall:backup_")), "{texts:?}");
            assert!(texts.windows(2).all(|pair| pair[0].0 > pair[1].0), "{texts:?}");
            assert_eq!(texts.last().map(|(since, _)| *since), Some(OLDEST), "{texts:?}");
        }
    }
}
