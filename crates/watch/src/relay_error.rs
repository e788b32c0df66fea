//! Errors of a relay between servers and their centre.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// Why a relay could not be used. The message says what and where; [`RelayError::hint`] what to do next.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RelayError {
    #[error("{named:?} is no address of a relay")]
    Address { named: String },
    #[error("cannot {action} the relay {address}: {source}")]
    Place { action: &'static str, address: String, source: io::Error },
    #[error("this store has not joined through {address}")]
    NotJoined { address: String },
    #[error("{bytes} bytes of this store wait in {address}, and the centre takes none of them")]
    Full { address: String, bytes: u64 },
    #[error("the key for {address} in {} cannot be used", path.display())]
    Key { address: String, path: PathBuf },
    #[error("a certificate is for centres that are reached by https://, and not for {address}")]
    NoCertificate { address: String },
    #[error("the file that was to be put into {address} has more than {most} bytes")]
    TooLong { address: String, most: u64 },
    #[error("the library for signatures failed")]
    Library,
}

impl RelayError {
    /// Whether the same may succeed later, without anybody's help.
    pub(crate) fn may_pass(&self) -> bool {
        matches!(self, Self::Place { .. } | Self::Full { .. })
    }

    /// What to do about it; `None` if the message says everything.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Address { .. } => {
                "write dir:/DIRECTORY, or s3://BUCKET/PREFIX, az://CONTAINER/PREFIX or gs://BUCKET/PREFIX"
            }
            Self::Place { source, .. } => iostall_remote::hint(source)
                .unwrap_or("check that it is there, that it is mounted, and that this user may write to it"),
            Self::NotJoined { .. } => {
                "let an operator run `iostall fleet code` at the centre, and run `iostall fleet join` here with that code"
            }
            Self::Full { .. } => {
                "let the centre run `iostall fleet receive`, and see to it that what it puts there comes back here; nothing was removed \
                 from this store"
            }
            Self::Key { .. } => "join again with a new code",
            Self::NoCertificate { .. } => {
                "leave out --certificate: the one-time code authenticates the centre"
            }
            Self::TooLong { .. } | Self::Library => return None,
        };
        Some(hint.to_owned())
    }
}
