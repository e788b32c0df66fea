//! Runs committers on logs for a time.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use iostall_measure::clock::receive;
use iostall_measure::{Clock, Histogram, RunClock};
use iostall_model::sync::{LogLayout, SyncMethod, SyncStep};

use super::group::{Group, LogFailed};
use super::log::{CommitError, CommitLog};
use crate::window::{StopToken, Window};

const TICK: Duration = Duration::from_millis(100);

pub enum Logs {
    Shared(CommitLog),
    Separate(Vec<CommitLog>),
}

pub struct Committing<'a> {
    pub method: SyncMethod,
    pub committers: u32,
    /// Commits that begin in the warm-up are not recorded.
    pub window: Window,
    pub clock: &'a RunClock,
    pub stop: &'a StopToken,
    /// Called about ten times a second.
    pub on_tick: &'a dyn Fn(),
}

/// Lets the committers commit to `logs` until the window ends or the user stops it.
///
/// On a simulated device, whose clock several threads cannot share, all committers take part in every flush, as they do in a
/// closed loop without time between commits.
pub fn commit_for(logs: Logs, job: &Committing<'_>) -> Result<SyncStep, CommitError> {
    let layout = match &logs {
        Logs::Shared(_) => LogLayout::Shared,
        Logs::Separate(_) => LogLayout::Separate,
    };
    let (committed, flush_ns, failure) = match (job.clock, logs) {
        (RunClock::Manual(clock), Logs::Shared(mut log)) => in_turn(&mut log, clock, job),
        (RunClock::Manual(_), Logs::Separate(_)) => return Err(CommitError::Broken),
        (RunClock::Monotonic(_), Logs::Shared(log)) => {
            let group = Group::new(log, job.window.measure_from_ns);
            let committed = on_threads(vec![&group; job.committers as usize], job)?;
            let (flush_ns, failure) = group.finish();
            (committed, flush_ns, failure)
        }
        (RunClock::Monotonic(_), Logs::Separate(logs)) => separately(logs, job)?,
    };
    let measured_ns = committed.last_end_ns.saturating_sub(job.window.measure_from_ns);
    let mut slices = committed.slices;
    // The last one is not whole, unless it ends where the measured part does.
    slices.truncate(usize::try_from(measured_ns / SLICE_NS).unwrap_or(usize::MAX));
    Ok(SyncStep {
        measured_ns: if committed.commit_ns.is_empty() { 0 } else { measured_ns },
        commit_ns: committed.commit_ns,
        flush_ns,
        slice_ns: SLICE_NS,
        slices,
        unavailable: failure.as_ref().filter(|error| error.is_unsupported()).map(ToString::to_string),
        failed: failure.filter(|error| !error.is_unsupported()).map(|error| error.to_string()),
        ..SyncStep::new(job.method, job.committers, layout)
    })
}

type Measured = (Committed, Histogram, Option<CommitError>);

fn separately(logs: Vec<CommitLog>, job: &Committing<'_>) -> Result<Measured, CommitError> {
    let groups: Vec<Group> =
        logs.into_iter().map(|log| Group::new(log, job.window.measure_from_ns)).collect();
    let committed = on_threads(groups.iter().collect(), job)?;
    let mut flush_ns = Histogram::new();
    let mut failure = None;
    for group in groups {
        let (of_log, why) = group.finish();
        flush_ns.merge(&of_log);
        failure = failure.or(why);
    }
    Ok((committed, flush_ns, failure))
}

/// A thread for each of `groups`, which may be one group several times.
fn on_threads(groups: Vec<&Group>, job: &Committing<'_>) -> Result<Committed, CommitError> {
    let (window, clock, stop) = (&job.window, job.clock, job.stop);
    let cannot_start = AtomicBool::new(false);
    let given_up = &cannot_start;
    thread::scope(|scope| {
        let (working, is_done) = channel::<()>();
        let mut started = Vec::with_capacity(groups.len());
        for (number, group) in groups.into_iter().enumerate() {
            let working = working.clone();
            let work = move || {
                let committed = commit_repeatedly(window, clock, stop, |clock| {
                    if given_up.load(Ordering::Relaxed) { Err(LogFailed) } else { group.commit(clock) }
                });
                drop(working);
                committed
            };
            let name = format!("iostall-load-{number}");
            match thread::Builder::new().name(name).spawn_scoped(scope, work) {
                Ok(thread) => started.push(thread),
                Err(error) => {
                    given_up.store(true, Ordering::Relaxed);
                    return Err(CommitError::Thread(error));
                }
            }
        }
        drop(working);
        while receive(&is_done, TICK) == Err(RecvTimeoutError::Timeout) {
            (job.on_tick)();
        }
        let mut all = Committed::new();
        for thread in started {
            all.add(&thread.join().map_err(|_| CommitError::Broken)?);
        }
        Ok(all)
    })
}

