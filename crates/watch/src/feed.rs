//! The data of a live view: from sources sampled for it, or from the store of a collector.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use iostall_collect::{Filter, Source, SourceError};
use iostall_measure::clock::receive;
use iostall_model::Step;
use jiff::{SignedDuration, Timestamp};

use crate::error::WatchError;
use crate::named::NamedSource;
use crate::sampling::{Event, Sampler, SamplerOptions};
use crate::windows::Interval;

#[derive(Clone, Copy, Debug)]
pub enum FeedEvent<'a> {
    Step {
        source: &'a str,
        step: &'a Step,
    },
    Gap {
        source: &'a str,
        at: Timestamp,
        reason: &'a str,
    },
    Past {
        source: &'a str,
        interval: &'a Interval,
    },
    /// What follows is as it was at that time, or now again; what was shown before is not of that time.
    Moved {
        at: Option<Timestamp>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Travel {
    Back,
    Forward,
    /// By that much time, back if it is negative.
    By(SignedDuration),
    To(Timestamp),
    /// To what is sampled now.
    Live,
}

pub type FeedObserver<'o> = &'o mut dyn FnMut(FeedEvent<'_>);

pub trait Feed {
    fn wait(&mut self, limit: Duration, observer: FeedObserver<'_>) -> Result<(), WatchError>;

    /// Whether the first wait returns everything there is.
    fn is_complete_at_once(&self) -> bool;

    /// Goes to another time and passes on what was sampled until then. Returns whether there is anything.
    fn travel(&mut self, travel: Travel, observer: FeedObserver<'_>) -> Result<bool, WatchError>;

    fn set_interval(&mut self, interval: Duration) -> Result<(), WatchError>;
}

/// Opens a source repeatedly, because a changed interval starts over.
pub type OpenSource = Box<dyn Fn() -> Result<Box<dyn Source>, SourceError>>;

pub struct SampledFeed {
    sources: Vec<(String, OpenSource)>,
    sampler: Sampler,
    events: Receiver<Event>,
}

impl SampledFeed {
    /// Starts sampling what a user named; no reading takes longer than `limit`.
    pub fn of_named(
        sources: Vec<NamedSource>,
        limit: Duration,
        interval: Duration,
    ) -> Result<Self, WatchError> {
        let opener = |source: NamedSource| -> (String, OpenSource) {
            (source.name().to_owned(), Box::new(move || source.open(limit)))
        };
        Self::start(sources.into_iter().map(opener).collect(), interval)
    }

    pub fn start(sources: Vec<(String, OpenSource)>, interval: Duration) -> Result<Self, WatchError> {
        let (sampler, events) = start(&sources, interval)?;
        Ok(Self { sources, sampler, events })
    }

    fn show(&self, event: &Event, observer: FeedObserver<'_>) {
        match event {
            Event::Step { source, step, .. } => {
                observer(FeedEvent::Step { source: &self.sources[*source].0, step });
            }
            Event::Missed(missed) => {
                let source = &self.sources[missed.source].0;
                observer(FeedEvent::Gap { source, at: missed.gap.at, reason: &missed.gap.reason });
            }
        }
    }
}

fn start(
    sources: &[(String, OpenSource)],
    interval: Duration,
) -> Result<(Sampler, Receiver<Event>), WatchError> {
    let opened: Vec<Box<dyn Source>> = sources.iter().map(|(_, open)| open()).collect::<Result<_, _>>()?;
    Ok(Sampler::start(opened, &SamplerOptions { interval, until: None, filter: Filter::default() }))
}

impl Feed for SampledFeed {
    fn wait(&mut self, limit: Duration, observer: FeedObserver<'_>) -> Result<(), WatchError> {
        match receive(&self.events, limit) {
            Ok(event) => self.show(&event, observer),
            Err(RecvTimeoutError::Timeout) => return Ok(()),
            Err(RecvTimeoutError::Disconnected) => return Err(WatchError::SamplingEnded),
        }
        while let Ok(event) = self.events.try_recv() {
            self.show(&event, observer);
        }
        Ok(())
    }

    fn is_complete_at_once(&self) -> bool {
        false
    }

    fn travel(&mut self, _travel: Travel, _observer: FeedObserver<'_>) -> Result<bool, WatchError> {
        // What was sampled for a view is stored nowhere.
        Ok(false)
    }

    fn set_interval(&mut self, interval: Duration) -> Result<(), WatchError> {
        // A reading in progress is not waited for: it ends within its limit, and its result is dropped.
        self.sampler.stopper().stop();
        (self.sampler, self.events) = start(&self.sources, interval)?;
        Ok(())
    }
}

impl Drop for SampledFeed {
    fn drop(&mut self) {
        self.sampler.stopper().stop();
    }
}
