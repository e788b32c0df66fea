//! The times of a span on the run's clock, and the stop token.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use iostall_model::SpanProfile;

/// Start, measured part and end of a span on the run's clock, nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    pub start_ns: u64,
    pub measure_from_ns: u64,
    pub measure_to_ns: u64,
    pub stop_ns: u64,
}

impl Window {
    pub fn of(span: &SpanProfile, start_ns: u64) -> Self {
        let measure_from_ns = start_ns + span.warmup.0;
        let measure_to_ns = measure_from_ns + span.duration.0;
        Self { start_ns, measure_from_ns, measure_to_ns, stop_ns: measure_to_ns + span.cooldown.0 }
    }

    pub fn cut_at(self, stop_ns: u64) -> Self {
        Self {
            start_ns: self.start_ns,
            measure_from_ns: self.measure_from_ns.min(stop_ns),
            measure_to_ns: self.measure_to_ns.min(stop_ns),
            stop_ns: self.stop_ns.min(stop_ns),
        }
    }

    pub fn measured_ns(self) -> u64 {
        self.measure_to_ns - self.measure_from_ns
    }
}

/// Tells the workers to stop: on Ctrl-C, when a worker cannot continue, or when they have asked for as much as they may.
#[derive(Debug)]
pub struct StopToken {
    at_ns: AtomicU64,
    /// What the workers may still ask for, bytes; `u64::MAX`: as much as they like.
    left_bytes: AtomicU64,
    given_up: AtomicBool,
    flag: Arc<AtomicBool>,
}

impl Default for StopToken {
    fn default() -> Self {
        Self {
            at_ns: AtomicU64::new(u64::MAX),
            left_bytes: AtomicU64::new(u64::MAX),
            given_up: AtomicBool::new(false),
            flag: Arc::default(),
        }
    }
}

impl StopToken {
    /// For workers that together ask for no more than `bytes`.
    pub fn with_bytes(bytes: u64) -> Self {
        Self { left_bytes: AtomicU64::new(bytes), ..Self::default() }
    }

    /// Takes what the next request asks for, bytes; false if that is more than is left.
    #[inline]
    pub fn take_bytes(&self, bytes: u32) -> bool {
        let bytes = u64::from(bytes);
        let less = |left: u64| if left == u64::MAX { Some(left) } else { left.checked_sub(bytes) };
        self.left_bytes.load(Ordering::Relaxed) == u64::MAX
            || self.left_bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_ok()
    }

    /// What is left of the bytes; `u64::MAX` without a limit.
    pub fn left_bytes(&self) -> u64 {
        self.left_bytes.load(Ordering::Relaxed)
    }

    /// Stops at `now_ns`; only the first call counts.
    pub fn raise(&self, now_ns: u64) {
        self.at_ns.fetch_min(now_ns, Ordering::Relaxed);
        self.flag.store(true, Ordering::Relaxed);
    }

    pub fn give_up(&self, now_ns: u64) {
        self.given_up.store(true, Ordering::Relaxed);
        self.raise(now_ns);
    }

    /// Whether a worker gave up, as opposed to the user stopping the run.
    pub fn given_up(&self) -> bool {
        self.given_up.load(Ordering::Relaxed)
    }

    /// When the run stops; `u64::MAX` if it was not stopped.
    pub fn at_ns(&self) -> u64 {
        self.at_ns.load(Ordering::Relaxed)
    }

    /// Set when it is raised, for code without a clock.
    pub fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.flag)
    }

    pub fn is_raised(&self) -> bool {
        self.at_ns() != u64::MAX
    }
}

/// When the last worker of a span has asked for all that it was to ask for.
#[derive(Debug)]
pub(crate) struct SpanEnd {
    working: AtomicU32,
    at_ns: AtomicU64,
}

impl SpanEnd {
    pub(crate) fn of(workers: u32) -> Self {
        Self { working: AtomicU32::new(workers), at_ns: AtomicU64::new(u64::MAX) }
    }

    /// A worker has nothing more to ask for at `now_ns`, and nothing in flight.
    pub(crate) fn worker_done(&self, now_ns: u64) {
        if self.working.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.at_ns.store(now_ns, Ordering::Relaxed);
        }
    }

    /// `u64::MAX` while one still works.
    pub(crate) fn at_ns(&self) -> u64 {
        self.at_ns.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iostall_measure::Nanos;

    #[test]
    fn a_window_cut_in_its_warmup_measures_nothing() {
        let span = SpanProfile {
            warmup: Nanos(100),
            duration: Nanos(1000),
            cooldown: Nanos(10),
            interval: Nanos(100),
            worker_series: false,
            roles: Vec::new(),
        };
        let window = Window::of(&span, 50);
        assert_eq!(window.stop_ns, 1160);
        assert_eq!(window.cut_at(120).measured_ns(), 0);
        assert_eq!(window.cut_at(650).measured_ns(), 500);
        assert_eq!(window.cut_at(u64::MAX), window);
    }

    #[test]
    fn no_more_is_taken_than_there_is() {
        let token = StopToken::with_bytes(10_000);
        assert!(token.take_bytes(4096) && token.take_bytes(4096) && !token.take_bytes(4096));
        assert!(token.take_bytes(1808) && token.left_bytes() == 0);
        assert!(StopToken::default().take_bytes(u32::MAX));
    }

    #[test]
    fn the_first_stop_counts() {
        let sign = StopToken::default();
        assert!(!sign.is_raised());
        sign.raise(70);
        sign.raise(90);
        assert_eq!(sign.at_ns(), 70);
        assert!(!sign.given_up());
        sign.give_up(60);
        assert!(sign.given_up() && sign.at_ns() == 60);
    }
}
