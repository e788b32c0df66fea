//! How long a drill goes on.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use iostall_measure::{Clock, MonotonicClock, Nanos};
use iostall_transfer::Progress;

const LOOK_EVERY_NS: u64 = 50_000_000;

pub(super) struct Limits<'a> {
    progress: &'a Progress,
    clock: MonotonicClock,
    deadline_ns: AtomicU64,
    limit: Nanos,
}

impl<'a> Limits<'a> {
    pub(super) fn new(progress: &'a Progress, limit: Nanos) -> Self {
        Self { progress, clock: MonotonicClock::new(), deadline_ns: AtomicU64::new(u64::MAX), limit }
    }

    pub(super) fn begin(&self) {
        self.deadline_ns.store(self.now_ns().saturating_add(self.limit.nanos()), Ordering::Relaxed);
    }

    pub(super) fn now_ns(&self) -> u64 {
        self.clock.now_ns()
    }

    pub(super) fn show(&self, phase: &'static str, name: &str) {
        self.progress.begin_file(Path::new(name), 0, phase);
    }

    pub(super) fn pause(&self) {
        self.clock.sleep_until(self.now_ns() + LOOK_EVERY_NS);
    }

    pub(super) fn is_cancelled(&self) -> bool {
        self.progress.is_cancelled()
    }

    pub(super) fn is_over(&self) -> bool {
        self.is_cancelled() || self.now_ns() >= self.deadline_ns.load(Ordering::Relaxed)
    }

    pub(super) fn reason(&self) -> String {
        if self.is_cancelled() {
            return "stopped".to_owned();
        }
        format!("not done within {} (--timeout)", self.limit)
    }
}
