//! What goes wrong with a session of the replication protocol.

use std::time::Duration;

use thiserror::Error;

use crate::error::SourceError;

#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReplicationError {
    #[error(transparent)]
    Server(#[from] SourceError),
    /// No line of `pg_hba.conf` is for replication.
    #[error("{source_name} lets {user:?} not replicate from here: {reason}")]
    NotLetIn { source_name: String, user: String, reason: String },
    #[error("the login {user:?} of {source_name} may not {action}: {reason}")]
    Denied { source_name: String, user: String, action: &'static str, reason: String },
    #[error("{source_name} could not {action}: {reason}")]
    Refused { source_name: String, action: &'static str, state: String, reason: String },
    #[error("the connection to {source_name} ended: {reason}")]
    Lost { source_name: String, reason: String },
    #[error("{source_name} has sent nothing for {silence:?}")]
    Silent { source_name: String, silence: Duration },
    #[error("{source_name} answered with something that is no {what}: {text:?}")]
    Unknown { source_name: String, what: &'static str, text: String },
    #[error("{source_name} did not answer in the way of PostgreSQL when it was asked to {action}")]
    Unexpected { source_name: String, action: &'static str },
    #[error("cancelled")]
    Cancelled,
}

/// SQLSTATE when every replication slot is taken, or there are none.
const NO_SLOT: [&str; 2] = ["53400", "55000"];
/// SQLSTATE when a file of the log is not there any more.
const NO_FILE: &str = "58P01";

impl ReplicationError {
    /// The SQLSTATE with which the server refused a command; `None` if it did not.
    pub fn state(&self) -> Option<&str> {
        match self {
            Self::Refused { state, .. } => Some(state),
            _ => None,
        }
    }

    pub fn is_log_removed(&self) -> bool {
        self.state() == Some(NO_FILE)
    }

    /// Whether the connection is gone, so that another one may succeed.
    pub fn is_lost(&self) -> bool {
        matches!(
            self,
            Self::Lost { .. }
                | Self::Silent { .. }
                | Self::Server(SourceError::Connect { .. } | SourceError::TimedOut { .. })
        )
    }

    pub fn hint(&self) -> String {
        match self {
            Self::Server(error) => error.hint(),
            Self::NotLetIn { user, .. } => format!(
                "an administrator adds a line to pg_hba.conf, such as `host replication {user} ADDRESS/32 scram-sha-256`, and reloads \
                 the settings: a line for all databases is none for replication"
            ),
            Self::Denied { user, .. } => {
                format!("an administrator gives the login the right: ALTER ROLE \"{user}\" REPLICATION; or log in as a superuser")
            }
            Self::Refused { state, .. } if NO_SLOT.contains(&state.as_str()) => {
                "raise max_replication_slots or max_wal_senders, or drop a slot that nobody uses (pg_replication_slots)".into()
            }
            Self::Refused { state, .. } if state == NO_FILE => {
                "the server has removed that part of its log: keep it with a slot, or raise wal_keep_size (before 13: \
                 wal_keep_segments)"
                    .into()
            }
            Self::Refused { .. } => {
                "the server's log says more; replication needs wal_level = replica or above, and max_wal_senders above 0".into()
            }
            Self::Lost { .. } => "see the server's log, and start again".into(),
            Self::Silent { .. } => "find out why the server or the network does not answer, and start again".into(),
            Self::Unknown { .. } | Self::Unexpected { .. } => "check that it is PostgreSQL 12 or later".into(),
            Self::Cancelled => "the server has ended the session by itself".into(),
        }
    }
}
