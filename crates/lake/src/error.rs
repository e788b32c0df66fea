//! Why a history could not be exported as Parquet.

use std::path::PathBuf;

use iostall_store::StoreError;
use parquet::errors::ParquetError;
use thiserror::Error;

/// See the module. The message says what and where; [`ExportError::hint`] what to do next.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ExportError {
    /// Opening a missing store would create it.
    #[error("there is no store at {path}", path = path.display())]
    NoStore { path: PathBuf },
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("{path} already exists", path = path.display())]
    Exists { path: PathBuf },
    #[error("cannot make {path}: {source}", path = path.display())]
    Create { path: PathBuf, source: std::io::Error },
    /// The file was not completed, and its name is not used.
    #[error("cannot write {path}: {source}", path = path.display())]
    Write { path: PathBuf, source: ParquetError },
}

impl ExportError {
    /// What to do about it; `None` if the message says everything.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::NoStore { .. } => Some("`iostall collect run` makes one; name another as STORE".into()),
            Self::Store(error) => error.hint(),
            Self::Exists { .. } => {
                Some("nothing was changed; name another directory, or move it away".into())
            }
            Self::Create { .. } | Self::Write { .. } => {
                Some("check that the directory is writable and has space".into())
            }
        }
    }
}
