//! Why a history could not be exported as Parquet, and why days could not be moved to the lake.

use std::path::PathBuf;

use iostall_connect::{AddressError, SourceError};
use iostall_measure::hinted;
use iostall_store::{LakeDay, StoreError};
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

hinted! {
    /// See the module. The message says what and where; [`MoveError::hint`] what to do next. Whatever it says, no day left the repository that
    /// is not in the lake.
    #[derive(Debug, Error)]
    #[non_exhaustive]
    pub enum MoveError {
        #[error(transparent)]
        Address(#[from] error: AddressError) => "write postgres://USER@HOST/DATABASE, as for `iostall fleet`",
        #[error(transparent)]
        Password(#[from] error: SourceError),
        #[error("the URL asks for a password, and this program does not")]
        NoPassword => "add ?password-file=FILE or ?password-env=VARIABLE to the URL",
        #[error(transparent)]
        Store(#[from] error: StoreError) => error.hint(),
        #[error("another iostall-lake moves days out of this repository")]
        Held => "wait until it is done, or end it: what it has begun is repeated by the next one",
        #[error("{place:?} is no place for a lake")]
        BadPlace { place: String }
            => "name a directory without ?, #, % and \\ in its name, or s3://BUCKET/PREFIX",
        #[error("cannot use {place}: {source}")]
        Place { place: String, source: std::io::Error } => iostall_remote::hint(source)
            .unwrap_or("check that it is writable and has space, then run the same line again"),
        #[error("cannot write {address}: {source}")]
        Parquet { address: String, source: ParquetError }
            => "the day stays in the repository; check the disk, then run the same line again",
        #[error("{address} was read back and is wrong: {what}")]
        Differs { address: String, what: String }
            => "the day stays in the repository; check the disk, then run the same line again",
        #[error("the table {table} of the lake lies in {found}, not in {place}")]
        Elsewhere { table: &'static str, found: String, place: String }
            => "name that place with --to: a lake has one",
        #[error("cannot read the metadata of the lake at {address}: {what}")]
        Metadata { address: String, what: String }
            => "the day stays in the repository; check who else writes these tables",
        #[error("{day} changed each time it was moved")]
        Restless { day: LakeDay }
            => "a server sends old samples: run the same line again when it is done, or name a larger --older-than",
    }
}