fn in_turn(log: &mut CommitLog, clock: &impl Clock, job: &Committing<'_>) -> Measured {
    let mut committed = Committed::new();
    let mut flush_ns = Histogram::new();
    let mut failure = None;
    while failure.is_none() && !committed.is_over(&job.window, clock.now_ns()) && !job.stop.is_raised() {
        let begun_ns = clock.now_ns();
        let mut waiting = u64::from(job.committers);
        while waiting > 0 && failure.is_none() {
            let flush_begun_ns = clock.now_ns();
            match log.flush(waiting) {
                Ok(records) => {
                    waiting -= records;
                    let ended_ns = clock.now_ns();
                    committed.record(&job.window, begun_ns, ended_ns, records);
                    if flush_begun_ns >= job.window.measure_from_ns {
                        flush_ns.record(ended_ns - flush_begun_ns);
                    }
                }
                Err(error) => failure = Some(error),
            }
        }
        (job.on_tick)();
    }
    (committed, flush_ns, failure)
}

/// Length of a slice of the measured part, nanoseconds.
pub(super) const SLICE_NS: u64 = 500_000_000;

#[derive(Debug)]
pub(super) struct Committed {
    pub(super) commit_ns: Histogram,
    pub(super) slices: Vec<u64>,
    pub(super) last_end_ns: u64,
}

impl Committed {
    pub(super) fn new() -> Self {
        Self { commit_ns: Histogram::new(), slices: Vec::new(), last_end_ns: 0 }
    }

    /// Records `count` commits that began and ended together, unless they belong to the warm-up.
    pub(super) fn record(&mut self, window: &Window, begun_ns: u64, ended_ns: u64, count: u64) {
        if begun_ns < window.measure_from_ns {
            return;
        }
        for _ in 0..count {
            self.commit_ns.record(ended_ns - begun_ns);
        }
        // A measured part of years would be needed to overflow.
        let slice = usize::try_from((ended_ns - window.measure_from_ns) / SLICE_NS).unwrap_or(0);
        if self.slices.len() <= slice {
            self.slices.resize(slice + 1, 0);
        }
        self.slices[slice] += count;
        self.last_end_ns = self.last_end_ns.max(ended_ns);
    }

    pub(super) fn is_over(&self, window: &Window, now_ns: u64) -> bool {
        now_ns >= window.measure_to_ns && !self.commit_ns.is_empty()
    }

    pub(super) fn add(&mut self, other: &Self) {
        self.commit_ns.merge(&other.commit_ns);
        if self.slices.len() < other.slices.len() {
            self.slices.resize(other.slices.len(), 0);
        }
        self.slices.iter_mut().zip(&other.slices).for_each(|(sum, one)| *sum += one);
        self.last_end_ns = self.last_end_ns.max(other.last_end_ns);
    }
}

/// Commits until the window ends, the user stops it, or the log fails. A commit that has begun is finished, and the window lasts
/// until at least one has been recorded: a device that stood still for all of it is slow, and not without a result.
pub(super) fn commit_repeatedly<C: Clock>(
    window: &Window,
    clock: &C,
    stop: &StopToken,
    mut commit: impl FnMut(&C) -> Result<(), LogFailed>,
) -> Committed {
    let mut committed = Committed::new();
    loop {
        let begun_ns = clock.now_ns();
        if committed.is_over(window, begun_ns) || stop.is_raised() || commit(clock).is_err() {
            return committed;
        }
        committed.record(window, begun_ns, clock.now_ns(), 1);
    }
}
