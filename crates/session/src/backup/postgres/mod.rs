//! A running PostgreSQL server as the source of a backup.
//!
//! The server is put into backup mode, its files are read from its data directory on this host while it goes on writing to
//! them, and the log that makes them consistent is added at the end. What is restored is a data directory that recovers
//! to the end of the backup when a server is started on it, and that no server starts on without the label. Where the data
//! directory is not to be had, the server sends its files.

mod base_files;
pub(super) mod control;
mod error;
mod increment;
mod inspect;
mod protocol;
mod request;
pub(super) mod tablespace;
mod wal;
mod walk;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use iostall_connect::postgres::{BackupServer, BackupSession, Lsn, system_identifier};
use iostall_engine::files::{self, path_bytes};
use iostall_measure::clock::utc_now;
use iostall_model::Identity;
use iostall_model::backup::{
    FileMetadata, PostgresRecord, SourceKind, SourceRecord, StoredName, TablespaceRecord, Through,
};
use iostall_transfer::backup::create::{
    Inspect, Item, Live, LiveEnd, PagesSeen, PreparedSource, What, metadata_of,
};
use iostall_transfer::pipeline::StageFailure;

use self::base_files::{LABEL_NAME, Label};
use self::control::{ControlFile, is_missing};
use self::inspect::{Layout, PageInspector};
use self::request::{LABEL, no_checksums, settings_are_in};
use self::wal::Needed;

pub use self::error::PostgresBackupError;
pub use self::request::PostgresRequest;

/// A file that every data directory has, with the owner and mode of all of them.
const OWNER: &str = "PG_VERSION";

/// Puts the server into backup mode, and finds its files or has them sent. The mode ends when the result is dropped. Ends early
/// once `cancel` is set: the checkpoint may take minutes, and so may the listing.
pub fn prepare(
    request: &PostgresRequest,
    cancel: &Arc<AtomicBool>,
) -> Result<PreparedSource, PostgresBackupError> {
    let is_cancelled: &dyn Fn() -> bool = &|| cancel.load(Ordering::Relaxed);
    match request.through {
        Some(Through::Files) => prepare_files(request, is_cancelled),
        Some(Through::Replication) => protocol::prepare(request, cancel),
        None => match prepare_files(request, is_cancelled) {
            Err(error) if error.is_about_files() => {
                protocol::prepare(request, cancel).map_err(|other| neither(request, &error, other))
            }
            prepared => prepared,
        },
    }
}

/// What the cluster is, asked in whichever way it will be read.
pub fn identity(request: &PostgresRequest) -> Result<Identity, PostgresBackupError> {
    let asked = || system_identifier(&request.address, &request.password, request.limit);
    let sent = || protocol::system_identifier(request);
    let system_identifier = match request.through {
        Some(Through::Files) => asked()?,
        Some(Through::Replication) => sent()?,
        None => asked().or_else(|_| sent())?,
    };
    Ok(Identity::Postgresql { system_identifier })
}

fn neither(
    request: &PostgresRequest,
    files: &PostgresBackupError,
    other: PostgresBackupError,
) -> PostgresBackupError {
    let is_cancelled = other.is_cancelled();
    match other {
        PostgresBackupError::Replication(replication) if !is_cancelled => {
            let (server, files) = (request.address.to_string(), files.to_string());
            PostgresBackupError::Neither { server, files, replication: Box::new(replication) }
        }
        other => other,
    }
}

fn prepare_files(
    request: &PostgresRequest,
    is_cancelled: &dyn Fn() -> bool,
) -> Result<PreparedSource, PostgresBackupError> {
    let named = request.address.to_string();
    let mut session = BackupSession::open(&request.address, &request.password, request.limit)?;
    let data = prove(session.server(), session.slot(), &named)?;
    let start = session.start(LABEL, request.fast_checkpoint, is_cancelled)?;
    let server = session.server().clone();
    // Beside other sources it stands below this name.
    let prefix = StoredName(
        data.file_name().map_or_else(|| b"postgresql".to_vec(), |name| path_bytes(Path::new(name)).to_vec()),
    );
    let pages = server
        .has_checksums
        .then(|| Arc::new(PageInspector::new(Some(&data), &prefix, layout(&server, start))));
    let inspect = pages.clone().map(|pages| pages as Arc<dyn Inspect>);
    let listing = walk::listing(&data, server.version, inspect.as_ref(), is_cancelled)?;
    let owner =
        files::stamp_of_path(&data.join(OWNER)).map_err(PostgresBackupError::read(&data.join(OWNER)))?;
    let mut warnings = listing.warnings;
    warnings.extend(settings_elsewhere(&server, &data));
    let record = SourceRecord {
        named,
        identity: None,
        prefix: prefix.clone(),
        kind: SourceKind::Postgresql(record(&server, start, &listing.tablespaces)),
        read_until_utc: utc_now(),
    };
    let owner = metadata_of(&owner);
    let tablespaces = listing.tablespaces;
    let live = PostgresLive { session, data, owner, pages, start, stop: None, tablespaces, warnings };
    Ok(PreparedSource {
        record,
        items: listing.items,
        last: Vec::new(),
        live: Some(Box::new(live)),
        page_bytes: Some(server.block_bytes),
        skipped_specials: listing.skipped_specials,
        content_warnings: Vec::new(),
    })
}

fn layout(server: &BackupServer, start: Lsn) -> Layout {
    Layout { page_bytes: server.block_bytes as usize, pages_per_segment: server.blocks_per_segment, start }
}

