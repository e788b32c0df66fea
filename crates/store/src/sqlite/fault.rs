//! What SQLite's errors mean here.

use std::path::Path;

use rusqlite::ErrorCode;

use super::room;
use crate::error::StoreError;

/// How long a call waits for another process. Commits take milliseconds; but the disk may be the very one that
/// another run is loading, where a flush takes seconds, and giving up here would lose a finished measurement.
pub(super) const BUSY_TIMEOUT_S: u64 = 60;

/// Gives an error of SQLite's its place and, where it is one of the usual causes, its name.
pub(super) fn fault(path: &Path, action: &'static str) -> impl FnOnce(rusqlite::Error) -> StoreError + use<> {
    let path = path.to_owned();
    move |source| match source.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            StoreError::Locked { path, waited_s: BUSY_TIMEOUT_S }
        }
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => StoreError::Damaged { path, source },
        Some(ErrorCode::DiskFull) => StoreError::Full { action, path },
        // SQLite calls it so where there is no room for the index of its log.
        Some(ErrorCode::SystemIoFailure) if room::is_full(&path, room::ROOM_BYTES) => {
            StoreError::Full { action, path }
        }
        _ => StoreError::Sqlite { action, path, source },
    }
}
