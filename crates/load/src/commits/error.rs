//! Errors of commits.

use std::io;

use iostall_engine::{EngineError, IoFailure, OpenError};
use thiserror::Error;

#[derive(Debug, Error)]
pub enum CommitError {
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error(transparent)]
    Engine(#[from] EngineError),
    #[error("cannot map the buffer of the log: {0}")]
    Buffer(#[source] io::Error),
    #[error("{call} failed: {failure}")]
    Call { call: &'static str, failure: IoFailure },
    #[error("the log took only {moved} of {wanted} bytes")]
    Short { moved: u32, wanted: u32 },
    #[error("a committer could not be started: {0}")]
    Thread(#[source] io::Error),
    #[error("a committer of iostall crashed; please report it with the message above")]
    Broken,
}

impl CommitError {
    /// Whether the system does not have the call, as opposed to the device failing.
    pub fn is_unsupported(&self) -> bool {
        match self {
            Self::Call { failure, .. } => {
                matches!(failure.kind(), io::ErrorKind::Unsupported | io::ErrorKind::NotSeekable)
            }
            _ => false,
        }
    }
}
