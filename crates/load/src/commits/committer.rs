//! One committer: commits again and again, and records how long each commit took.

use iostall_measure::{Clock, Histogram};

use super::group::LogFailed;
use crate::window::{StopToken, Window};

/// Length of a slice of the measured part, nanoseconds.
pub(super) const SLICE_NS: u64 = 500_000_000;

#[derive(Debug)]
pub(super) struct Committed {
    pub(super) commit_ns: Histogram,
    /// Commits that ended in each slice of the measured part.
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

    /// Whether the window has ended at `now_ns` and there is a result.
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
