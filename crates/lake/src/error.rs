//! Why a history could not be exported as Parquet.

use std::path::PathBuf;

use iostall_measure::hinted;
use iostall_store::StoreError;
use parquet::errors::ParquetError;
use thiserror::Error;

hinted! {
    /// See the module. The message says what and where; [`ExportError::hint`] what to do next.
    #[derive(Debug, Error)]
    #[non_exhaustive]
    pub enum ExportError {
        /// Opening a missing store would create it.
        #[error("there is no store at {path}", path = path.display())]
        NoStore { path: PathBuf } => "`iostall collect run` makes one; name another as STORE",
        #[error(transparent)]
        Store(#[from] error: StoreError) => error.hint(),
        #[error("{path} already exists", path = path.display())]
        Exists { path: PathBuf } => "nothing was changed; name another directory, or move it away",
        #[error("cannot make {path}: {source}", path = path.display())]
        Create { path: PathBuf, source: std::io::Error }
            => "check that the directory is writable and has space",
        /// The file was not completed, and its name is not used.
        #[error("cannot write {path}: {source}", path = path.display())]
        Write { path: PathBuf, source: ParquetError } => "check that the directory is writable and has space",
    }
}
