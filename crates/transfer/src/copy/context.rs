//! What all parts of a copy share and none changes.

use iostall_engine::guard::Destinations;
use iostall_measure::{Clock as _, MonotonicClock};

use super::options::CopyOptions;
use super::part::{Named, Replace};
use crate::progress::Progress;
use crate::rate::RateLimit;

/// Longest sleep while the rate limit holds a copy back, nanoseconds; then it checks for cancellation.
const HOLD_POLL_NS: u64 = 100_000_000;

pub(super) struct CopyContext<'a> {
    pub(super) options: &'a CopyOptions,
    pub(super) progress: &'a Progress,
    pub(super) clock: MonotonicClock,
    pub(super) destinations: Destinations,
    pub(super) named: Named,
}

impl<'a> CopyContext<'a> {
    pub(super) fn new(options: &'a CopyOptions, progress: &'a Progress) -> Self {
        let destinations = Destinations::new(&options.consent);
        Self { options, progress, clock: MonotonicClock::new(), destinations, named: Named::default() }
    }

    /// Waits until the rate limit allows `bytes` more; `false` if the copy is cancelled.
    pub(super) fn wait_for_rate(&self, bytes: u64) -> bool {
        self.wait_for(self.options.rate.as_deref(), bytes)
    }

    /// The same for reading back.
    pub(super) fn wait_to_read_back(&self, bytes: u64) -> bool {
        self.wait_for(self.options.read_back_rate.as_deref(), bytes)
    }

    fn wait_for(&self, rate: Option<&RateLimit>, bytes: u64) -> bool {
        loop {
            if self.progress.is_cancelled() {
                return false;
            }
            let Some(rate) = rate else { return true };
            let now_ns = self.clock.now_ns();
            match rate.take(bytes, now_ns) {
                Ok(()) => return true,
                Err(due_ns) => self.clock.sleep_until(due_ns.min(now_ns + HOLD_POLL_NS)),
            }
        }
    }

    /// Waits for `length_ns`; `false` if the copy is cancelled.
    pub(super) fn pause(&self, length_ns: u64) -> bool {
        let end_ns = self.clock.now_ns() + length_ns;
        while !self.progress.is_cancelled() {
            let now_ns = self.clock.now_ns();
            if now_ns >= end_ns {
                return true;
            }
            self.clock.sleep_until(end_ns.min(now_ns + HOLD_POLL_NS));
        }
        false
    }

    pub(super) fn replace(&self) -> Replace<'_> {
        if self.options.overwrite { Replace::Older(&self.named, &self.destinations) } else { Replace::Never }
    }
}
