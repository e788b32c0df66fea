//! Waiting in real time, and tests that must not.

use std::cell::Cell;
use std::marker::PhantomData;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Condvar, MutexGuard, PoisonError};
use std::time::Duration;

thread_local! {
    /// How many [`NoRealSleep`] this thread holds.
    static HELD: Cell<u32> = const { Cell::new(0) };
}

/// For as long as it is held, waiting for a time on this thread panics, unless the clock is simulated.
///
/// A test in simulated time holds one. Otherwise a sleep that slipped in would make the test slow, and dependent on the machine,
/// and nobody would notice. Simulated runs are on one thread, so the thread is what is guarded: tests beside this one may sleep.
#[derive(Debug)]
pub struct NoRealSleep {
    /// Bound to its thread.
    _not_send: PhantomData<*const ()>,
}

impl NoRealSleep {
    pub fn on_this_thread() -> Self {
        HELD.set(HELD.get() + 1);
        Self { _not_send: PhantomData }
    }
}

impl Drop for NoRealSleep {
    fn drop(&mut self) {
        HELD.set(HELD.get() - 1);
    }
}

/// To be called before every wait for a time.
pub(super) fn about_to_wait() {
    assert!(HELD.get() == 0, "something waits in real time during a test in simulated time");
}

pub fn receive<T>(channel: &Receiver<T>, limit: Duration) -> Result<T, RecvTimeoutError> {
    if !limit.is_zero() {
        about_to_wait();
    }
    channel.recv_timeout(limit)
}

pub fn wait_while<'a, T>(
    changed: &Condvar,
    guarded: MutexGuard<'a, T>,
    limit: Duration,
    condition: impl FnMut(&mut T) -> bool,
) -> MutexGuard<'a, T> {
    if !limit.is_zero() {
        about_to_wait();
    }
    changed.wait_timeout_while(guarded, limit, condition).unwrap_or_else(PoisonError::into_inner).0
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::sync::mpsc::channel;
    use std::thread;

    use super::*;
    use crate::{Clock, ManualClock, MonotonicClock};

    const LIMIT: Duration = Duration::from_millis(1);

    /// Whether `wait` is stopped while real sleep is forbidden. It runs on a thread of its own, whose panic says so.
    fn is_stopped(wait: impl FnOnce() + Send + 'static) -> bool {
        let guarded = move || {
            let _guard = NoRealSleep::on_this_thread();
            wait();
        };
        thread::spawn(guarded).join().is_err()
    }

    /// A simulated test once said that nothing in it sleeps, and nothing checked it.
    #[test]
    fn every_wait_in_real_time_is_stopped_where_it_is_forbidden() {
        assert!(is_stopped(|| {
            let clock = MonotonicClock::new();
            clock.sleep_until(clock.now_ns() + 1_000_000);
        }));
        assert!(is_stopped(|| {
            let (_sender, receiver) = channel::<()>();
            let _ = receive(&receiver, LIMIT);
        }));
        assert!(is_stopped(|| {
            let is_set = Mutex::new(false);
            drop(wait_while(&Condvar::new(), is_set.lock().unwrap(), LIMIT, |is_set| !*is_set));
        }));
    }

    #[test]
    fn simulated_time_and_what_does_not_wait_go_on() {
        assert!(!is_stopped(|| ManualClock::new().sleep_until(3_600_000_000_000)));
        assert!(!is_stopped(|| MonotonicClock::new().sleep_until(0)));
        assert!(!is_stopped(|| {
            let (sender, receiver) = channel();
            sender.send(7).unwrap();
            assert_eq!(receive(&receiver, Duration::ZERO), Ok(7));
        }));
    }

    #[test]
    fn a_thread_may_sleep_beside_the_test_and_the_test_after_it() {
        let clock = MonotonicClock::new();
        let guard = NoRealSleep::on_this_thread();
        let other = clock.clone();
        thread::spawn(move || other.sleep_until(other.now_ns() + 1_000_000)).join().unwrap();
        drop(guard);
        clock.sleep_until(clock.now_ns() + 1_000_000);
    }
}
