//! Errors in a collector's file.

use std::path::PathBuf;

use iostall_engine::InputError;
use iostall_notify::AlertFileError;
use thiserror::Error;

#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SetupError {
    #[error(transparent)]
    Read(#[from] InputError),
    /// Not TOML, or an unknown key.
    #[error("{path} is no collector's file: {reason}", path = path.display())]
    Form {
        path: PathBuf,
        /// The parser's message, with the line.
        reason: String,
    },
    #[error("{path}: {place}: {reason}", path = path.display())]
    Value {
        path: PathBuf,
        /// The source or job.
        place: String,
        /// What is wrong, and what to write instead.
        reason: String,
    },
    /// The receiver on the command line.
    #[error("cannot send samples: {0}")]
    Push(String),
    #[error(transparent)]
    Alerts(#[from] AlertFileError),
}

impl SetupError {
    pub fn hint(&self) -> String {
        match self {
            Self::Read(error) => error.hint().unwrap_or_else(|| "docs/watch.md explains the file".into()),
            Self::Form { .. } | Self::Value { .. } => {
                "docs/watch.md explains the file; `iostall collect check FILE` reads it".into()
            }
            Self::Push(_) => "docs/watch.md explains receivers of samples".into(),
            Self::Alerts(_) => "docs/alerts.md explains rules and channels".into(),
        }
    }
}
