//! Why the log of a server cannot be received.

use std::path::PathBuf;

use iostall_connect::postgres::{Lsn, ReplicationError};
use iostall_measure::foreign::shell_path;
use thiserror::Error;

use super::error::WalError;
use crate::error::{SessionError, UseCaseError};

/// Receiving ends with one of these; a lost connection is none.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReceiveError {
    #[error(transparent)]
    Archive(#[from] WalError),
    #[error(transparent)]
    Server(#[from] ReplicationError),
    #[error("{} is the archive of the cluster {archive}, and the server is of {server}", directory.display())]
    OtherCluster { directory: PathBuf, archive: u64, server: u64 },
    #[error("another iostall receives into {}", directory.display())]
    Busy { directory: PathBuf },
    #[error("the slot {slot} is one of logical replication")]
    LogicalSlot { slot: String },
    #[error(
        "the log from {from} of timeline {timeline} up to {present}, where the server is now, is lost to the archive: the server has removed it"
    )]
    Gone { slot: String, from: Lsn, present: Lsn, timeline: u32, source: Box<ReplicationError> },
    #[error("the server sent the log from {found} on, and {expected} comes next")]
    OutOfOrder { expected: Lsn, found: Lsn },
    #[error("the server says that a segment has {text:?}")]
    SegmentSize { text: String },
}

impl ReceiveError {
    /// What to do about it, if that is known.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Archive(error) => return error.hint(),
            Self::Server(error) => error.hint(),
            Self::OtherCluster { .. } => "give each cluster a directory of its own".into(),
            Self::Busy { directory } => {
                format!(
                    "one receiver writes into {}; end it first, or name another directory",
                    shell_path(directory)
                )
            }
            Self::LogicalSlot { .. } => "name another one: --slot NAME is made if it is missing".into(),
            Self::Gone { slot, .. } => format!(
                "archive it from the server that has it, or make a new backup now and begin after the gap with --after-gap; \
                 max_slot_wal_keep_size on the server limits what the slot {slot} keeps"
            ),
            Self::OutOfOrder { .. } | Self::SegmentSize { .. } => {
                "please report it, with the server's version".into()
            }
        })
    }
}

impl From<ReceiveError> for SessionError {
    fn from(error: ReceiveError) -> Self {
        let hint = error.hint();
        Self::OfUseCase(UseCaseError::new(error, hint))
    }
}
