//! Connections to PostgreSQL, its backup mode, and checks of restored copies.

mod backup;
mod drill;
mod login;
mod lsn;
mod messages;

pub use backup::{BackupServer, BackupSession, BackupSessionError, BackupStop};
pub use drill::{COPY_PORT, CopyDatabase, CopyFacts, CopyRelation, CopyServer, CopySession};
pub use login::{Login, explain};
pub use lsn::{Lsn, LsnError};
