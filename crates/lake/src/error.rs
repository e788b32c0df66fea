//! Why a history could not be written as Parquet.

use std::path::PathBuf;

use iostall_store::StoreError;
use parquet::errors::ParquetError;
use thiserror::Error;

/// See the module. The text says what and where; [`ExportError::hint`] says what next.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ExportError {
    /// There is no store to read: opening one would make it.
    #[error("there is no store at {path}", path = path.display())]
    NoStore {
        /// Where it should be.
        path: PathBuf,
    },
    /// The store could not be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A file is there already, and was left as it is.
    #[error("{path} is there already", path = path.display())]
    Exists {
        /// Which file.
        path: PathBuf,
    },
    /// A file or its directory could not be made.
    #[error("cannot make {path}: {source}", path = path.display())]
    Create {
        /// Which one.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A file could not be written to its end; nothing stands under its name.
    #[error("cannot write {path}: {source}", path = path.display())]
    Write {
        /// Which file.
        path: PathBuf,
        /// What went wrong.
        source: ParquetError,
    },
}

impl ExportError {
    /// What to do about it; `None` where the message says all there is.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::NoStore { .. } => Some("`iostall collect run` makes one; name another as STORE".into()),
            Self::Store(error) => error.hint(),
            Self::Exists { .. } => {
                Some("nothing was changed; name another directory, or move it away".into())
            }
            Self::Create { .. } | Self::Write { .. } => {
                Some("see whether the directory can be written to and has room".into())
            }
        }
    }
}
