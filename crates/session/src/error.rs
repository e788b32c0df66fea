//! Why a use case could not be carried out, and what the user can do about it.

use std::path::PathBuf;

use thiserror::Error;

/// Why a use case could not be carried out.
#[derive(Debug, Error)]
pub enum SessionError {
    /// Two names of one file or device.
    #[error("{} and {} are one and the same", one.display(), other.display())]
    NamedTwice {
        /// The name that came first.
        one: PathBuf,
        /// The one after it.
        other: PathBuf,
    },
}

impl SessionError {
    /// What the user can do about it, where there is something.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::NamedTwice { .. } => {
                Some("name it once, by one of its names (`stat` shows what both lead to)".to_owned())
            }
        }
    }
}
