//! Sources that come and go while others are sampled on.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use iostall_collect::Source;
use iostall_measure::clock::{receive, utc_now};
use jiff::Timestamp;

use super::event::{Event, Next, SamplerOptions, Sampling};
use super::sampler::{EVENTS_WAITING_MAX, Stop, Stopper, thread_of};

/// A thread for every source.
pub(crate) struct SourceThreads {
    sender: SyncSender<Event>,
    events: Receiver<Event>,
    stopper: Stopper,
    until: Option<Timestamp>,
    threads: Vec<SourceThread>,
}

struct SourceThread {
    index: usize,
    stop: Arc<Stop>,
    handle: JoinHandle<()>,
}

impl SourceThreads {
    /// No threads yet; all of them end after `until`.
    pub(crate) fn new(until: Option<Timestamp>) -> Self {
        let (sender, events) = sync_channel(EVENTS_WAITING_MAX);
        Self { sender, events, stopper: Stopper::default(), until, threads: Vec::new() }
    }

    /// Ends all of it, from anywhere.
    pub(crate) fn stopper(&self) -> Stopper {
        self.stopper.clone()
    }

    /// Samples `source` as number `index` from now on, in place of the one that had this number.
    pub(crate) fn put(&mut self, index: usize, source: Box<dyn Source>, options: SamplerOptions) {
        self.remove(index);
        let stop = Arc::new(Stop::default());
        self.stopper.watch(&stop);
        let handle = thread_of(index, source, options, &self.sender, &stop);
        self.threads.push(SourceThread { index, stop, handle });
    }

    /// Samples source number `index` no more. A reading that is under way is not waited for, and still gives its event.
    pub(crate) fn remove(&mut self, index: usize) {
        self.threads.retain(|thread| {
            if thread.index == index {
                thread.stop.set();
            }
            thread.index != index
        });
    }

    fn is_over(&self) -> bool {
        let is_past = || self.until.is_some_and(|until| utc_now() > until);
        let all_ended = self.threads.iter().all(|thread| thread.handle.is_finished());
        all_ended && (!self.threads.is_empty() || self.stopper.is_set() || is_past())
    }
}

impl Sampling for SourceThreads {
    fn next(&mut self, limit: Duration) -> Next {
        // Before the wait: what ended threads have sent is in the channel by then.
        let is_over = self.is_over();
        let limit = if is_over { Duration::ZERO } else { limit };
        match receive(&self.events, limit) {
            Ok(event) => Next::Event(event),
            Err(RecvTimeoutError::Timeout) if !is_over => Next::Nothing,
            Err(_) => Next::Ended,
        }
    }
}
