//! Checks for free space before SQLite needs it.
//!
//! SQLite maps the index of its write-ahead log into memory (`-shm`) and allocates it by writing one byte per
//! page. If the blocks of the file system are smaller than a page, the rest of the page has no block yet, and
//! on a full disk the first write to it raises SIGBUS: the process dies with everything it has measured. A
//! transaction that starts only with enough space avoids that.

use std::fs;
use std::path::{Path, PathBuf};

use iostall_engine::files::{stamp_of_path, usable_bytes};
use rusqlite::{Connection, Transaction, TransactionBehavior, ffi};

/// Minimum free space to start anything: the 32 KiB index of the log, and the pages of a typical transaction.
pub(super) const ROOM_BYTES: u64 = 1 << 20;

/// The index of a log of typical length.
const INDEX_BYTES: u64 = 32 << 10;

fn full() -> rusqlite::Error {
    rusqlite::Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_FULL), None)
}

/// Whether the file system of `path` has less than `bytes` free. If it does not report free space, it counts
/// as enough.
pub(super) fn is_full(path: &Path, bytes: u64) -> bool {
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
