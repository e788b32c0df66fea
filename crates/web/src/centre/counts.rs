//! What the centre has done since it started.

use std::sync::atomic::{AtomicU64, Ordering};

use iostall_measure::clock::utc_now;

/// What was done since the start.
#[derive(Debug, Default)]
pub(super) struct Counts {
    pub(super) answered: AtomicU64,
    pub(super) refused: AtomicU64,
    pub(super) unavailable: AtomicU64,
    pub(super) batches: AtomicU64,
    /// When a batch was stored last, seconds since 1970; 0 if none was.
    pub(super) last_batch_s: AtomicU64,
}

impl Counts {
    pub(super) fn stored_batch(&self) {
        add(&self.batches);
        self.last_batch_s.store(u64::try_from(utc_now().as_second()).unwrap_or(0), Ordering::Relaxed);
    }
}

pub(super) fn add(count: &AtomicU64) {
    count.fetch_add(1, Ordering::Relaxed);
}
