//! What is done before the rounds: the active range is written in order, as often as planned.

use iostall_load::prepare::{PrepareError, write_pass};
use iostall_measure::Clock;
use iostall_model::qualify::QualifyPlan;

use super::Qualifier;
use crate::error::{SessionError, UseCaseError};
use crate::event::{Event, RunProgress};

impl Qualifier<'_> {
    /// Writes the active range in order. An interruption leaves what was written so far.
    pub(super) fn precondition(&mut self) -> Result<(), SessionError> {
        let started_ns = self.session.clock().now_ns();
        for pass in 0..self.outcome.plan.passes {
            if self.runner.stopped() {
                break;
            }
            self.pass(pass, started_ns)?;
        }
        self.outcome.preconditioning.elapsed_ns = self.session.clock().now_ns() - started_ns;
        Ok(())
    }

    fn pass(&mut self, pass: u32, started_ns: u64) -> Result<(), SessionError> {
        let whole = self.active_bytes.saturating_mul(self.outcome.plan.passes.into());
        let before = self.outcome.preconditioning.written_bytes;
        let session = self.session;
        let mut done = 0;
        let mut go_on = |written: u64| {
            done = written;
            progress(session, started_ns, before + written, whole);
            !session.stopped()
        };
        // Each pass has content of its own, which no other pass or round has.
        let seed = self.outcome.plan.seed.wrapping_sub(1 + u64::from(pass));
        let kind = session.engine();
        let all = self.targets.for_span(0);
        let Some(target) = all.first() else { return Ok(()) };
        let written = write_pass(target, 0, QualifyPlan::PASS_BYTES, seed, kind, &mut go_on);
        session.observer().on(&Event::ProgressEnded);
        self.outcome.preconditioning.written_bytes += done;
        match written {
            Ok(()) | Err(PrepareError::Interrupted) => Ok(()),
            Err(error) => {
                let hint = "nothing was measured; `dmesg` may say more about the device".to_owned();
                Err(SessionError::OfUseCase(UseCaseError::new(error, Some(hint))))
            }
        }
    }
}

fn progress(session: &crate::session::Session<'_>, started_ns: u64, written: u64, whole: u64) {
    let elapsed_ns = session.clock().now_ns() - started_ns;
    let done = written as f64 / whole.max(1) as f64;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "casts saturate")]
    let left_ns = (done > 0.0).then(|| (elapsed_ns as f64 * (1.0 / done - 1.0)).max(0.0) as u64);
    let whole = RunProgress::new(elapsed_ns, left_ns);
    session.observer().on(&Event::SimulationProgress {
        doing: "writing the active range in order",
        done,
        whole,
    });
}
