//! What is done before the rounds: the target is purged if that is wanted, and the active range is written in order, as often as
//! planned.

use iostall_engine::nvme::Erase;
use iostall_load::prepare::{PrepareError, write_pass};
use iostall_measure::Clock;
use iostall_model::RunBody;
use iostall_model::qualify::{Purge, Purged};

use super::Qualifier;
use crate::error::{SessionError, UseCaseError};
use crate::event::{Event, RunProgress};
use crate::session::Session;

/// What may have been in flight when a pass was interrupted, bytes: so much of it is written again.
const AGAIN_BYTES: u64 = 4 << 20;

impl Qualifier<'_, '_> {
    /// Purges before the first stage, and writes the active range in order as often as stage `index` wants it. An interruption leaves
    /// what was written so far.
    pub(super) fn precondition(&mut self, index: usize) -> Result<(), SessionError> {
        let is_new = self.outcome.resumed.is_none() && index == 0;
        if is_new {
            self.outcome.preconditioning.purged = self.purge()?;
        }
        let started_ns = self.session.clock().now_ns();
        let whole = self.passes_bytes(index + 1);
        let request_bytes = self.stages[index].passes.1;
        while self.outcome.preconditioning.written_bytes < whole && !self.runner.stopped() {
            self.pass(started_ns, whole, request_bytes)?;
        }
        self.outcome.preconditioning.elapsed_ns += self.session.clock().now_ns() - started_ns;
        Ok(())
    }

    fn purge(&self) -> Result<Purged, SessionError> {
        let how = match self.outcome.plan.purge {
            Purge::None => return Ok(Purged::None),
            Purge::Discard => return self.targets.discard(),
            Purge::Format => Erase::Format,
            Purge::Sanitize => Erase::Sanitize,
        };
        let started_ns = self.session.clock().now_ns();
        let purged = self.targets.erase(how, self.session.clock(), &mut |done| {
            report(self.session, started_ns, "erasing the drive", done);
            !self.session.stopped()
        });
        self.session.observer().on(&Event::ProgressEnded);
        purged
    }

    /// Writes to the end of the active range, from where an earlier pass was interrupted.
    fn pass(&mut self, started_ns: u64, whole: u64, request_bytes: u32) -> Result<(), SessionError> {
        let active = self.active_bytes.max(1);
        let all = self.targets.for_span(0);
        let Some(target) = all.first() else { return Ok(()) };
        let Self { session, runner, outcome, checkpoints, name, .. } = self;
        let before = outcome.preconditioning.written_bytes;
        let (pass, at) = (before / active, before % active);
        let from = at.saturating_sub(AGAIN_BYTES);
        // What was written in order up to here, without what is written a second time.
        let reached = |written: u64| (pass * active + (from + written).max(at)).min((pass + 1) * active);
        let mut done = before;
        let mut go_on = |written: u64| {
            done = reached(written);
            progress(session, started_ns, done, whole);
            checkpoints.store(false, session, || {
                let mut outcome = outcome.clone();
                outcome.preconditioning.written_bytes = done;
                runner.record_so_far(name, RunBody::Qualify(Box::new(outcome)))
            });
            !session.stopped()
        };
        // Each pass has content of its own, which no other pass or round has.
        let seed = outcome.plan.seed.wrapping_sub(1 + pass);
        let written = write_pass(target, from, request_bytes, seed, session.engine(), &mut go_on);
        session.observer().on(&Event::ProgressEnded);
        match written {
            // An end that is no multiple of what is written at a time is left out.
            Ok(()) => done = (pass + 1) * active,
            Err(PrepareError::Interrupted) => {}
            Err(error) => {
                let hint = "nothing was measured; `dmesg` may say more about the device".to_owned();
                return Err(SessionError::OfUseCase(UseCaseError::new(error, Some(hint))));
            }
        }
        outcome.preconditioning.written_bytes = done;
        Ok(())
    }
}

fn progress(session: &Session<'_>, started_ns: u64, written: u64, whole: u64) {
    let done = written as f64 / whole.max(1) as f64;
    report(session, started_ns, "writing the active range in order", done);
}

/// Reports which part of `doing` is done, 0 to 1.
fn report(session: &Session<'_>, started_ns: u64, doing: &'static str, done: f64) {
    let elapsed_ns = session.clock().now_ns() - started_ns;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "casts saturate")]
    let left_ns = (done > 0.0).then(|| (elapsed_ns as f64 * (1.0 / done - 1.0)).max(0.0) as u64);
    let whole = RunProgress::new(elapsed_ns, left_ns);
    session.observer().on(&Event::SimulationProgress { doing, done, whole });
}
