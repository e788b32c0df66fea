//! Continues an interrupted qualification, and stores one while it goes on.

use std::path::Path;

use iostall_measure::clock::utc_now;
use iostall_measure::{Clock, RunClock};
use iostall_model::qualify::QualifyPlan;
use iostall_model::{QualifyOutcome, Run};
use iostall_store::Store;
use thiserror::Error;

use crate::error::{SessionError, UseCaseError};
use crate::event::Event;
use crate::past::{Earlier, Subject};
use crate::session::Session;

/// A run is stored again after this time at most, if a part of it is over.
const PAUSE_NS: u64 = 10_000_000_000;

#[derive(Debug, Error)]
#[error("{target} is not there: a new file has another past than the one that was qualified")]
struct Gone {
    target: String,
}

/// The newest one of `target` with `plan`, which must not be complete.
pub(super) fn newest(
    store: &dyn Store,
    plan: &QualifyPlan,
    target: &Path,
    session: &Session<'_>,
) -> Result<Earlier<QualifyOutcome>, SessionError> {
    let fits = |outcome: &QualifyOutcome| (outcome.plan == *plan).then(|| outcome.clone());
    let subject = Subject::new(session, &[target.to_owned()]);
    subject.to_resume(store, ("qualify", "qualification"), fits, |earlier| !earlier.run.interrupted)
}

/// Refuses to continue on a file that is no longer there, before it is made.
pub(super) fn check_there(target: &Path) -> Result<(), SessionError> {
    let there = target.symlink_metadata();
    let is_gone = there.is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound);
    if !is_gone {
        return Ok(());
    }
    let hint = "leave out --resume to make it, and to qualify it from the start";
    let gone = Gone { target: target.display().to_string() };
    Err(SessionError::OfUseCase(UseCaseError::new(gone, Some(hint.to_owned()))))
}

/// Time since it ended, nanoseconds.
pub(super) fn idle_ns(earlier: &Run) -> u64 {
    u64::try_from(utc_now().duration_since(earlier.ended_utc).as_nanos()).unwrap_or(0)
}

/// Stores a run while it goes on, so that a machine that dies costs the part in progress and no more.
pub(crate) struct Checkpoints<'a> {
    store: Option<&'a mut dyn Store>,
    clock: RunClock,
    last_ns: u64,
}

impl<'a> Checkpoints<'a> {
    pub(crate) fn new(store: Option<&'a mut dyn Store>, clock: RunClock) -> Self {
        let last_ns = clock.now_ns();
        Self { store, clock, last_ns }
    }

    /// Stores what `run` makes, unless that was done a short time ago and is not `due` anyway. Where it fails, it is not tried again:
    /// the run is stored at its end.
    pub(crate) fn store(&mut self, is_due: bool, session: &Session<'_>, run: impl FnOnce() -> Run) {
        let now_ns = self.clock.now_ns();
        if !is_due && now_ns.saturating_sub(self.last_ns) < PAUSE_NS {
            return;
        }
        let Some(store) = &mut self.store else { return };
        if let Err(error) = store.keep(&run()) {
            let message = format!(
                "what is done so far could not be stored ({error}): should it be killed, that is lost"
            );
            session.observer().on(&Event::MayNotFit { message: &message });
            self.store = None;
        }
        self.last_ns = self.clock.now_ns();
    }
}
