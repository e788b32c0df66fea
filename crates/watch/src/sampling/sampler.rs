//! Reads many sources at common ticks of the clock.
//!
//! Each source has a thread: a server that hangs delays only its own next reading. Missed and failed readings
//! are events too, so that every hole in the history has a reason.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use iostall_collect::Source;
use iostall_measure::clock::wait_while;

use super::event::{Event, SamplerOptions};
use super::ticker::Ticker;
use crate::clock::{MachineClock, WatchClock, utc_ns};

pub(super) const EVENTS_WAITING_MAX: usize = 256;

pub struct Sampler {
    stop: Arc<Stop>,
    threads: Vec<JoinHandle<()>>,
}

impl Sampler {
    /// Starts a thread for every source. Events arrive until the last tick or [`Stopper::stop`]; then the
    /// channel closes.
    pub fn start(sources: Vec<Box<dyn Source>>, options: &SamplerOptions) -> (Self, Receiver<Event>) {
        let (sender, receiver) = sync_channel(EVENTS_WAITING_MAX);
        let stop = Arc::new(Stop::default());
        let start = |(index, source)| thread_of(index, source, options.clone(), &sender, &stop);
        let threads = sources.into_iter().enumerate().map(start).collect();
        (Self { stop, threads }, receiver)
    }

    /// A handle to stop sampling from anywhere, including a signal handler's thread.
    pub fn stopper(&self) -> Stopper {
        let stopper = Stopper::default();
        stopper.watch(&self.stop);
        stopper
    }

    /// Waits for the threads to end. Returns at once only after [`Stopper::stop`] and with the channel
    /// drained.
    pub fn join(self) {
        for thread in self.threads {
            // A panic in a source becomes a gap; nothing else here panics.
            let _ = thread.join();
        }
    }
}

#[derive(Clone, Debug, Default)]
pub struct Stopper(Arc<Mutex<Stops>>);

#[derive(Debug, Default)]
struct Stops {
    is_set: bool,
    each: Vec<Arc<Stop>>,
}

impl Stopper {
    /// No tick begins after this; readings in progress end within their limit.
    pub fn stop(&self) {
        let mut stops = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        stops.is_set = true;
        stops.each.iter().for_each(|stop| stop.set());
    }

    pub(super) fn watch(&self, stop: &Arc<Stop>) {
        let mut stops = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if stops.is_set {
            stop.set();
        }
        // Threads that have ended hold no reference any more.
        stops.each.retain(|stop| Arc::strong_count(stop) > 1);
        stops.each.push(Arc::clone(stop));
    }

    pub(super) fn is_set(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_set
    }
}

pub(super) fn thread_of(
    index: usize,
    source: Box<dyn Source>,
    options: SamplerOptions,
    sender: &SyncSender<Event>,
    stop: &Arc<Stop>,
) -> JoinHandle<()> {
    let ticker = Ticker::new(index, source, options);
    let (sender, stop) = (sender.clone(), Arc::clone(stop));
    std::thread::spawn(move || run(ticker, &sender, &stop))
}

fn run(mut ticker: Ticker, sender: &SyncSender<Event>, stop: &Stop) {
    let clock = MachineClock::default();
    while let Some(due) = ticker.next(clock.now()) {
        if stop.comes_before(due.at_ns, ticker.interval_ns(), &clock) {
            return;
        }
        let is_heard = |event| sender.send(event).is_ok();
        if !ticker.missed_before(due).is_none_or(is_heard) || !is_heard(ticker.tick(due, &clock)) {
            return;
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct Stop {
    is_set: Mutex<bool>,
    changed: Condvar,
}

impl Stop {
    pub(super) fn set(&self) {
        *self.is_set.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.changed.notify_all();
    }

    fn wait(&self, length: Duration) -> bool {
        let guard = self.is_set.lock().unwrap_or_else(PoisonError::into_inner);
        *wait_while(&self.changed, guard, length, |is_set| !*is_set)
    }

    /// Waits for the tick by the calendar; returns whether to stop instead. A clock set back ends the wait,
    /// because the next tick is then a different one.
    fn comes_before(&self, tick_ns: u64, interval_ns: u64, clock: &MachineClock) -> bool {
        loop {
            let now_ns = utc_ns(clock.now().utc);
            if now_ns >= tick_ns {
                return self.wait(Duration::ZERO);
            }
            let wait_ns = (tick_ns - now_ns).min(interval_ns.saturating_mul(2));
            if self.wait(Duration::from_nanos(wait_ns)) {
                return true;
            }
            if tick_ns.saturating_sub(utc_ns(clock.now().utc)) > interval_ns.saturating_mul(2) {
                return false;
            }
        }
    }
}

#[cfg(test)]
mod tests;
