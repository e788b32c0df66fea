//! Tries files again that failed for a reason that may pass.

use iostall_engine::files::{self, FileKind};

use super::entry::{Action, Entry, Location};
use super::error::CopyError;
use super::log::{CopyFailure, CopyLog, Recorded};

/// Takes the files to try again out of the failures after the first `at_start`, which are of the plan and of
/// its directories.
pub(super) fn take_failed(log: &mut CopyLog, at_start: usize) -> Vec<CopyFailure> {
    let failures = log.failures.split_off(at_start.min(log.failures.len()));
    let (may_pass, lasting): (Vec<_>, Vec<_>) =
        failures.into_iter().partition(|failure| failure.error.may_pass());
    log.failures.extend(lasting);
    for failure in &may_pass {
        log.record(Recorded::Retried(failure.error.to_string()), &failure.source, 0);
    }
    may_pass
}

/// The file as it is now: it may have been written to since the plan was made.
pub(super) fn as_it_is_now(failure: &CopyFailure) -> Result<Entry, CopyError> {
    let CopyFailure { source, target, .. } = failure;
    let stat = files::stamp_of_path(source).map_err(CopyError::system("open", source))?;
    if stat.kind != FileKind::Regular {
        let how = "something that is no file has taken its name";
        return Err(CopyError::SourceChanged { path: source.clone(), how, kept: false });
    }
    Ok(Entry::new(Location::of_root(source, target), &stat, Action::File))
}
