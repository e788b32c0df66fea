//! How a command ends: its exit status, and errors that say what to do next.

use std::fmt;
use std::io;
use std::process::ExitCode;

use iostall_session::SessionError;
use iostall_watch::WatchError;

/// Where a file may not grow any further.
const TOO_LARGE: &str = "`ulimit -f` shows whether the shell limits the size of files, and `ulimit -f unlimited` lifts that; else the file system does, as \
     FAT at 4 GiB";

/// The exit status of every command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    /// Done.
    Done,
    /// Done, and the answer is no: requests failed, a threshold was missed, a check did not match.
    No,
    /// It could not be done.
    CouldNot,
    /// Interrupted; what was measured until then is kept.
    Interrupted,
}

impl From<Status> for ExitCode {
    fn from(status: Status) -> Self {
        Self::from(match status {
            Status::Done => 0,
            Status::No => 1,
            Status::CouldNot => 2,
            Status::Interrupted => 130,
        })
    }
}

/// An error with what the user can do about it.
#[derive(Debug)]
pub(crate) struct Hinted {
    error: anyhow::Error,
    pub(crate) hint: String,
}

impl fmt::Display for Hinted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl std::error::Error for Hinted {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.error.source()
    }
}

/// Whether a command was stopped before there was anything to keep.
pub(crate) fn is_interrupted(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref::<SessionError>(), Some(SessionError::Interrupted))
}

/// What to do about `error`: its own hint, or the one that its cause always has.
pub(crate) fn hint_of(error: &anyhow::Error) -> Option<String> {
    if let Some(hinted) = error.downcast_ref::<Hinted>() {
        return Some(hinted.hint.clone());
    }
    if let Some(hint) = error.downcast_ref::<SessionError>().and_then(SessionError::hint) {
        return Some(hint);
    }
    if let Some(hint) = error.downcast_ref::<WatchError>().and_then(WatchError::hint) {
        return Some(hint);
    }
    let kinds = error.chain().filter_map(|cause| Some(cause.downcast_ref::<io::Error>()?.kind()));
    kinds.into_iter().find(|kind| *kind == io::ErrorKind::FileTooLarge).map(|_| TOO_LARGE.to_owned())
}

/// `error` with `hint` under it.
pub(crate) fn hinted(error: impl Into<anyhow::Error>, hint: impl Into<String>) -> anyhow::Error {
    anyhow::Error::new(Hinted { error: error.into(), hint: hint.into() })
}
