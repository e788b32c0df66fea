//! Room on the file system of the store, looked for before SQLite needs it.
//!
//! SQLite keeps the index of its write-ahead log in a file that is mapped into memory (`-shm`), and reserves one byte in each of
//! its pages when it makes it. Where the blocks of the file system are smaller than a page, the rest of the page has no
//! block yet, and on a full disk the first store into it is a SIGBUS: the process dies with everything it has measured. A
//! transaction that is begun only with enough room never comes there.

use std::fs;
use std::path::{Path, PathBuf};

use iostall_engine::files::{stamp_of_path, usable_bytes};
use rusqlite::{Connection, Transaction, TransactionBehavior, ffi};

/// Free bytes without which nothing is begun: the index of the log with its 32 KiB, and the pages of a usual transaction.
pub(super) const ROOM_BYTES: u64 = 1 << 20;

/// The index of a log of usual length.
const INDEX_BYTES: u64 = 32 << 10;

/// What SQLite itself says on a full disk.
fn full() -> rusqlite::Error {
    rusqlite::Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_FULL), None)
}

/// Whether the file system of the file at `path` has less room than `bytes`. One that does not tell has enough.
pub(super) fn is_full(path: &Path, bytes: u64) -> bool {
    let real = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let directory = real.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    usable_bytes(directory).is_ok_and(|free| free < bytes)
}

/// Looks for room to open the file at `path` in: none is needed where another process has it open, with its whole index.
pub(super) fn check_to_open(path: &Path) -> rusqlite::Result<()> {
    let mut index = path.as_os_str().to_owned();
    index.push("-shm");
    let is_whole = stamp_of_path(&PathBuf::from(index))
        .is_ok_and(|index| index.size_bytes >= INDEX_BYTES && index.allocated_bytes >= INDEX_BYTES);
    if !is_whole && is_full(path, ROOM_BYTES) { Err(full()) } else { Ok(()) }
}

/// A transaction on the file at `path` that holds the write lock from its beginning, with room for `bytes` of content.
pub(crate) fn begin<'a>(
    connection: &'a Connection,
    path: &Path,
    bytes: u64,
) -> rusqlite::Result<Transaction<'a>> {
    // The content goes into the log, and from there into the file.
    if is_full(path, ROOM_BYTES.saturating_add(bytes.saturating_mul(2))) {
        return Err(full());
    }
    Transaction::new_unchecked(connection, TransactionBehavior::Immediate)
}
