//! What goes wrong with a session on a copy.

use thiserror::Error;

use crate::error::SourceError;

/// Why a session could not answer.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CopyError {
    #[error(transparent)]
    Source(#[from] SourceError),
    /// The server's own words.
    #[error("{0}")]
    Said(String),
    /// Nobody wants the answer any more.
    #[error("stopped")]
    Over,
}

impl CopyError {
    /// Whether it may be gone a little later: the server is still recovering, or nothing listens yet.
    pub fn is_not_up_yet(&self) -> bool {
        matches!(self, Self::Source(SourceError::Connect { .. } | SourceError::Full { .. }))
    }
}
