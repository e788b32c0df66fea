//! Sends what is sampled to other monitoring systems, on a thread of its own for each of them.

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

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread::JoinHandle;
use std::time::Duration;

use iostall_measure::clock::receive;
use iostall_store::{CollectorState, History};

use crate::clock::{MachineClock, WatchClock};
use crate::error::WatchError;

use feed::Feed;
use receiver::NetworkReceiver;
use sender::{Round, Sender};

pub use sender::PushEvent;
pub(crate) use source::PushSource;
pub use target::{BACKLOG, PushTarget, WrittenPush};

/// How long the end of a collector may take: what is left is sent by the next one.
const END_NS: u64 = 5_000_000_000;
const LOOK_EVERY: Duration = Duration::from_secs(1);

pub(crate) struct Push {
    sources: Option<mpsc::Sender<PushSource>>,
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
        let (sources, wanted) = mpsc::channel();
        let (said, events) = mpsc::channel();
        let is_stopped = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&is_stopped);
        let sender = Sender::new(feed, receiver, target);
        let run = move || run(sender, &wanted, &said, &stopped);
        let thread = std::thread::Builder::new().name("iostall-push".into()).spawn(run);
        let thread = Some(thread.map_err(WatchError::Thread)?);
        Ok(Self { sources: Some(sources), is_stopped, events, thread })
    }

    pub(crate) fn add(&self, source: PushSource) {
        if let Some(sources) = &self.sources {
            // A thread that panicked sends nothing any more, and sampling continues.
            let _ = sources.send(source);
        }
    }

    pub(crate) fn events(&self) -> Vec<PushEvent> {
        self.events.try_iter().collect()
    }

    /// Sends what waits, unless the receiver fails, and ends.
    pub(crate) fn close(mut self) -> Vec<PushEvent> {
        self.end();
        self.events()
    }

    fn end(&mut self) {
        self.is_stopped.store(true, Ordering::Relaxed);
        self.sources = None;
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

fn run<H: History + CollectorState>(
    mut sender: Sender<H, NetworkReceiver>,
    wanted: &Receiver<PushSource>,
    said: &mpsc::Sender<PushEvent>,
    is_stopped: &AtomicBool,
) {
    let clock = MachineClock::default();
    let since = clock.now().utc;
    let mut wait = Duration::ZERO;
    let mut due_ns = 0;
    loop {
        match receive(wanted, wait) {
            Ok(source) => sender.add(source, since),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                let end_ns = clock.now().clock_ns.saturating_add(END_NS);
                if !sender.is_failing() {
                    sender.round(clock.now().utc, &|| clock.now().clock_ns >= end_ns);
                }
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
