//! Errors of sessions that change a database.

use thiserror::Error;

use crate::error::SourceError;

#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ChangeError {
    #[error(transparent)]
    Source(#[from] SourceError),
    /// The server's own words.
    #[error("{source_name} refused it: {reason}")]
    Refused { source_name: String, reason: String },
    #[error("it gives {given}, and must give one value")]
    NotOneValue { given: String },
    #[error("it ended the transaction in which it ran")]
    Ended,
}

impl ChangeError {
    /// Whether the server could not be asked, and may be later.
    pub fn may_pass(&self) -> bool {
        match self {
            Self::Source(error) => !matches!(error, SourceError::Query { .. }),
            Self::Refused { .. } | Self::NotOneValue { .. } | Self::Ended => false,
        }
    }

    /// What to do about it; `None` if the message says everything.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Source(error) => Some(error.hint()),
            Self::Refused { .. } | Self::NotOneValue { .. } | Self::Ended => None,
        }
    }

    /// The error of a query that must give one value and gave this many columns and rows.
    pub(crate) fn not_one(columns: usize, rows: usize) -> Self {
        Self::NotOneValue { given: format!("{columns} columns and {rows} rows") }
    }
}
