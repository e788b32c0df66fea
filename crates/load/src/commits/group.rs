//! Group commit: committers that arrive during a flush wait for it to end, and the first of them flushes for all.
//!
//! PostgreSQL does the same: one process at a time writes and flushes the log under `WALWriteLock`, with everything that is in the
//! log's buffers by then, and the others find that their record is durable already (`XLogFlush`).

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use iostall_measure::{Clock, Histogram};

use super::log::{CommitError, CommitLog};

pub(super) struct Group {
    log: Mutex<CommitLog>,
    line: Mutex<Line>,
    flushed: Condvar,
    measure_from_ns: u64,
}

#[derive(Default)]
struct Line {
    requested: u64,
    durable: u64,
    is_flushing: bool,
    failure: Option<CommitError>,
    flush_ns: Histogram,
}

#[derive(Debug)]
pub(super) struct LogFailed;

impl Group {
    pub(super) fn new(log: CommitLog, measure_from_ns: u64) -> Self {
        Self { log: Mutex::new(log), line: Mutex::default(), flushed: Condvar::new(), measure_from_ns }
    }

    /// Returns once the caller's record is durable.
    pub(super) fn commit(&self, clock: &impl Clock) -> Result<(), LogFailed> {
        let mut line = lock(&self.line);
        line.requested += 1;
        let mine = line.requested;
        loop {
            if line.failure.is_some() {
                return Err(LogFailed);
            }
            if line.durable >= mine {
                return Ok(());
            }
            if line.is_flushing {
                line = self.flushed.wait(line).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            line.is_flushing = true;
            let waiting = line.requested - line.durable;
            drop(line);
            let begun_ns = clock.now_ns();
            let flushed = lock(&self.log).flush(waiting);
            let ended_ns = clock.now_ns();
            line = lock(&self.line);
            line.is_flushing = false;
            match flushed {
                Ok(records) => {
                    line.durable += records;
                    if begun_ns >= self.measure_from_ns {
                        line.flush_ns.record(ended_ns - begun_ns);
                    }
                }
                Err(error) => line.failure = Some(error),
            }
            self.flushed.notify_all();
        }
    }

    pub(super) fn finish(self) -> (Histogram, Option<CommitError>) {
        let line = self.line.into_inner().unwrap_or_else(PoisonError::into_inner);
        (line.flush_ns, line.failure)
    }
}

/// A committer that panicked holds no lock in the middle of a change.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use iostall_engine::sim::SimFile;
    use iostall_engine::{SimConfig, SimDevice};
    use iostall_measure::ManualClock;
    use iostall_model::sync::SyncMethod;

    use super::*;

    fn group(eio_at: Vec<u64>) -> (Group, ManualClock) {
        let file = SimFile { size_bytes: 1 << 20, ..SimFile::default() };
        let mut config = SimConfig { files: vec![file], ..SimConfig::default() };
        config.faults.eio_at = eio_at;
        let device = SimDevice::new(config, ManualClock::new());
        let log = CommitLog::simulated(&device, SyncMethod::Fdatasync, 8192, 1 << 20).unwrap();
        (Group::new(log, 0), device.clock().clone())
    }

    /// Eight threads, each of which has committed a hundred times when it returns.
    #[test]
    fn every_commit_returns_and_no_more_flushes_are_made_than_commits() {
        let (group, clock) = group(Vec::new());
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| (0..100).for_each(|_| group.commit(&clock).unwrap()));
            }
        });
        let line = lock(&group.line);
        assert_eq!((line.requested, line.durable), (800, 800));
        drop(line);
        let (flush_ns, failure) = group.finish();
        assert!((100..=800).contains(&flush_ns.count()) && failure.is_none(), "{}", flush_ns.count());
    }

    /// While one flush is under way, others arrive: the next flush is for all of them.
    #[test]
    fn one_flush_serves_all_that_wait() {
        let (group, clock) = group(Vec::new());
        lock(&group.line).is_flushing = true;
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| group.commit(&clock).unwrap());
            }
            while lock(&group.line).requested < 8 {
                std::thread::yield_now();
            }
            lock(&group.line).is_flushing = false;
            group.flushed.notify_all();
        });
        assert_eq!(group.finish().0.count(), 1);
    }

    #[test]
    fn a_log_that_fails_fails_for_everybody_and_says_why_once() {
        let (group, clock) = group(vec![3]);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| while group.commit(&clock).is_ok() {});
            }
        });
        let (_, failure) = group.finish();
        assert!(failure.unwrap().to_string().contains("fdatasync failed"));
    }
}
