//! PostgreSQL's replication protocol: the log as it is written, slots that keep it, and base backups.
//!
//! A session is asynchronous inside and blocks outside. Every wait ends once its caller has set [`ReplicationLogin::cancel`].
//! What a server sends is bounded, and a connection that breaks within a message is an error that names the server.

mod base;
mod error;
mod link;
mod session;
mod startup;
mod wal;
mod wire;

pub use self::base::{BaseBackup, BaseBackupOptions, BasePart, BaseTablespace};
pub use self::error::ReplicationError;
pub use self::session::{ReplicationLogin, ReplicationSession, SlotState, SystemIdentity, TimelineHistory};
pub use self::wal::{WalMessage, WalStream};
