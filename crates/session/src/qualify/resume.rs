//! Continues an interrupted qualification, and stores one while it goes on.

use std::path::Path;

use iostall_measure::clock::utc_now;
use iostall_measure::platform::Target;
use iostall_measure::{ByteCount, Clock, RunClock};
use iostall_model::qualify::QualifyPlan;
use iostall_model::{QualifyOutcome, Run};
use iostall_store::{Filter, Selector, Store};
use thiserror::Error;

use crate::error::{SessionError, UseCaseError};
use crate::event::Event;
use crate::session::Session;

/// How many of the newest qualifications are searched for one to continue.
const LOOK_BACK: u32 = 100;
/// A run is stored again after this time at most, if a part of it is over.
const PAUSE_NS: u64 = 10_000_000_000;

#[derive(Debug, Error)]
enum ResumeError {
    #[error("there is no interrupted qualification of {target} with these settings to continue")]
    Nothing { target: String },
    #[error("the newest qualification of {target} with these settings, run {number}, is complete")]
    Complete { target: String, number: u32 },
    #[error("{target} is not there: a new file has another past than the one that was qualified")]
    Gone { target: String },
    #[error("run {number} cannot be continued: the {what} was {then} and is {now}")]
    Differs { number: u32, what: &'static str, then: String, now: String },
}

impl From<ResumeError> for SessionError {
    fn from(error: ResumeError) -> Self {
        let hint = "`iostall runs` lists the stored runs; leave out --resume to start a new one";
        Self::OfUseCase(UseCaseError::new(error, Some(hint.to_owned())))
    }
}

pub(super) struct Earlier {
    number: u32,
    run: Run,
    pub(super) outcome: QualifyOutcome,
}

/// The newest one of `target` with `plan`, which must not be complete.
pub(super) fn newest(store: &dyn Store, plan: &QualifyPlan, target: &Path) -> Result<Earlier, SessionError> {
    let shown = || target.display().to_string();
    let filter = Filter { kind: Some("qualify".to_owned()), limit: Some(LOOK_BACK), ..Filter::default() };
    for entry in store.list(&filter)? {
        let run = store.get(&Selector::Number(entry.number.0))?.run;
        let is_same = run.targets.iter().map(|target| target.path.as_path()).eq([target]);
        let outcome = run.body.as_kind::<QualifyOutcome>().filter(|outcome| is_same && outcome.plan == *plan);
        let Some(outcome) = outcome.cloned() else { continue };
        let number = entry.number.0;
        if !run.interrupted {
            return Err(ResumeError::Complete { target: shown(), number }.into());
        }
        return Ok(Earlier { number, run, outcome });
    }
    Err(ResumeError::Nothing { target: shown() }.into())
}

/// Refuses to continue on a file that is no longer there, before it is made.
pub(super) fn check_there(target: &Path) -> Result<(), SessionError> {
    let there = target.symlink_metadata();
    let is_gone = there.is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound);
    if is_gone { Err(ResumeError::Gone { target: target.display().to_string() }.into()) } else { Ok(()) }
}

impl Earlier {
    /// Refuses to put rounds of another machine, or of a target of another size, into one series with new ones.
    pub(super) fn check(&self, hostname: &str, target: Option<&Target>) -> Result<(), SessionError> {
        let number = self.number;
        let then = &self.run.host.hostname;
        if then != hostname {
            let (then, now) = (then.clone(), hostname.to_owned());
            return Err(ResumeError::Differs { number, what: "machine", then, now }.into());
        }
        let sizes = self.run.targets.first().zip(target).map(|(then, now)| (then.size_bytes, now.size_bytes));
        if let Some((then, now)) = sizes.filter(|(then, now)| then != now) {
            let (then, now) = (ByteCount(then).to_string(), ByteCount(now).to_string());
            return Err(ResumeError::Differs { number, what: "size of the target", then, now }.into());
        }
        Ok(())
    }

    /// Refuses to mix the rounds of two engines.
    pub(super) fn check_engine(&self, name: &str) -> Result<(), SessionError> {
        let (number, then) = (self.number, &self.outcome.engine.name);
        if then.is_empty() || then == name {
            return Ok(());
        }
        let (then, now) = (then.clone(), name.to_owned());
        Err(ResumeError::Differs { number, what: "engine", then, now }.into())
    }

    /// Time since it ended, nanoseconds.
    pub(super) fn idle_ns(&self) -> u64 {
        let since = utc_now().duration_since(self.run.ended_utc).as_nanos();
        u64::try_from(since).unwrap_or(0)
    }

    pub(super) fn id(&self) -> iostall_model::RunId {
        self.run.id
    }
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
