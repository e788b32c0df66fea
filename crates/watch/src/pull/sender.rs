//! A thread that sends what is sampled, while others sample.

use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread::JoinHandle;
use std::time::Duration;

use iostall_engine::random_bytes;
use iostall_measure::clock::receive;

use super::forwarder::{ForwardEvent, Forwarder, PulledSource};
use crate::clock::{MachineClock, WatchClock as _};
use crate::error::WatchError;

const LOOK_EVERY: Duration = Duration::from_secs(1);
/// The longest pause after a failure: others wait for longer before they take over.
const PAUSE_MAX: Duration = Duration::from_secs(5);
/// How long the end may take, nanoseconds: what is left is sent by the next process.
const END_NS: u64 = 20_000_000_000;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SenderEvent {
    Forward(Vec<ForwardEvent>),
    /// The repository cannot be used. Said once.
    Cut {
        reason: String,
        hint: Option<String>,
    },
    Continues,
}

pub(super) struct Sender {
    orders: mpsc::Sender<Vec<PulledSource>>,
    events: Receiver<SenderEvent>,
    thread: JoinHandle<()>,
}

impl Sender {
    /// Starts to send. `is_cut` if the last try has failed.
    pub(super) fn start(forwarder: Forwarder, is_cut: bool) -> Result<Self, WatchError> {
        let (orders, wanted) = mpsc::channel();
        let (said, events) = mpsc::channel();
        let work = Work { forwarder, said, clock: MachineClock::default(), failures: u32::from(is_cut) };
        let run = move || work.run(&wanted);
        let thread = std::thread::Builder::new().name("iostall-pull".into()).spawn(run);
        Ok(Self { orders, events, thread: thread.map_err(WatchError::Thread)? })
    }

    pub(super) fn replace(&self, sources: Vec<PulledSource>) {
        // A thread that panicked sends nothing any more, and the spool keeps what is sampled.
        let _ = self.orders.send(sources);
    }

    pub(super) fn events(&self) -> Vec<SenderEvent> {
        self.events.try_iter().collect()
    }

    pub(super) fn close(self) -> Vec<SenderEvent> {
        let Self { orders, events, thread } = self;
        drop(orders);
        let _ = thread.join();
        events.try_iter().collect()
    }
}

struct Work {
    forwarder: Forwarder,
    said: mpsc::Sender<SenderEvent>,
    clock: MachineClock,
    failures: u32,
}

impl Work {
    fn run(mut self, wanted: &Receiver<Vec<PulledSource>>) {
        let (mut due_ns, mut last) = (0_u64, String::new());
        loop {
            let wait = Duration::from_nanos(due_ns.saturating_sub(self.now_ns()));
            match receive(wanted, wait) {
                Ok(sources) => self.forwarder.replace(sources),
                Err(RecvTimeoutError::Timeout) => {
                    let pause = self.round(&mut last, &|| false);
                    due_ns =
                        self.now_ns().saturating_add(u64::try_from(pause.as_nanos()).unwrap_or(u64::MAX));
                }
                Err(RecvTimeoutError::Disconnected) => return self.end(&mut last),
            }
        }
    }

    /// Sends what there is. How long to wait.
    fn round(&mut self, last: &mut String, is_over: &dyn Fn() -> bool) -> Duration {
        let done = self.forwarder.round(self.now_ns(), is_over);
        let events = self.forwarder.events();
        if !events.is_empty() {
            self.say(SenderEvent::Forward(events));
        }
        match done {
            Ok(()) => {
                if self.failures > 0 {
                    self.say(SenderEvent::Continues);
                }
                self.failures = 0;
                last.clear();
                LOOK_EVERY
            }
            Err(error) => {
                self.failed(&error, last);
                pause(self.failures)
            }
        }
    }

    fn failed(&mut self, error: &WatchError, last: &mut String) {
        self.failures = self.failures.saturating_add(1);
        let reason = error.to_string();
        if reason != *last {
            self.say(SenderEvent::Cut { reason: reason.clone(), hint: error.hint() });
            *last = reason;
        }
    }

    fn end(&mut self, last: &mut String) {
        let (clock, end_ns) = (self.clock.clone(), self.now_ns().saturating_add(END_NS));
        self.round(last, &|| clock.now().clock_ns >= end_ns);
        if self.failures == 0
            && let Err(error) = self.forwarder.finish(self.now_ns())
        {
            self.failed(&error, last);
        }
    }

    fn say(&self, event: SenderEvent) {
        // Nobody may listen any more.
        let _ = self.said.send(event);
    }

    fn now_ns(&self) -> u64 {
        self.clock.now().clock_ns
    }
}

/// The pause after so many failures, of a random length up to a longest one that grows.
fn pause(failures: u32) -> Duration {
    let longest = LOOK_EVERY.saturating_mul(1 << failures.min(8)).min(PAUSE_MAX);
    let part = random_bytes::<1>().map_or(127, |[part]| part);
    longest / 2 + longest / 512 * u32::from(part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_and_stay_below_the_time_after_which_others_take_over() {
        assert!((1..40).all(|failures| pause(failures) >= LOOK_EVERY && pause(failures) <= PAUSE_MAX));
        assert!(pause(1) <= LOOK_EVERY * 2);
    }
}
