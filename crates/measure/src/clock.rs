//! The only module that reads a clock or waits for a time.
//!
//! Workers are generic over [`Clock`], so the same loop runs on the machine's monotonic clock and, in tests, on a clock
//! that a simulated device advances. A test in simulated time holds a [`NoRealSleep`]: anything that still waits in real time
//! fails it.

mod every;
mod wait;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

pub use every::Every;
pub use wait::{NoRealSleep, receive, wait_while};

/// A monotonic clock in nanoseconds since its origin. Clones share the origin.
pub trait Clock: Clone + Send + 'static {
    /// Nanoseconds since this clock's origin. Never decreases.
    fn now_ns(&self) -> u64;

    /// Returns once the clock shows at least `deadline_ns`. May return late, never early.
    fn sleep_until(&self, deadline_ns: u64);

    /// How long to wait in the kernel if the next action is due in `wait_ns`: less than that, because a
    /// kernel timer wakes late; `None` if it is so close that only polling is precise enough.
    fn kernel_wait_ns(&self, wait_ns: u64) -> Option<u64>;
}

/// How late a kernel timer may wake a thread, with a margin: the default timer slack is 50 µs.
const WAKE_LATENCY_NS: u64 = 80_000;

/// The machine's monotonic clock, read through the vDSO in tens of nanoseconds.
#[derive(Clone, Debug)]
pub struct MonotonicClock {
    origin: Instant,
}

impl MonotonicClock {
    #[expect(clippy::disallowed_methods, reason = "this is the one room that reads the clock")]
    pub fn new() -> Self {
        Self { origin: Instant::now() }
    }
}

impl Default for MonotonicClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for MonotonicClock {
    #[inline]
    fn now_ns(&self) -> u64 {
        // 2^64 ns is 584 years after the origin and cannot be reached.
        u64::try_from(self.origin.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    /// Sleeps in the kernel until shortly before the deadline, then spins, for microsecond precision.
    #[expect(clippy::disallowed_methods, reason = "this is the one room that sleeps")]
    fn sleep_until(&self, deadline_ns: u64) {
        loop {
            let now_ns = self.now_ns();
            if now_ns >= deadline_ns {
                return;
            }
            wait::about_to_wait();
            match self.kernel_wait_ns(deadline_ns - now_ns) {
                Some(wait_ns) => std::thread::sleep(std::time::Duration::from_nanos(wait_ns)),
                None => std::hint::spin_loop(),
            }
        }
    }

    fn kernel_wait_ns(&self, wait_ns: u64) -> Option<u64> {
        wait_ns.checked_sub(WAKE_LATENCY_NS).filter(|wait_ns| *wait_ns > 0)
    }
}

/// A clock that only moves when advanced: a simulated device moves it to its next completion.
#[derive(Clone, Debug, Default)]
pub struct ManualClock {
    now_ns: Arc<AtomicU64>,
}

impl ManualClock {
    pub fn new() -> Self {
        Self::default()
    }

    /// Moves the clock forward to `to_ns`; a time in the past has no effect.
    pub fn advance_to(&self, to_ns: u64) {
        self.now_ns.fetch_max(to_ns, Ordering::SeqCst);
    }

    pub fn advance_by(&self, by_ns: u64) {
        self.now_ns.fetch_add(by_ns, Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now_ns(&self) -> u64 {
        self.now_ns.load(Ordering::SeqCst)
    }

    fn sleep_until(&self, deadline_ns: u64) {
        self.advance_to(deadline_ns);
    }

    fn kernel_wait_ns(&self, wait_ns: u64) -> Option<u64> {
        Some(wait_ns)
    }
}

#[derive(Clone, Debug)]
pub enum RunClock {
    Monotonic(MonotonicClock),
    /// A simulated device's clock: a run on it takes no real time.
    Manual(ManualClock),
}

impl RunClock {
    pub fn of_machine() -> Self {
        Self::Monotonic(MonotonicClock::new())
    }
}

impl Clock for RunClock {
    #[inline]
    fn now_ns(&self) -> u64 {
        match self {
            Self::Monotonic(clock) => clock.now_ns(),
            Self::Manual(clock) => clock.now_ns(),
        }
    }

    fn sleep_until(&self, deadline_ns: u64) {
        match self {
            Self::Monotonic(clock) => clock.sleep_until(deadline_ns),
            Self::Manual(clock) => clock.sleep_until(deadline_ns),
        }
    }

    fn kernel_wait_ns(&self, wait_ns: u64) -> Option<u64> {
        match self {
            Self::Monotonic(clock) => clock.kernel_wait_ns(wait_ns),
            Self::Manual(clock) => clock.kernel_wait_ns(wait_ns),
        }
    }
}

/// The wall clock in UTC. For timestamps, never for measuring durations.
#[expect(clippy::disallowed_methods, reason = "this is the one room that reads the clock")]
pub fn utc_now() -> jiff::Timestamp {
    jiff::Timestamp::try_from(std::time::SystemTime::now()).unwrap_or(jiff::Timestamp::UNIX_EPOCH)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_monotonic_clock_never_returns_early_from_a_sleep() {
        let clock = MonotonicClock::new();
        let deadline_ns = clock.now_ns() + 2_000_000;
        clock.sleep_until(deadline_ns);
        assert!(clock.now_ns() >= deadline_ns);
    }

    #[test]
    fn a_manual_clock_is_shared_by_its_clones_and_never_goes_back() {
        let clock = ManualClock::new();
        let other = clock.clone();
        clock.advance_to(500);
        other.advance_to(100);
        assert_eq!(other.now_ns(), 500);
        other.sleep_until(900);
        assert_eq!(clock.now_ns(), 900);
    }
}
