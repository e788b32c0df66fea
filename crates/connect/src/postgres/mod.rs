//! Connections to PostgreSQL, and its backup mode.

mod backup;
mod login;
mod lsn;
mod messages;

pub use backup::{BackupServer, BackupSession, BackupSessionError, BackupStop};
pub use login::{Login, explain};
pub use lsn::{Lsn, LsnError};
