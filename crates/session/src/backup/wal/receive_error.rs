//! Why the log of a server cannot be received.

use std::path::PathBuf;

use iostall_connect::postgres::{Lsn, ReplicationError};
use iostall_measure::foreign::shell_path;
use iostall_measure::hinted;
use thiserror::Error;

use super::error::WalError;
use crate::error::{SessionError, UseCaseError};

hinted! {
    /// Receiving ends with one of these; a lost connection is none.
    #[derive(Debug, Error)]
    #[non_exhaustive]
    pub enum ReceiveError {
        #[error(transparent)]
        Archive(#[from] error: WalError) => error.hint(),
        #[error(transparent)]
        Server(#[from] error: ReplicationError) => error.hint(),
        #[error("{} is the archive of the cluster {archive}, and the server is of {server}", directory.display())]
        OtherCluster { directory: PathBuf, archive: u64, server: u64 }
            => "give each cluster a directory of its own",
        #[error("another iostall receives into {}", directory.display())]
        Busy { directory: PathBuf } => format!(
            "one receiver writes into {}; end it first, or name another directory",
            shell_path(directory)
        ),
        #[error("the slot {slot} is one of logical replication")]
        LogicalSlot { slot: String } => "name another one: --slot NAME is made if it is missing",
        #[error(
            "the log from {from} of timeline {timeline} up to {present}, where the server is now, is lost to the archive: the server has removed it"
        )]
        Gone { slot: String, from: Lsn, present: Lsn, timeline: u32, source: Box<ReplicationError> }
            => format!(
                "archive it from the server that has it, or make a new backup now and begin after the gap with --after-gap; \
                 max_slot_wal_keep_size on the server limits what the slot {slot} keeps"
            ),
        #[error("the server sent the log from {found} on, and {expected} comes next")]
        OutOfOrder { expected: Lsn, found: Lsn } => "please report it, with the server's version",
        #[error("the server says that a segment has {text:?}")]
        SegmentSize { text: String } => "please report it, with the server's version",
    }
}

impl From<ReceiveError> for SessionError {
    fn from(error: ReceiveError) -> Self {
        let hint = error.hint();
        Self::OfUseCase(UseCaseError::new(error, hint))
    }
}
