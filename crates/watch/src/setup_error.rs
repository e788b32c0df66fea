//! Why a collector's file cannot be used.

use std::path::PathBuf;

use iostall_engine::InputError;
use iostall_notify::AlertFileError;
use thiserror::Error;

/// See the module. The text says what and where; [`SetupError::hint`] says what next.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SetupError {
    /// It cannot be read.
    #[error(transparent)]
    Read(#[from] InputError),
    /// It is not TOML, or has a key that means nothing.
    #[error("{path} is no collector's file: {reason}", path = path.display())]
    Form {
        /// Which file.
        path: PathBuf,
        /// What the reader said, with the line.
        reason: String,
    },
    /// Something in it cannot be.
    #[error("{path}: {place}: {reason}", path = path.display())]
    Value {
        /// Which file.
        path: PathBuf,
        /// Which source or job.
        place: String,
        /// What is wrong, and what to write.
        reason: String,
    },
    /// The alerts in it, or those that it names, cannot be used.
    #[error(transparent)]
    Alerts(#[from] AlertFileError),
}

impl SetupError {
    /// What to do about it.
    pub fn hint(&self) -> String {
        match self {
            Self::Read(error) => error.hint().unwrap_or_else(|| "docs/watch.md explains the file".into()),
            Self::Form { .. } | Self::Value { .. } => {
                "docs/watch.md explains the file; `iostall collect check FILE` reads it".into()
            }
            Self::Alerts(_) => "docs/alerts.md explains rules and channels".into(),
        }
    }
}