/// What is known at the start; the end adds the rest.
fn record(server: &BackupServer, start: Lsn, tablespaces: &[TablespaceRecord]) -> PostgresRecord {
    PostgresRecord {
        version: server.version_text.clone(),
        system_identifier: server.system_identifier,
        start_lsn: start.to_string(),
        from_standby: server.is_standby,
        archives: Some(server.archives),
        tablespaces: tablespaces.to_vec(),
        ..PostgresRecord::default()
    }
}

/// A server whose settings are not in its data directory cannot be started from the backup alone.
fn settings_elsewhere(server: &BackupServer, data: &Path) -> Option<String> {
    let directory = server.config_file.parent().and_then(|parent| std::fs::canonicalize(parent).ok());
    (directory.as_deref() != Some(data)).then(|| settings_are_in(&server.config_file.display().to_string()))
}

struct PostgresLive {
    session: BackupSession,
    data: PathBuf,
    owner: FileMetadata,
    pages: Option<Arc<PageInspector>>,
    start: Lsn,
    stop: Option<Lsn>,
    tablespaces: Vec<TablespaceRecord>,
    warnings: Vec<String>,
}

impl PostgresLive {
    fn stop(&mut self) -> Result<LiveEnd, PostgresBackupError> {
        // Before backup mode ends: on a standby this file says how far the log must be replayed.
        let control = ControlFile::read(&self.data)?;
        let stop = self.session.stop()?;
        self.stop = Some(stop.lsn);
        let label = Label::parse(&stop.label)?;
        let server = self.session.server();
        let needed = Needed::between(label.start, stop.lsn, server.wal_segment_bytes);
        let mut items = vec![self.generated(LABEL_NAME, stop.label.clone().into_bytes())];
        items.extend(wal::items(&self.data, needed, label.timeline, self.owner)?);
        // Last, so that a restore that breaks off has none.
        items.push(self.generated(control::NAME, control.without_checkpoint()));
        let record = PostgresRecord {
            timeline: label.timeline,
            stop_lsn: stop.lsn.to_string(),
            ..record(server, self.start, &self.tablespaces)
        };
        Ok(LiveEnd {
            items,
            kind: SourceKind::Postgresql(record),
            warnings: self.all_warnings(),
            content_warnings: Vec::new(),
        })
    }

    fn generated(&self, name: &str, bytes: Vec<u8>) -> Item {
        Item::new(name.into(), What::Generated(bytes), self.owner)
    }

    fn all_warnings(&mut self) -> Vec<String> {
        let mut warnings = std::mem::take(&mut self.warnings);
        warnings.extend(self.pages.is_none().then(no_checksums));
        warnings
    }
}

impl Live for PostgresLive {
    fn end(&mut self) -> Result<LiveEnd, StageFailure> {
        Ok(self.stop()?)
    }

    fn pages(&self) -> Option<PagesSeen> {
        Some(self.pages.as_ref()?.seen(self.stop?))
    }
}

const POSTMASTER: &str = "postmaster.pid";
/// The line with the port, from 0.
const PORT_LINE: usize = 3;

/// The data directory of `server`, with no link left in its path. The server runs on it if three marks agree: a postmaster that
/// listens on the server's port is noted in it, its control file names the same cluster, and the replication slot `slot`,
/// which our own session has just created, is in it. A standby, a copy, and the same path in a container fail at least one.
fn prove(server: &BackupServer, slot: &str, named: &str) -> Result<PathBuf, PostgresBackupError> {
    let elsewhere = |reason: String| PostgresBackupError::Elsewhere {
        server: named.to_owned(),
        directory: server.data_directory.clone(),
        reason,
    };
    let data = match std::fs::canonicalize(&server.data_directory) {
        Err(error) if is_missing(&error) => return Err(elsewhere("there is no such directory".into())),
        found => found.map_err(PostgresBackupError::read(&server.data_directory))?,
    };
    let path = data.join(POSTMASTER);
    let note = match std::fs::read_to_string(&path) {
        Err(error) if is_missing(&error) => {
            return Err(elsewhere(format!("it has no {POSTMASTER}, so no server runs on it")));
        }
        found => found.map_err(PostgresBackupError::read(&path))?,
    };
    let port = port_in(&note);
    if port != Some(server.port) {
        let other = port.map_or_else(|| "no port".to_owned(), |port| format!("port {port}"));
        return Err(elsewhere(format!(
            "the server on it has {other}, and the one that answers has {}",
            server.port
        )));
    }
    let identifier = ControlFile::read(&data)?.system_identifier();
    if identifier != server.system_identifier {
        let theirs = server.system_identifier;
        return Err(elsewhere(format!("it holds the cluster {identifier}, and the server's is {theirs}")));
    }
    if !has_slot(&data, slot)? {
        return Err(elsewhere("it belongs to another server of the same cluster, such as a standby".into()));
    }
    Ok(data)
}

fn port_in(note: &str) -> Option<u16> {
    note.lines().nth(PORT_LINE)?.trim().parse().ok()
}

fn has_slot(data: &Path, slot: &str) -> Result<bool, PostgresBackupError> {
    let path = data.join("pg_replslot").join(slot);
    path.try_exists().map_err(PostgresBackupError::read(&path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_port_is_on_the_fourth_line() {
        let note = "4711\n/var/lib/postgresql/15/main\n1700000000\n5433\n/run/postgresql\nlocalhost\n";
        assert_eq!(port_in(note), Some(5433));
        assert_eq!(port_in("4711\n/data\n"), None);
    }
}
