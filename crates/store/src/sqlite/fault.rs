//! What SQLite says when it fails or a column does not fit, and how much room there is for a store.

use std::fs;
use std::path::{Path, PathBuf};

use iostall_engine::files::{stamp_of_path, usable_bytes};
use rusqlite::{Connection, ErrorCode, Row, Transaction, TransactionBehavior, ffi};

use crate::error::StoreError;

/// How long a call waits for another process. Commits take milliseconds, but the disk may be the one that
/// another run is loading, where a flush takes seconds; giving up would lose a finished measurement.
pub(super) const BUSY_TIMEOUT_S: u64 = 60;

/// Adds the path to an error of SQLite, and names it if the cause is a common one.
pub(super) fn fault(path: &Path, action: &'static str) -> impl FnOnce(rusqlite::Error) -> StoreError + use<> {
    let path = path.to_owned();
    move |source| match source.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            StoreError::Locked { path, waited_s: BUSY_TIMEOUT_S }
        }
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => StoreError::Damaged { path, source },
        Some(ErrorCode::DiskFull) => StoreError::Full { action, path },
        // SQLite reports a lack of space for the index of its log this way.
        Some(ErrorCode::SystemIoFailure) if is_full(&path, ROOM_BYTES) => StoreError::Full { action, path },
        _ => StoreError::Sqlite { action, path, source },
    }
}

/// Minimum free space to start anything: the 32 KiB index of the log, and the pages of a typical transaction.
const ROOM_BYTES: u64 = 1 << 20;

/// The index of a log of typical length.
const INDEX_BYTES: u64 = 32 << 10;

fn full() -> rusqlite::Error {
    rusqlite::Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_FULL), None)
}

/// Whether the file system of `path` has less than `bytes` free. If it does not report free space, it counts
/// as enough.
fn is_full(path: &Path, bytes: u64) -> bool {
    let real = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let directory = real.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    usable_bytes(directory).is_ok_and(|free| free < bytes)
}

/// Checks the space for opening the file at `path`: none is needed if another process has it open with its
/// whole index.
pub(super) fn check_to_open(path: &Path) -> rusqlite::Result<()> {
    let mut index = path.as_os_str().to_owned();
    index.push("-shm");
    let is_whole = stamp_of_path(&PathBuf::from(index))
        .is_ok_and(|index| index.size_bytes >= INDEX_BYTES && index.allocated_bytes >= INDEX_BYTES);
    if !is_whole && is_full(path, ROOM_BYTES) { Err(full()) } else { Ok(()) }
}

/// Starts a transaction on the file at `path` that takes the write lock at once, with space for `bytes` of
/// content.
pub(crate) fn begin<'a>(
    connection: &'a Connection,
    path: &Path,
    bytes: u64,
) -> rusqlite::Result<Transaction<'a>> {
    // The content goes to the log and from there into the file.
    if is_full(path, ROOM_BYTES.saturating_add(bytes.saturating_mul(2))) {
        return Err(full());
    }
    Transaction::new_unchecked(connection, TransactionBehavior::Immediate)
}

pub(super) fn parsed<T, E: std::error::Error + Send + Sync + 'static>(
    row: &Row<'_>,
    column: &str,
    parse: impl FnOnce(&str) -> Result<T, E>,
) -> rusqlite::Result<T> {
    parse(row.get_ref(column)?.as_str()?).map_err(not_readable)
}

pub(super) fn unsigned(row: &Row<'_>, column: &str) -> rusqlite::Result<Option<u64>> {
    row.get::<_, Option<i64>>(column)?.map(|value| u64::try_from(value).map_err(not_readable)).transpose()
}

pub(super) fn not_writable(error: impl std::error::Error + Send + Sync + 'static) -> rusqlite::Error {
    rusqlite::Error::ToSqlConversionFailure(Box::new(error))
}

pub(super) fn not_readable(error: impl std::error::Error + Send + Sync + 'static) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(0, rusqlite::types::Type::Text, Box::new(error))
}
