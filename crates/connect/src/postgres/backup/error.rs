//! What goes wrong with a backup of a running server.

use thiserror::Error;

use crate::error::SourceError;

#[derive(Debug, Error)]
#[non_exhaustive]
pub enum BackupSessionError {
    #[error(transparent)]
    Server(#[from] SourceError),
    #[error("the login {user:?} of {source_name} may not {action}: {reason}")]
    Denied { source_name: String, user: String, action: &'static str, reason: String },
    #[error("{source_name} has no replication slot free that would keep the log for the backup: {reason}")]
    NoSlot { source_name: String, reason: String },
    #[error("{source_name} could not {action}: {reason}")]
    Refused { source_name: String, action: &'static str, reason: String },
    #[error("the connection to {source_name} ended during the backup: {reason}")]
    Lost { source_name: String, reason: String },
    #[error("{source_name} answered with something that is no {what}: {text:?}")]
    Unknown { source_name: String, what: &'static str, text: String },
    #[error("cancelled")]
    Cancelled,
}

impl BackupSessionError {
    pub fn hint(&self) -> String {
        match self {
            Self::Server(error) => error.hint(),
            Self::Denied { user, .. } => format!(
                "an administrator gives the login what a backup needs: ALTER ROLE {user} REPLICATION; GRANT pg_read_all_settings TO \
                 {user}; and GRANT EXECUTE on pg_backup_start and pg_backup_stop (before 15: pg_start_backup and pg_stop_backup) in \
                 the database that the URL names; or log in as a superuser"
            ),
            Self::NoSlot { .. } => "raise max_replication_slots, or drop a slot that nobody uses (pg_replication_slots)".into(),
            Self::Refused { .. } => {
                "the server's log says more; a backup needs wal_level = replica or above, and full_page_writes = on where the \
                 source is a standby"
                    .into()
            }
            Self::Lost { .. } => "the server has left backup mode by itself: see its log, and start again".into(),
            Self::Unknown { .. } => "check that it is PostgreSQL 12 or later".into(),
            Self::Cancelled => "the server leaves backup mode by itself".into(),
        }
    }
}
