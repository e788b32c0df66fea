//! The clock of sampling.

use iostall_measure::clock::utc_now;
use iostall_measure::{Clock, MonotonicClock};
use iostall_model::alert::Now;
use jiff::Timestamp;

/// The calendar, and a monotonic clock that stops while the machine sleeps.
///
/// Everything that decides when to sample, what was missed and how long an alert lasts uses this clock, so
/// that an hour of collecting can be simulated.
pub trait WatchClock: Clone + Send + 'static {
    fn now(&self) -> Now;
}

#[derive(Clone, Debug, Default)]
pub struct MachineClock(MonotonicClock);

impl WatchClock for MachineClock {
    fn now(&self) -> Now {
        Now { utc: utc_now(), clock_ns: self.0.now_ns() }
    }
}

pub(crate) fn utc_ns(at: Timestamp) -> u64 {
    u64::try_from(at.as_nanosecond()).unwrap_or(0)
}

pub(crate) fn timestamp(ns: u64) -> Timestamp {
    Timestamp::from_nanosecond(i128::from(ns)).unwrap_or(Timestamp::MAX)
}
