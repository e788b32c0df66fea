//! Why days could not be moved to the lake.

use iostall_connect::{AddressError, SourceError};
use iostall_store::{LakeDay, StoreError};
use parquet::errors::ParquetError;
use thiserror::Error;

/// See the module. The message says what and where; [`MoveError::hint`] what to do next. Whatever it says, no day left the repository that
/// is not in the lake.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum MoveError {
    #[error(transparent)]
    Address(#[from] AddressError),
    #[error(transparent)]
    Password(#[from] SourceError),
    #[error("the URL asks for a password, and this program does not")]
    NoPassword,
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("another iostall-lake moves days out of this repository")]
    Held,
    #[error("{place:?} is no place for a lake")]
    BadPlace { place: String },
    #[error("cannot use {place}: {source}")]
    Place { place: String, source: std::io::Error },
    #[error("cannot write {address}: {source}")]
    Parquet { address: String, source: ParquetError },
    #[error("{address} was read back and is wrong: {what}")]
    Differs { address: String, what: String },
    #[error("the table {table} of the lake lies in {found}, not in {place}")]
    Elsewhere { table: &'static str, found: String, place: String },
    #[error("cannot read the metadata of the lake at {address}: {what}")]
    Metadata { address: String, what: String },
    #[error("{day} changed each time it was moved")]
    Restless { day: LakeDay },
}

impl MoveError {
    /// What to do about it; `None` if the message says everything.
    pub fn hint(&self) -> Option<String> {
        let text = match self {
            Self::Store(error) => return error.hint(),
            Self::Address(_) => "write postgres://USER@HOST/DATABASE, as for `iostall fleet`",
            Self::NoPassword => "add ?password-file=FILE or ?password-env=VARIABLE to the URL",
            Self::Held => "wait until it is done, or end it: what it has begun is repeated by the next one",
            Self::BadPlace { .. } => {
                "name a directory without ?, #, % and \\ in its name, or s3://BUCKET/PREFIX"
            }
            Self::Place { source, .. } => iostall_remote::hint(source)
                .unwrap_or("check that it is writable and has space, then run the same line again"),
            Self::Parquet { .. } | Self::Differs { .. } => {
                "the day stays in the repository; check the disk, then run the same line again"
            }
            Self::Elsewhere { .. } => "name that place with --to: a lake has one",
            Self::Metadata { .. } => "the day stays in the repository; check who else writes these tables",
            Self::Restless { .. } => {
                "a server sends old samples: run the same line again when it is done, or name a larger --older-than"
            }
            Self::Password(_) => return None,
        };
        Some(text.to_owned())
    }
}
