//! How a command ends: its exit status, and errors with hints.

use std::fmt;
use std::io;
use std::process::ExitCode;

use iostall_diskspd::CommandLineError;
use iostall_diskspd::report::AskedError;
use iostall_load::resource_limits::ResourceError;
use iostall_session::SessionError;
use iostall_session::backup::sqlserver::SqlServerBackupError;
use iostall_session::diskspd::DiskspdTargetError;
use iostall_session::output::OutputError;
use iostall_session::paced::PaceError;
use iostall_session::run_writer::NotKept;
use iostall_store::StoreError;
use iostall_watch::WatchError;

const TOO_LARGE: &str = "`ulimit -f` shows whether the shell limits the size of files, and `ulimit -f unlimited` removes that limit; otherwise the file system has one, such as 4 GiB on FAT";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    Done,
    /// Done, but with a negative result: requests failed, a threshold was missed, or a check did not match.
    No,
    CouldNot,
    /// Interrupted; what was measured so far is kept.
    Interrupted,
    /// The same as could not, for PostgreSQL's restore_command: up to 125 it goes on with a recovery.
    StopRecovery,
}

impl From<Status> for ExitCode {
    fn from(status: Status) -> Self {
        Self::from(match status {
            Status::Done => 0,
            Status::No => 1,
            Status::CouldNot => 2,
            Status::Interrupted => 130,
            Status::StopRecovery => 200,
        })
    }
}

#[derive(Debug)]
struct Hinted {
    error: anyhow::Error,
    hint: String,
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

/// Whether a command was interrupted before there was anything to keep.
pub(crate) fn is_interrupted(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref::<SessionError>(), Some(SessionError::Interrupted))
}

/// The hint for `error`: its own, or the standard one for its cause.
pub(crate) fn hint_of(error: &anyhow::Error) -> Option<String> {
    if let Some(hinted) = error.downcast_ref::<Hinted>() {
        return Some(hinted.hint.clone());
    }
    let causes = || error.chain().filter_map(|cause| cause.downcast_ref::<io::Error>());
    let is_too_large = |cause: &io::Error| cause.kind() == io::ErrorKind::FileTooLarge;
    let too_large = || causes().any(is_too_large).then(|| TOO_LARGE.to_owned());
    if let Some(hint) = causes().find_map(iostall_remote::hint) {
        return Some(hint.to_owned());
    }
    error
        .downcast_ref()
        .and_then(SessionError::hint)
        .or_else(|| error.downcast_ref().and_then(WatchError::hint))
        .or_else(|| error.downcast_ref().and_then(StoreError::hint))
        .or_else(|| error.downcast_ref().and_then(OutputError::hint))
        .or_else(|| error.downcast_ref().map(SqlServerBackupError::hint))
        .or_else(|| error.downcast_ref().map(NotKept::hint))
        .or_else(|| error.downcast_ref().map(PaceError::hint))
        .or_else(|| error.downcast_ref().and_then(DiskspdTargetError::hint))
        .or_else(|| error.downcast_ref().and_then(CommandLineError::hint).map(str::to_owned))
        .or_else(|| error.downcast_ref().map(AskedError::hint).map(str::to_owned))
        .or_else(|| error.downcast_ref().map(ResourceError::hint).map(str::to_owned))
        .or_else(too_large)
}

pub(crate) fn hinted(error: impl Into<anyhow::Error>, hint: impl Into<String>) -> anyhow::Error {
    anyhow::Error::new(Hinted { error: error.into(), hint: hint.into() })
}
