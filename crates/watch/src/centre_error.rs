//! Errors between a server of a fleet and its centre.

use std::io;
use std::path::PathBuf;

use iostall_engine::InputError;
use iostall_model::RunNumber;
use iostall_store::WireError;
use thiserror::Error;

use crate::centre_protocol::code;

pub(crate) const CODE_FILE_NAME: &str = "file of the code";

#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CentreError {
    /// There is no answer, or the address is none.
    #[error(transparent)]
    Network(#[from] io::Error),
    #[error("the centre at {address} refused: {reason}")]
    Refused { address: String, code: String, reason: String },
    #[error("the answer of {address} is none of a centre")]
    NotUnderstood { address: String },
    #[error("this store has not joined {address}")]
    NotJoined { address: String },
    #[error(transparent)]
    Read(#[from] InputError),
    #[error("{} is no one-time code", path.display())]
    NoCode { path: PathBuf },
    #[error("{named:?} is no fingerprint of a certificate")]
    Fingerprint { named: String },
    #[error("cannot write {}: {source}", path.display())]
    Write { path: PathBuf, source: io::Error },
    #[error("{} is no file of iostall's: {reason}", path.display())]
    Damaged { path: PathBuf, reason: String },
    #[error("a batch cannot be sent: {0}")]
    Batch(#[from] WireError),
    #[error("run {number} cannot be sent: {reason}")]
    Run { number: RunNumber, reason: String },
    #[error("the system has no random numbers: {0}")]
    Random(io::Error),
}

impl CentreError {
    /// Whether the same may succeed later, without anybody's help.
    pub fn may_pass(&self) -> bool {
        match self {
            Self::Network(_) => true,
            Self::Refused { code, .. } => [code::SLOW_DOWN, code::UNAVAILABLE].contains(&code.as_str()),
            _ => false,
        }
    }

    pub(crate) fn is(&self, wanted: &str) -> bool {
        matches!(self, Self::Refused { code, .. } if code == wanted)
    }

    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Network(error) => iostall_remote::hint(error)?,
            Self::Refused { code, .. } => of_code(code)?,
            Self::NotUnderstood { .. } => "write the address where `iostall fleet serve` listens",
            Self::NotJoined { .. } => {
                "let an operator run `iostall fleet code` at the centre, and run `iostall fleet join` here with that code"
            }
            Self::Read(InputError::System { what: CODE_FILE_NAME, .. }) => {
                "`iostall fleet code` at the centre prints a code: put it into that file, which only its owner can read (mode 600)"
            }
            Self::Read(error) => return error.hint(),
            Self::NoCode { .. } => {
                "put the code that `iostall fleet code` prints into the file, and nothing else"
            }
            Self::Fingerprint { .. } => {
                "write what `iostall fleet serve` shows when it starts: sha256: and 64 digits"
            }
            Self::Damaged { .. } => "move it aside, and join the centre again with a new code",
            Self::Write { .. } | Self::Batch(_) | Self::Run { .. } | Self::Random(_) => return None,
        };
        Some(hint.to_owned())
    }
}

fn of_code(refusal: &str) -> Option<&'static str> {
    let hint = match refusal {
        code::NO_SUCH_CODE | code::CODE_EXPIRED | code::CODE_USED => {
            "let an operator make another one with `iostall fleet code` at the centre"
        }
        code::KNOWN_AS => {
            "this store has joined before: let an operator make a code for that name, with `iostall fleet code --for NAME`"
        }
        code::NAME_TAKEN => {
            "let an operator make a code with the name that this server is to have: `iostall fleet code --for NAME` at the centre"
        }
        code::QUOTA => {
            "send less: `--database` and `--without-catalogs` of `iostall collect run` leave things out; what was not taken stays \
             in this store"
        }
        code::UNKNOWN_KEY => {
            "the centre does not know this server any more, or was restored from a backup: let an operator run `iostall fleet code` \
             there, and join again; nothing was removed from this store"
        }
        code::REVOKED => {
            "it is no longer part of the fleet; `iostall fleet code --for NAME` at the centre takes it back"
        }
        code::COPIED => {
            "this machine or its store is a copy of another. On the copy, move the store aside and join with a new code; on the \
             original, join again with a code for its name (`iostall fleet code --for NAME` at the centre)"
        }
        code::CLOCK => {
            "set the clock of this machine; samples that were taken with a wrong one are removed with their source by `iostall \
             store remove`"
        }
        _ => return None,
    };
    Some(hint)
}
