//! Sends what is sampled to other monitoring systems, on a thread of its own for each of them.

mod counts;
mod distribution;
mod feed;
mod otlp;
mod pause;
mod protobuf;
mod receiver;
mod remote_write;
mod runs;
mod sender;
mod series;
mod source;
mod target;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use iostall_measure::clock::receive;
use iostall_store::{CollectorState, History};

use crate::clock::{MachineClock, WatchClock};
use crate::error::WatchError;

use feed::Feed;
use receiver::NetworkReceiver;
use sender::{Round, Sender};

pub(crate) use counts::PushCounts;
pub use counts::PushNow;
pub(crate) use feed::{PUSHED, is_positions};
pub(crate) use runs::{PUSHED_RUNS, is_position_of_runs};
pub use sender::PushEvent;
pub(crate) use source::PushSource;
pub use target::{BACKLOG, PushTarget, WrittenPush};

/// How long the end of a collector may take: what is left is sent by the next one.
const END_NS: u64 = 5_000_000_000;
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Events that nobody has asked for yet; with more, the receiver waits.
const EVENTS_MAX: usize = 100;

/// Sources that are to be sent, by name, until the thread takes them.
type Wanted = Arc<Mutex<BTreeMap<String, PushSource>>>;

pub(crate) struct Push {
    wanted: Wanted,
    /// Tells the thread that there are some.
    wake: Option<SyncSender<()>>,
    counts: Arc<PushCounts>,
    is_stopped: Arc<AtomicBool>,
    events: Receiver<PushEvent>,
    thread: Option<JoinHandle<()>>,
}

impl Push {
    pub(crate) fn start<H>(store: H, target: PushTarget) -> Result<Self, WatchError>
    where
        H: History + CollectorState + Send + 'static,
    {
        let failed = |reason| WatchError::Push { receiver: target.name(), reason };
        let receiver = NetworkReceiver::new(target.clone()).map_err(failed)?;
        let feed = Feed::new(store, &target.identity(), target.backlog)?;
        let (wake, calls) = sync_channel(1);
        let (said, events) = sync_channel(EVENTS_MAX);
        let wanted = Wanted::default();
        let is_stopped = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&is_stopped);
        let sender = Sender::new(feed, receiver, target);
        let counts = sender.counts();
        let to_send = Arc::clone(&wanted);
        let run = move || run(sender, (&calls, &to_send), &said, &stopped);
        let thread = std::thread::Builder::new().name("iostall-push".into()).spawn(run);
        let thread = Some(thread.map_err(WatchError::Thread)?);
        Ok(Self { wanted, wake: Some(wake), counts, is_stopped, events, thread })
    }

    pub(crate) fn add(&self, source: PushSource) {
        lock(&self.wanted).insert(source.name.clone(), source);
        if let Some(wake) = &self.wake {
            // If it was called already there is nothing to add. A thread that panicked sends nothing any more, and sampling continues.
            let _ = wake.try_send(());
        }
    }

    pub(crate) fn counts(&self) -> Arc<PushCounts> {
        Arc::clone(&self.counts)
    }

    pub(crate) fn events(&self) -> Vec<PushEvent> {
        self.events.try_iter().collect()
    }

    /// Sends what waits, unless the receiver fails, and ends.
    pub(crate) fn close(mut self) -> Vec<PushEvent> {
        self.is_stopped.store(true, Ordering::Relaxed);
        self.wake = None;
        // Until its last word.
        let events = self.events.iter().collect();
        self.end();
        events
    }

    fn end(&mut self) {
        self.is_stopped.store(true, Ordering::Relaxed);
        self.wake = None;
        if let Some(thread) = self.thread.take() {
            // What was not sent is sent by the next collector.
            let _ = thread.join();
        }
    }
}

impl Drop for Push {
    fn drop(&mut self) {
        self.end();
    }
}

fn lock<T>(wanted: &Mutex<T>) -> MutexGuard<'_, T> {
    wanted.lock().unwrap_or_else(PoisonError::into_inner)
}

fn run<H: History + CollectorState>(
    mut sender: Sender<H, NetworkReceiver>,
    (calls, wanted): (&Receiver<()>, &Wanted),
    said: &SyncSender<PushEvent>,
    is_stopped: &AtomicBool,
) {
    let clock = MachineClock::default();
    let since = clock.now().utc;
    let mut wait = Duration::ZERO;
    let mut due_ns = 0;
    loop {
        let called = receive(calls, wait);
        for source in std::mem::take(&mut *lock(wanted)).into_values() {
            sender.add(source, since);
        }
        match called {
            Ok(()) | Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                let end_ns = clock.now().clock_ns.saturating_add(END_NS);
                if !sender.is_failing() {
                    sender.round(clock.now().utc, &|| clock.now().clock_ns >= end_ns);
                }
                sender.end(clock.now().utc);
                sender.events().into_iter().for_each(|event| drop(said.send(event)));
                return;
            }
        }
        let now = clock.now();
        if now.clock_ns >= due_ns {
            let pause = match sender.round(now.utc, &|| is_stopped.load(Ordering::Relaxed)) {
                Round::Done => LOOK_EVERY,
                Round::Failed(pause) => pause,
            };
            sender.events().into_iter().for_each(|event| drop(said.send(event)));
            due_ns = clock.now().clock_ns.saturating_add(u64::try_from(pause.as_nanos()).unwrap_or(u64::MAX));
        }
        wait = Duration::from_nanos(due_ns.saturating_sub(clock.now().clock_ns));
    }
}
