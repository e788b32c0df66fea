//! How a command ends: its exit status, and errors that say what to do next.

use std::fmt;
use std::process::ExitCode;

use iostall_engine::InputError;

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

/// An input that was not read, with what to do where that is known.
pub(crate) fn unread(error: InputError) -> anyhow::Error {
    match error.hint() {
        Some(hint) => hinted(error, hint),
        None => error.into(),
    }
}

/// `error` with `hint` under it.
pub(crate) fn hinted(error: impl Into<anyhow::Error>, hint: impl Into<String>) -> anyhow::Error {
    anyhow::Error::new(Hinted { error: error.into(), hint: hint.into() })
}
