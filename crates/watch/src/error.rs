//! Why a question about a history has no answer, or sources cannot be watched.

use std::io;
use std::path::PathBuf;

use iostall_collect::{AddressError, SourceError};
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
    /// What was typed is no source.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// Two names of one source.
    #[error("{name} is named twice: its samples would mix")]
    NamedTwice {
        /// The source.
        name: String,
    },
    /// Nobody can be asked for a password.
    #[error("there is no terminal to ask for the password of {name}")]
    NoTerminal {
        /// The source.
        name: String,
    },
    /// The terminal failed when a password was asked for.
    #[error("cannot read from the terminal")]
    Terminal(#[source] io::Error),
    /// A source that nothing can be imported from.
    #[error("{named} is no management database")]
    NoManagementDatabase {
        /// As it was typed.
        named: String,
    },
    /// No rule has this name.
    #[error("there is no rule {name:?}")]
    NoRule {
        /// The name.
        name: String,
        /// Those there are.
        known: Vec<String>,
    },
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
            Self::Address(error) => return Some(error.hint()),
            Self::NamedTwice { .. } => "name each source once; databases are chosen with --database",
            Self::NoTerminal { .. } => "put it in a file and write ?password-file=PATH",
            Self::NoManagementDatabase { .. } => {
                "write sqlserver://USER@HOST/DATABASE; tsql/README.md says how to make one"
            }
            Self::NoRule { known, .. } => {
                let known: Vec<String> = known.iter().map(|name| format!("{name:?}")).collect();
                return Some(format!("the rules are {}", known.join(", ")));
            }
            Self::Alerts(_) => "docs/alerts.md explains the file; `iostall alerts check` reads it",
            Self::Overlap { .. } => "end the first where the change was made, and begin the second after it",
            Self::NothingSampled { .. } => {
                "`iostall collect run` samples; two samples make the first interval"
            }
            Self::NothingWatched { .. } => {
                "name a SOURCE, such as linux:, or let `iostall collect run` sample some"
            }
            Self::Terminal(_) | Self::SamplingEnded => return None,
        };
        Some(hint.to_owned())
    }
}
