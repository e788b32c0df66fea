//! Why a question about a history has no answer, or sources cannot be watched.

use std::path::PathBuf;

use iostall_collect::SourceError;
use iostall_notify::AlertFileError;
use iostall_store::StoreError;
use jiff::Timestamp;
use thiserror::Error;

use crate::windows::SourceHistory;

/// See the module. The text says what and where; [`WatchError::hint`] says what next.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum WatchError {
    /// The store cannot be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A source cannot be opened or read.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// The file of alerts cannot be used.
    #[error(transparent)]
    Alerts(#[from] AlertFileError),
    /// What is in both windows would hide a change.
    #[error(
        "the windows overlap: {:.0} to {:.0}, and {:.0} to {:.0}",
        before.0, before.1, after.0, after.1
    )]
    Overlap {
        /// Beginning and end of the first.
        before: (Timestamp, Timestamp),
        /// Beginning and end of the second.
        after: (Timestamp, Timestamp),
    },
    /// There is no number.
    #[error("nothing was sampled between {from:.0} and {to:.0} that this report shows")]
    NothingSampled {
        /// Beginning of the window.
        from: Timestamp,
        /// Its end.
        to: Timestamp,
        /// The sources that were asked and did not answer.
        sources: Vec<SourceHistory>,
    },
    /// No collector writes to the store.
    #[error("nothing was sampled into {} within the hour", store.display())]
    NothingWatched {
        /// The store.
        store: PathBuf,
    },
    /// The thread that samples has ended.
    #[error("nothing is sampled any more")]
    SamplingEnded,
}

impl WatchError {
    /// What to do about it; `None` where the message says all there is.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Store(error) => return error.hint(),
            Self::Source(error) => return Some(error.hint()),
            Self::Alerts(_) => "docs/alerts.md explains the file; `iostall alerts check` reads it",
            Self::Overlap { .. } => "end the first where the change was made, and begin the second after it",
            Self::NothingSampled { .. } => {
                "`iostall collect run` samples; two samples make the first interval"
            }
            Self::NothingWatched { .. } => {
                "name a SOURCE, such as linux:, or let `iostall collect run` sample some"
            }
            Self::SamplingEnded => return None,
        };
        Some(hint.to_owned())
    }
}
