//! Copies of SQLite databases that programs have open, and checks of copies.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use iostall_engine::input::head;
use iostall_measure::{Clock, MonotonicClock};
use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, ErrorCode, InterruptHandle, OpenFlags, Row};
use thiserror::Error;

const SNAPSHOT: &str = include_str!("sqlite/sql/snapshot.sql");
const UNPROTECTED: &str = include_str!("sqlite/sql/unprotected.sql");

/// What a database begins with.
const MAGIC: &[u8] = b"SQLite format 3\0";
/// Where its header says whether it has a write-ahead log.
const READ_VERSION: usize = 19;
const HEADER_BYTES: usize = 100;
const READ_VERSION_LOG: u8 = 2;
/// Pages between two looks at whether the copy is still wanted.
const PAGES_AT_ONCE: std::ffi::c_int = 1024;
/// Time between two such looks while another program keeps the database locked.
const LOOK: Duration = Duration::from_millis(100);
/// `SQLITE_READONLY_ROLLBACK` and `SQLITE_READONLY_RECOVERY`: the last program has left a transaction half written.
const UNFINISHED: [std::ffi::c_int; 2] = [776, 264];

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SqliteCopy {
    pub version: String,
    pub page_bytes: u32,
    /// Whether writers could go on meanwhile: with a write-ahead log they do, otherwise they wait.
    pub has_log: bool,
}

#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SqliteError {
    #[error("cannot read {}", path.display())]
    Look { path: PathBuf, source: std::io::Error },
    #[error("{} is not a database of SQLite", path.display())]
    NotDatabase { path: PathBuf },
    #[error("cannot copy the database {}", path.display())]
    Source { path: PathBuf, source: rusqlite::Error },
    #[error("cannot write the copy {}", path.display())]
    Copy { path: PathBuf, source: rusqlite::Error },
    #[error("cancelled")]
    Cancelled,
}

impl SqliteError {
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::NotDatabase { .. } => {
                Some("name the database's own file; one that is encrypted is backed up as a file")
            }
            Self::Source { source, .. } if is_unfinished(source) => Some(
                "the last program that wrote to it ended in the middle: open the database once with it, which repairs it",
            ),
            Self::Source { source, .. } => match source.sqlite_error_code() {
                Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Some(
                    "another program keeps it locked: end its transaction, or set journal_mode to wal, where readers never wait",
                ),
                Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => Some(
                    "run iostall under the account of the program that writes to it: a reader locks its -shm file too",
                ),
                _ => None,
            },
            Self::Copy { .. } => Some("check the free space there"),
            Self::Look { .. } | Self::Cancelled => None,
        }
    }
}

fn is_unfinished(error: &rusqlite::Error) -> bool {
    error.sqlite_error().is_some_and(|error| UNFINISHED.contains(&error.extended_code))
}

/// Copies the database at `source` into the empty file `into`, as it is at one point in time. `limit` is how long to wait for a
/// lock.
///
/// Everything is read in one transaction: without it, each change by another program would begin the copy again, and beside a
/// steady writer it would never end.
pub fn copy(
    source: &Path,
    into: &Path,
    limit: Duration,
    is_cancelled: &dyn Fn() -> bool,
) -> Result<SqliteCopy, SqliteError> {
    let failed = |error| SqliteError::Source { path: source.to_owned(), source: error };
    let has_log = has_log(source)?;
    let from = open(source, has_log).map_err(failed)?;
    from.busy_timeout(LOOK.min(limit)).map_err(failed)?;
    from.execute_batch("BEGIN").map_err(failed)?;
    let mut waited = Duration::ZERO;
    let page_bytes = loop {
        match from.query_row(SNAPSHOT, [], |row| row.get(0)) {
            Ok(page_bytes) => break page_bytes,
            Err(_) if is_cancelled() => return Err(SqliteError::Cancelled),
            Err(error) => match error.sqlite_error_code() {
                Some(ErrorCode::DatabaseBusy) if waited < limit => waited += LOOK,
                Some(ErrorCode::NotADatabase) => {
                    return Err(SqliteError::NotDatabase { path: source.to_owned() });
                }
                _ => return Err(failed(error)),
            },
        }
    };
    let unwritten = |error| SqliteError::Copy { path: into.to_owned(), source: error };
    let mut to = Connection::open_with_flags(into, OpenFlags::SQLITE_OPEN_READ_WRITE).map_err(unwritten)?;
    to.execute_batch(UNPROTECTED).map_err(unwritten)?;
    let backup = Backup::new(&from, &mut to).map_err(unwritten)?;
    loop {
        if is_cancelled() {
            return Err(SqliteError::Cancelled);
        }
        match backup.step(PAGES_AT_ONCE) {
            Ok(StepResult::Done) => break,
            Ok(_) => {}
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::DiskFull) => {
                return Err(unwritten(error));
            }
            Err(error) => return Err(failed(error)),
        }
    }
    Ok(SqliteCopy { version: rusqlite::version().to_owned(), page_bytes, has_log })
}

