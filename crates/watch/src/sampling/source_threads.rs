//! Adds and removes sources while others are sampled.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use iostall_collect::Source;
use iostall_measure::clock::utc_now;
use jiff::Timestamp;

use super::event::{Event, Next, SamplerOptions, Sampling};
use super::grace::Grace;
use super::sampler::{EVENTS_WAITING_MAX, Stop, Stopper, thread_of};

pub(crate) struct SourceThreads {
    sender: SyncSender<Event>,
    events: Receiver<Event>,
    stopper: Stopper,
    until: Option<Timestamp>,
    threads: Vec<SourceThread>,
    grace: Grace,
}

struct SourceThread {
    index: usize,
    stop: Arc<Stop>,
    handle: JoinHandle<()>,
}

impl SourceThreads {
    pub(crate) fn new(until: Option<Timestamp>) -> Self {
        let (sender, events) = sync_channel(EVENTS_WAITING_MAX);
        let grace = Grace::default();
        Self { sender, events, stopper: Stopper::default(), until, threads: Vec::new(), grace }
    }

    fn is_over(&mut self) -> bool {
        let is_past = self.until.is_some_and(|until| utc_now() > until);
        let is_ending = self.stopper.is_set() || is_past;
        let all_ended = self.threads.iter().all(|thread| thread.handle.is_finished());
        all_ended && (!self.threads.is_empty() || is_ending) || self.grace.is_over(is_ending)
    }
}

impl SourceSet for SourceThreads {
    fn stopper(&self) -> Stopper {
        self.stopper.clone()
    }

    fn put(&mut self, index: usize, source: SetSource) {
        self.remove(index);
        let stop = Arc::new(Stop::default());
        self.stopper.watch(&stop);
        let handle = thread_of(index, source.source, source.options, &self.sender, &stop);
        self.threads.push(SourceThread { index, stop, handle });
    }

    fn remove(&mut self, index: usize) {
        self.threads.retain(|thread| {
            if thread.index == index {
                thread.stop.set();
            }
            thread.index != index
        });
    }
}

impl Sampling for SourceThreads {
    fn next(&mut self, limit: Duration) -> Next {
        let is_over = self.is_over();
        Next::of(&self.events, is_over, limit)
    }
}

pub(crate) struct SetSource {
    pub(crate) source: Box<dyn Source>,
    /// Its name, which no other source of the set has.
    pub(crate) name: String,
    /// The server that it is read from: several sources may have the same.
    pub(crate) server: String,
    pub(crate) options: SamplerOptions,
}

pub(crate) trait SourceSet: Sampling {
    /// Samples `source` as number `index`, replacing the previous one.
    fn put(&mut self, index: usize, source: SetSource);

    /// Stops sampling source number `index`. A reading in progress is not awaited, and still sends its event.
    fn remove(&mut self, index: usize);

    fn stopper(&self) -> Stopper;
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Waits in the kernel, for a mount that does not answer: its limit means nothing to it.
    struct Stuck;

    impl Source for Stuck {
        fn read(&mut self) -> Result<iostall_model::Sample, iostall_collect::SourceError> {
            loop {
                std::thread::park();
            }
        }
    }

    /// The story: `collect run` did not end on Ctrl-C, because the thread of one source was stuck in the kernel.
    #[test]
    fn a_source_that_never_answers_does_not_keep_sampling_from_its_end() {
        let mut threads = SourceThreads::new(None);
        threads.grace = Grace::of(Duration::ZERO);
        let options = SamplerOptions {
            interval: Duration::from_secs(1),
            until: None,
            filter: iostall_collect::Filter::default(),
        };
        let (name, server) = ("stuck".to_owned(), String::new());
        threads.put(0, SetSource { source: Box::new(Stuck), name, server, options });
        assert!(matches!(threads.next(Duration::from_millis(1500)), Next::Nothing));
        threads.stopper().stop();
        assert!(matches!(threads.next(Duration::from_secs(600)), Next::Ended));
    }

    #[test]
    fn without_a_source_there_is_nothing_until_it_is_stopped_and_then_the_end() {
        let mut threads = SourceThreads::new(None);
        assert!(matches!(threads.next(Duration::ZERO), Next::Nothing));
        threads.stopper().stop();
        assert!(matches!(threads.next(Duration::ZERO), Next::Ended));
    }
}
