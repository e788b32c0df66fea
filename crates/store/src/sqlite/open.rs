//! Creates and opens the file.

use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use std::{fs, io};

use iostall_host::{create_directory_for_owner, create_file_for_owner};
use iostall_measure::{Clock, MonotonicClock};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::fault::{BUSY_TIMEOUT_S, check_to_open, fault};
use super::migrations::{self, Identity, KNOWN_VERSION};
use crate::error::StoreError;

/// Held while a file is created: closing it must not interfere with another thread's use of it, see
/// [`refuse_other_files`].
static MAKING: Mutex<()> = Mutex::new(());

/// One page of the smallest size. SQLite would treat a shorter file as an empty database and overwrite it.
const SMALLEST_DATABASE_BYTES: u64 = 512;

const NO_DATABASE: &str = "not an SQLite database, or the first page of one is damaged";

/// Pause between two attempts to switch the journal mode, nanoseconds.
const RETRY_PAUSE_NS: u64 = 5_000_000;

const GLANCE_TIMEOUT: Duration = Duration::from_millis(200);

pub(super) fn open(path: &Path) -> Result<Connection, StoreError> {
    let unopened = |source: io::Error| match source.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            StoreError::Full { action: "make", path: path.to_owned() }
        }
        _ => StoreError::Open { path: path.to_owned(), source },
    };
    create(path).map_err(unopened)?;
    refuse_other_files(path)?;
    check_to_open(path).map_err(fault(path, "open"))?;
    let mut connection = connect(path)?;
    refuse_other_databases(path, &connection)?;
    prepare(&mut connection).map_err(fault(path, "open"))?;
    // Check again, because another program may have filled an empty file in between.
    refuse_other_databases(path, &connection)?;
    Ok(connection)
}

/// Connects to the store at `path` to read it, if it is there and of this version. Nothing is created or migrated, and a writer
/// is not waited for.
pub(super) fn glance(path: &Path) -> Result<Option<Connection>, StoreError> {
    if !path.is_file() {
        return Ok(None);
    }
    refuse_other_files(path)?;
    let connection = connect(path)?;
    let read_only = || {
        connection.busy_timeout(GLANCE_TIMEOUT)?;
        connection.pragma_update(None, "query_only", true)?;
        let is_ours =
            matches!(migrations::identity(&connection)?, Identity::Store { version: KNOWN_VERSION });
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, !is_ours)?;
        Ok(is_ours)
    };
    let is_ours = read_only().map_err(fault(path, "open"))?;
    Ok(is_ours.then_some(connection))
}

/// Connects to a store whose disk is full, to read what is in the file itself: otherwise SQLite wants room beside it even for that.
/// `None` where there is more than that, in a log, or it is of another version.
pub(super) fn open_on_full_disk(path: &Path) -> Result<Option<Connection>, StoreError> {
    refuse_other_files(path)?;
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    let (Some(text), false) = (path.to_str(), fs::metadata(log).is_ok_and(|log| log.len() > 0)) else {
        return Ok(None);
    };
    let text = text.replace('%', "%25").replace('?', "%3f").replace('#', "%23");
    let flags =
        OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connect = || {
        let connection = Connection::open_with_flags(format!("file:{text}?immutable=1"), flags)?;
        let identity = migrations::identity(&connection)?;
        Ok(matches!(identity, Identity::Store { version: KNOWN_VERSION }).then_some(connection))
    };
    connect().map_err(fault(path, "open"))
}

/// Creates the directories and an empty file with access for this user only, because runs contain host names,
/// paths and serial numbers. SQLite gives its -wal and -shm files the same mode.
fn create(path: &Path) -> io::Result<()> {
    if let Some(directory) = path.parent().filter(|directory| !directory.as_os_str().is_empty()) {
        create_directory_for_owner(directory)?;
    }
    let _making = MAKING.lock().unwrap_or_else(PoisonError::into_inner);
    match create_file_for_owner(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

/// Refuses devices, directories and pipes. SQLite checks the content: opening and closing the file here would
/// drop all locks that other connections of this process hold on it (POSIX locks end with the first close of
/// the file).
fn refuse_other_files(path: &Path) -> Result<(), StoreError> {
    let metadata = fs::metadata(path).map_err(|source| StoreError::Open { path: path.to_owned(), source })?;
    let what = match metadata.len() {
        _ if !metadata.is_file() => "not a regular file",
        1..SMALLEST_DATABASE_BYTES => NO_DATABASE,
        _ => return Ok(()),
    };
    Err(StoreError::Foreign { path: path.to_owned(), what: what.into() })
}

fn connect(path: &Path) -> Result<Connection, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags).map_err(fault(path, "open"))?;
    // The last connection to close writes back the -wal file, which we must not do while the database may
    // turn out to be another program's.
    connection
        .set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)
        .and_then(|_| connection.busy_timeout(Duration::from_secs(BUSY_TIMEOUT_S)))
        .map_err(fault(path, "open"))?;
    Ok(connection)
}

fn refuse_other_databases(path: &Path, connection: &Connection) -> Result<(), StoreError> {
    let foreign = |what: String| Err(StoreError::Foreign { path: path.to_owned(), what });
    let identity = match migrations::identity(connection) {
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::NotADatabase) => {
            return foreign(NO_DATABASE.into());
        }
        other => other.map_err(fault(path, "open"))?,
    };
    match identity {
        Identity::Store { version } if version > KNOWN_VERSION => {
            Err(StoreError::Newer { path: path.to_owned(), found: version, known: KNOWN_VERSION })
        }
        Identity::Store { .. } | Identity::Empty => Ok(()),
        Identity::Foreign { application_id: 0 } => foreign("an SQLite database of another program".into()),
        Identity::Foreign { application_id } => {
            foreign(format!("an SQLite database of another program (application id {application_id:#x})"))
        }
    }
}

fn prepare(connection: &mut Connection) -> rusqlite::Result<()> {
    switch_to_wal(connection)?;
    // FULL instead of NORMAL, which is usual with WAL: with NORMAL the last commits may be lost in a power
    // failure, and a run is hours of measuring in one commit. It costs one flush per run, after its last I/O.
    connection.pragma_update(None, "synchronous", "FULL")?;
    // Off while tables are recreated under the same name: dropping the old one would delete rows that refer
    // to it.
    connection.pragma_update(None, "foreign_keys", false)?;
    migrations::migrate(connection)?;
    connection.pragma_update(None, "foreign_keys", true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false)?;
    Ok(())
}

/// Write-ahead logging: listing runs does not wait for a writer. On a file system without shared memory
/// SQLite keeps the rollback journal, which is as safe but makes readers wait.
///
/// SQLite returns "busy" for this switch without calling its busy handler, so it is retried.
fn switch_to_wal(connection: &Connection) -> rusqlite::Result<()> {
    let clock = MonotonicClock::new();
    let deadline_ns = BUSY_TIMEOUT_S * 1_000_000_000;
    loop {
        let mode: rusqlite::Result<String> =
            connection.pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get(0));
        match mode {
            Err(error)
                if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy)
                    && clock.now_ns() < deadline_ns =>
            {
                clock.sleep_until(clock.now_ns() + RETRY_PAUSE_NS);
            }
            other => return other.map(drop),
        }
    }
}