fn has_log(source: &Path) -> Result<bool, SqliteError> {
    let header = head(source, HEADER_BYTES)
        .map_err(|error| SqliteError::Look { path: source.to_owned(), source: error })?;
    if !header.starts_with(MAGIC) || header.len() < HEADER_BYTES {
        return Err(SqliteError::NotDatabase { path: source.to_owned() });
    }
    Ok(header[READ_VERSION] == READ_VERSION_LOG)
}

/// Read-only, so that nothing of the source changes, not even by repairs. The exception is a database with a write-ahead log
/// that nobody has open: a reader creates the log's files, and only who may write removes them again at the end.
fn open(source: &Path, has_log: bool) -> rusqlite::Result<Connection> {
    let mut log = source.as_os_str().to_owned();
    log.push("-wal");
    let is_idle = has_log && !Path::new(&log).exists();
    let access = if is_idle { OpenFlags::SQLITE_OPEN_READ_WRITE } else { OpenFlags::SQLITE_OPEN_READ_ONLY };
    Connection::open_with_flags(source, access | OpenFlags::SQLITE_OPEN_NO_MUTEX)
}

const INTEGRITY: &str = include_str!("sqlite/sql/integrity.sql");
const FOREIGN_KEYS: &str = include_str!("sqlite/sql/foreign_keys.sql");
/// What the first of them says of a database without damage.
const GOOD: &str = "ok";
/// Rows without a parent that are named.
const NAMED_MAX: usize = 20;
/// How often it is seen whether the check is still wanted.
const LOOK_EVERY_NS: u64 = 50_000_000;

#[derive(Debug, Error)]
#[error("cannot check {}: {source}", path.display())]
pub struct SqliteCheckError {
    path: PathBuf,
    source: rusqlite::Error,
}

pub fn version() -> &'static str {
    rusqlite::version()
}

/// What is wrong in the database at `path`, with its indexes and its foreign keys; nothing if all is well. A check that is over
/// ends with an error.
pub fn check(path: &Path, is_over: &(dyn Fn() -> bool + Sync)) -> Result<Vec<String>, SqliteCheckError> {
    let failed = |source| SqliteCheckError { path: path.to_owned(), source };
    // One with a write-ahead log is only opened by those who may write.
    let access = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, access).map_err(failed)?;
    let (handle, is_done) = (connection.get_interrupt_handle(), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| interrupt(&handle, is_over, &is_done));
        let found = problems(&connection);
        is_done.store(true, Ordering::Relaxed);
        found
    })
    .map_err(failed)
}

fn interrupt(handle: &InterruptHandle, is_over: &(dyn Fn() -> bool + Sync), is_done: &AtomicBool) {
    let clock = MonotonicClock::new();
    while !is_done.load(Ordering::Relaxed) {
        if is_over() {
            handle.interrupt();
        }
        clock.sleep_until(clock.now_ns() + LOOK_EVERY_NS);
    }
}

fn problems(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let mut integrity = connection.prepare(INTEGRITY)?;
    let found = integrity.query_map([], |row| row.get::<_, String>(0))?;
    let mut problems = found.collect::<rusqlite::Result<Vec<_>>>()?;
    problems.retain(|problem| problem != GOOD);
    let mut keys = connection.prepare(FOREIGN_KEYS)?;
    let orphans = keys.query_map([], orphan)?.take(NAMED_MAX).collect::<rusqlite::Result<Vec<_>>>()?;
    problems.extend(orphans);
    Ok(problems)
}

fn orphan(row: &Row<'_>) -> rusqlite::Result<String> {
    let (table, number): (String, Option<i64>) = (row.get(0)?, row.get(1)?);
    let parent: String = row.get(2)?;
    let number = number.map_or_else(String::new, |number| format!(" {number}"));
    Ok(format!("row{number} of {table} has no parent in {parent}"))
}

#[cfg(test)]
mod tests;
