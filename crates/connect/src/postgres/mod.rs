//! Connections to PostgreSQL, its backup mode, its replication protocol, and checks of restored copies.

mod backup;
mod drill;
mod login;
mod lsn;
mod messages;
mod replication;

pub use backup::{BackupServer, BackupSession, BackupSessionError, BackupStop, system_identifier};
pub use drill::{Amcheck, COPY_PORT, CopyDatabase, CopyFacts, CopyRelation, CopyServer, CopySession};
pub use login::{Login, explain};
pub use lsn::{Lsn, LsnError};
pub use replication::{
    BaseBackup, BaseBackupOptions, BasePart, BaseTablespace, ReplicationError, ReplicationLogin,
    ReplicationSession, SlotState, SystemIdentity, TimelineHistory, WalMessage, WalStream,
};
