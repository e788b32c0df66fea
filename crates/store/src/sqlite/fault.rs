//! What SQLite's errors mean here.

use std::path::Path;

use rusqlite::ErrorCode;

use super::room;
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
        Some(ErrorCode::SystemIoFailure) if room::is_full(&path, room::ROOM_BYTES) => {
            StoreError::Full { action, path }
        }
        _ => StoreError::Sqlite { action, path, source },
    }
}
