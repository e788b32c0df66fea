//! Errors of releases, and of servers that apply them.

use std::io;
use std::path::PathBuf;

use iostall_engine::InputError;
use jiff::Timestamp;
use thiserror::Error;

#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReleaseError {
    #[error(transparent)]
    Read(#[from] InputError),
    #[error("cannot write {}: {source}", path.display())]
    Write { path: PathBuf, source: io::Error },
    #[error("cannot read {}: {source}", path.display())]
    System { path: PathBuf, source: io::Error },
    #[error("the system has no random numbers: {0}")]
    Random(io::Error),
    #[error("the library for signatures failed")]
    Library,
    #[error("{} is no key that signs", path.display())]
    Key { path: PathBuf },
    #[error("{named:?} is no public key")]
    PublicKey { named: String },
    #[error("{} cannot be in a release: {reason}", path.display())]
    Source { path: PathBuf, reason: String },
    #[error("{} has no objects", path.display())]
    Empty { path: PathBuf },
    /// The file is none, or damaged.
    #[error("this is no release and no permit to undo one: {0}")]
    Form(String),
    #[error("it is signed with {key}, which is none of the keys of {place}")]
    UnknownKey { key: String, place: String },
    #[error("its signature with {key} does not hold: it was changed, or that key never signed it")]
    Signature { key: String },
    #[error("object {object} is not the one that was signed")]
    Altered { object: String },
    #[error("it expired at {expired:.0}")]
    Expired { expired: Timestamp },
    #[error("it was signed at {made:.0}, which is in the future")]
    FromFuture { made: Timestamp },
    #[error("release {version} is not newer than {highest}, the highest that was applied here")]
    NotNewer { version: u64, highest: u64 },
    #[error("release {version} is older than {lowest}, the lowest that the policy takes")]
    TooOld { version: u64, lowest: u64 },
    #[error("another release {version} was applied here before")]
    OtherRelease { version: u64 },
    #[error("the policy {} does not allow {object}: {reason}", policy.display())]
    Forbidden { policy: PathBuf, object: String, reason: String },
    #[error("object {object} is invalid: {reason}")]
    Object { object: String, reason: String },
    #[error("the policy {} is invalid: {reason}", path.display())]
    Policy { path: PathBuf, reason: String },
    #[error("{} is not replaced: {reason}", path.display())]
    Place { path: PathBuf, reason: String },
    #[error("{} is not written: another account can change what is in {}", path.display(), directory.display())]
    OpenPlace { path: PathBuf, directory: PathBuf },
    #[error("an agent that a centre tells what to write does not run as root")]
    Root,
    #[error("{} is no state of an agent: {reason}", path.display())]
    State { path: PathBuf, reason: String },
    #[error("another agent works with {}", path.display())]
    Locked { path: PathBuf },
    #[error("release {version} is not the last one that was applied here")]
    NothingToUndo { version: u64 },
    /// The record of it stays, and with it the agent does nothing else.
    #[error("what was begun could neither be finished nor put back: {reason}")]
    Pending { reason: String },
    #[error("{reason}; everything is as it was before")]
    PutBack { reason: String },
    /// It was tried, and something stopped in between.
    #[error("{} was changed by somebody while a release was applied, and is left as it is", path.display())]
    Interfered { path: PathBuf },
}

impl ReleaseError {
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Read(error) => return error.hint(),
            Self::Key { .. } => "`iostall fleet release keygen FILE` makes one",
            Self::PublicKey { .. } => {
                "write what `iostall fleet release keygen` shows: ed25519: and 64 digits"
            }
            Self::Source { .. } | Self::Empty { .. } => {
                "put objects into settings/, profile/ and alerts/ of that directory; docs/push.md explains it"
            }
            Self::Form(_) => {
                "`iostall fleet release make` makes a release, `iostall fleet release undo` a permit"
            }
            Self::UnknownKey { .. } => {
                "nothing was changed; if the key is one of yours, add it to the policy by hand"
            }
            Self::Signature { .. } | Self::Altered { .. } => {
                "nothing was changed; get the file from who signed it once more"
            }
            Self::Expired { .. } | Self::NotNewer { .. } | Self::OtherRelease { .. } => {
                "nothing was changed; sign a new release with a higher version: `iostall fleet release make`"
            }
            Self::FromFuture { .. } => {
                "nothing was changed; compare the clocks of this machine and of the one that signed"
            }
            Self::Forbidden { .. } | Self::TooOld { .. } => {
                "nothing was changed; only who owns this machine changes its policy, by hand; docs/push.md explains it"
            }
            Self::Policy { .. } => "docs/push.md explains the file",
            Self::Place { .. } => "nothing was changed; name the file itself in the policy, or move it aside",
            Self::OpenPlace { .. } => {
                "nothing was changed; the directory and those above it must belong to root or to the account of the agent, and be \
                 writable for no other (chmod go-w): else that account decides what is replaced"
            }
            Self::Root => {
                "give it an account of its own, to which the directories of its policy belong (User= in its unit); \
                 `iostall fleet release apply` applies a release by hand"
            }
            Self::State { .. } => "move it aside: the agent begins again, and knows no earlier release then",
            Self::NothingToUndo { .. } => {
                "nothing was changed; `iostall fleet release make` with the earlier objects makes a newer release"
            }
            Self::Interfered { .. } => "look at it, and apply the release again",
            Self::Pending { .. } => "it is tried again each time: let it do what the message says",
            Self::Write { .. }
            | Self::System { .. }
            | Self::Random(_)
            | Self::Library
            | Self::Object { .. }
            | Self::Locked { .. }
            | Self::PutBack { .. } => return None,
        };
        Some(hint.to_owned())
    }

    /// Whether the agent refused what came to it, and tried nothing.
    pub fn is_refusal(&self) -> bool {
        matches!(
            self,
            Self::Form(_)
                | Self::UnknownKey { .. }
                | Self::Signature { .. }
                | Self::Altered { .. }
                | Self::Expired { .. }
                | Self::FromFuture { .. }
                | Self::NotNewer { .. }
                | Self::TooOld { .. }
                | Self::OtherRelease { .. }
                | Self::Forbidden { .. }
                | Self::Object { .. }
                | Self::Place { .. }
                | Self::OpenPlace { .. }
                | Self::NothingToUndo { .. }
        )
    }
}
