//! The steps of every use case that moves data: lower the priority if asked, report progress, and turn the
//! outcome into a run.

use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

use iostall_engine::cpu::CpuTime;
pub use iostall_engine::files::Niceness;
use iostall_engine::files::set_niceness;
use iostall_engine::target_facts;
use iostall_load::window::StopToken;
use iostall_measure::clock::receive;
use iostall_measure::platform::Target;
use iostall_measure::{Clock as _, Nanos, RunClock};
use iostall_model::{GiveWay, Run, RunBody, Warning};
use iostall_transfer::Progress;
use iostall_transfer::rate::RateLimit;

use crate::error::SessionError;
use crate::event::{Event, Observer, ProgressNow, RunProgress, Speed};
use crate::give_way::{self, GiveWayRequest, Governed};
use crate::recorder::{Ended, Program, RunRecorder};

/// Averaging time of the current speed, nanoseconds.
const NOW_NS: u64 = 2_000_000_000;
const TICK: Duration = Duration::from_millis(200);

pub struct Transfer {
    progress: Progress,
    recorder: RunRecorder,
    governed: Option<Governed>,
}

impl Transfer {
    /// Lowers the priority of the process as `niceness` says; `stop` ends the work early.
    pub fn begin(
        program: Program,
        clock: RunClock,
        stop: &StopToken,
        niceness: Option<Niceness>,
    ) -> Result<Self, SessionError> {
        if let Some(niceness) = niceness {
            set_niceness(niceness).map_err(SessionError::Priority)?;
        }
        let recorder = RunRecorder::begin(program, clock);
        Ok(Self { progress: Progress::new(stop.flag()), recorder, governed: None })
    }

    /// Lets it give way to the users of a source. Reads the source once, so that what is wrong with it is found
    /// before anything is moved.
    pub fn giving_way(self, request: GiveWayRequest) -> Result<Self, SessionError> {
        let governed = Governed::begin(request, self.recorder.clock())?;
        Ok(Self { governed: Some(governed), ..self })
    }

    /// The limit that a transfer has to keep if it gives way.
    pub(crate) fn rate(&self) -> Option<Arc<RateLimit>> {
        self.governed.as_ref().map(Governed::rate)
    }

    pub(crate) fn gave_way(&self) -> (Option<GiveWay>, Vec<Warning>) {
        let gave_way = self.governed.as_ref().map(Governed::gave_way);
        let warnings = gave_way.as_ref().map(give_way::warnings).unwrap_or_default();
        (gave_way, warnings)
    }

    pub(crate) fn work<T: Send>(
        &self,
        observer: &dyn Observer,
        work: impl FnOnce(&Progress) -> T + Send,
    ) -> T {
        std::thread::scope(|scope| {
            let (done, is_done) = channel();
            let (working, to_end) = channel();
            if let Some(governed) = &self.governed {
                let clock = self.recorder.clock();
                scope.spawn(move || governed.control(clock, &to_end, observer));
            }
            let worker = scope.spawn(move || {
                let result = work(&self.progress);
                // The receiver exists until it has joined this thread.
                let _ = done.send(());
                result
            });
            let mut speedometer = Speedometer::default();
            while receive(&is_done, TICK) == Err(RecvTimeoutError::Timeout) {
                if let Some(governed) = &self.governed {
                    governed.check(self.recorder.clock().now_ns());
                }
                let now = self.progress.now();
                let elapsed_ns = self.elapsed_ns();
                let speed = speedometer.read(now.bytes_done, elapsed_ns);
                let whole = RunProgress::new(elapsed_ns, left_ns(&now, speed));
                observer.on(&Event::TransferProgress { now: &now, speed, whole });
            }
            drop::<Sender<()>>(working);
            observer.on(&Event::ProgressEnded);
            worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    pub(crate) fn progress(&self) -> &Progress {
        &self.progress
    }

    pub(crate) fn clock(&self) -> &RunClock {
        self.recorder.clock()
    }

    pub(crate) fn elapsed_ns(&self) -> u64 {
        self.recorder.elapsed_ns()
    }

    pub(crate) fn cpu(&self) -> CpuTime {
        self.recorder.cpu()
    }

    pub(crate) fn finish(
        self,
        name: String,
        targets: Vec<Target>,
        warnings: Vec<Warning>,
        body: RunBody,
    ) -> Run {
        let interrupted = self.progress.is_cancelled();
        self.recorder.finish(Ended { name, targets, warnings, interrupted, body })
    }
}

/// How long the rest takes at the mean speed so far; `None` without a speed or a known total.
fn left_ns(now: &ProgressNow, speed: Speed) -> Option<u64> {
    let left = now.bytes_total.saturating_sub(now.bytes_done) as f64;
    let is_known = now.bytes_total > 0 && speed.bytes_per_s_mean > 0.0;
    is_known.then(|| Nanos::from_seconds(left / speed.bytes_per_s_mean).nanos())
}

/// Progress over the last two seconds: when, and how much was done.
#[derive(Debug, Default)]
struct Speedometer {
    seen: Vec<(u64, u64)>,
}

impl Speedometer {
    fn read(&mut self, bytes_done: u64, elapsed_ns: u64) -> Speed {
        self.seen.push((elapsed_ns, bytes_done));
        self.seen.retain(|(at_ns, _)| elapsed_ns - at_ns <= NOW_NS);
        let rate = |bytes: u64, over_ns: u64| bytes as f64 / (over_ns as f64 / 1e9).max(1e-3);
        let bytes_per_s_now = match self.seen.first() {
            Some((at_ns, bytes)) if elapsed_ns > *at_ns => rate(bytes_done - bytes, elapsed_ns - at_ns),
            _ => 0.0,
        };
        Speed { bytes_per_s_now, bytes_per_s_mean: rate(bytes_done, elapsed_ns) }
    }
}

pub(crate) fn target(path: &Path) -> Option<Target> {
    if path.is_file() { target_facts(path, None).ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// UBCopy's progress jumped to 100 % at once, or divided by zero.
    #[test]
    fn speed_is_that_of_the_last_two_seconds_and_a_number_at_the_very_beginning() {
        let mut speedometer = Speedometer::default();
        let begun = speedometer.read(0, 0);
        assert!(begun.bytes_per_s_now == 0.0 && begun.bytes_per_s_mean == 0.0);
        speedometer.read(100_000_000, 1_000_000_000);
        let speed = speedometer.read(400_000_000, 2_000_000_000);
        assert_eq!((speed.bytes_per_s_now, speed.bytes_per_s_mean), (2e8, 2e8));
        let speed = speedometer.read(400_000_000, 4_000_000_000);
        assert_eq!((speed.bytes_per_s_now, speed.bytes_per_s_mean), (0.0, 1e8));
    }
}
