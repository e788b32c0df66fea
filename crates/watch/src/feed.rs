//! The data of a live view: from sources sampled for it, or from the store of a collector.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use iostall_collect::{Filter, Source, SourceError};
use iostall_measure::Clock as _;
use iostall_measure::clock::{RunClock, receive, utc_now};
use iostall_model::{Sample, Step};
use iostall_store::{History, SourceId, Watched};
use jiff::{SignedDuration, Timestamp};

use crate::error::WatchError;
use crate::named::NamedSource;
use crate::sampling::{Event, Sampler, SamplerOptions};

/// A source without samples for this long is not being watched any more.
const WATCHED_WITHIN: SignedDuration = SignedDuration::from_hours(1);
/// Checking a store more than once a second shows nothing new, because the collector's ticks decide.
const LOOK_EVERY_NS: u64 = 1_000_000_000;

/// What is new.
#[derive(Clone, Copy, Debug)]
pub enum FeedEvent<'a> {
    /// A source was sampled.
    Step {
        source: &'a str,
        step: &'a Step,
    },
    Gap {
        source: &'a str,
        at: Timestamp,
        reason: &'a str,
    },
}

/// Who sees it.
pub type FeedObserver<'o> = &'o mut dyn FnMut(FeedEvent<'_>);

/// Provides the steps for a view.
pub trait Feed {
    /// Passes new data to `observer`, waiting at most `limit` for it.
    fn wait(&mut self, limit: Duration, observer: FeedObserver<'_>) -> Result<(), WatchError>;

    /// Whether the first wait returns everything there is.
    fn is_complete_at_once(&self) -> bool;

    /// Changes the sampling interval. Only for feeds that have one.
    fn set_interval(&mut self, interval: Duration) -> Result<(), WatchError>;
}

/// Opens a source repeatedly, because a changed interval starts over.
pub type OpenSource = Box<dyn Fn() -> Result<Box<dyn Source>, SourceError>>;

/// Sources sampled for the view.
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

    /// Starts sampling.
    pub fn start(sources: Vec<(String, OpenSource)>, interval: Duration) -> Result<Self, WatchError> {
        let (sampler, events) = start(&sources, interval)?;
        Ok(Self { sources, sampler, events })
    }

    fn show(&self, event: &Event, observer: FeedObserver<'_>) {
        match event {
            Event::Step { source, step } => {
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

/// What a collector writes to a store.
pub struct StoredFeed<H> {
    history: H,
    clock: RunClock,
    look_ns: u64,
    /// The last sample shown of each source.
    shown: HashMap<SourceId, Timestamp>,
}

impl<H: History> StoredFeed<H> {
    /// The history in the file `store`, which a collector must be writing.
    pub fn new(history: H, store: PathBuf) -> Result<Self, WatchError> {
        Self::on(RunClock::of_machine(), history, store)
    }

    fn on(clock: RunClock, history: H, store: PathBuf) -> Result<Self, WatchError> {
        let new = Self { history, clock, look_ns: 0, shown: HashMap::new() };
        if new.watched()?.is_empty() {
            return Err(WatchError::NothingWatched { store });
        }
        Ok(new)
    }

    /// The sources being watched.
    pub fn names(&self) -> Vec<String> {
        let watched = self.watched().unwrap_or_default();
        watched.into_iter().map(|watched| watched.source.name).collect()
    }

    fn watched(&self) -> Result<Vec<Watched>, WatchError> {
        let mut all = self.history.sources()?;
        let now = utc_now();
        all.retain(|watched| watched.last.is_some_and(|last| now.duration_since(last) < WATCHED_WITHIN));
        Ok(all)
    }

    /// Shows the interval up to the newest sample of `watched`, or that there has been none since.
    fn show(
        &mut self,
        watched: &Watched,
        last: Timestamp,
        observer: FeedObserver<'_>,
    ) -> Result<(), WatchError> {
        let (id, source) = (watched.source.id, watched.source.name.as_str());
        if self.shown.insert(id, last) != Some(last) {
            let warnings = self.history.warnings(id, last, last)?;
            let just_before = last.checked_sub(SignedDuration::from_nanos(1)).unwrap_or(last);
            let mut newest: Option<Step> = None;
            self.history.intervals(id, just_before, last, &mut |step| newest = Some(step))?;
            if newest.is_none() {
                newest = self.history.last_sample(id)?.map(|sample| Step::first(Arc::new(sample)));
            }
            if let Some(mut step) = newest {
                let sample = Arc::unwrap_or_clone(step.sample);
                step.sample = Arc::new(Sample { warnings, ..sample });
                observer(FeedEvent::Step { source, step: &step });
            }
        }
        for gap in self.history.gaps(id, last, utc_now())? {
            observer(FeedEvent::Gap { source, at: gap.at, reason: &gap.reason });
        }
        Ok(())
    }
}

impl<H: History> Feed for StoredFeed<H> {
    fn wait(&mut self, limit: Duration, observer: FeedObserver<'_>) -> Result<(), WatchError> {
        let now_ns = self.clock.now_ns();
        let limit_ns = u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX);
        self.clock.sleep_until(self.look_ns.min(now_ns.saturating_add(limit_ns)));
        if self.clock.now_ns() < self.look_ns {
            return Ok(());
        }
        self.look_ns = self.clock.now_ns() + LOOK_EVERY_NS;
        for watched in self.watched()? {
            if let Some(last) = watched.last {
                self.show(&watched, last, observer)?;
            }
        }
        Ok(())
    }

    fn is_complete_at_once(&self) -> bool {
        // It is unknown whether more will come.
        true
    }

    fn set_interval(&mut self, _interval: Duration) -> Result<(), WatchError> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use iostall_measure::ManualClock;
    use iostall_model::{Epoch, SampleTime};
    use iostall_store::SqliteHistory;

    use super::*;
    use crate::windows::fixture;

    fn sample(utc: Timestamp, clock_ns: u64) -> Sample {
        let taken = SampleTime { utc, clock: "c".into(), clock_ns };
        let rows = vec![fixture::row("a.mdf", None)];
        Sample { taken, epoch: Epoch::default(), rows, warnings: Vec::new() }
    }

    /// A view that looks at the store again only after years shows the first sample for ever; one that looks all the time keeps the
    /// collector from writing.
    #[test]
    fn a_store_is_looked_at_once_a_second_and_no_wait_is_longer_than_its_limit() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("store.db");
        let mut collector = SqliteHistory::open(&path).unwrap();
        let source = collector.source("db1").unwrap().id;
        let first = Timestamp::from_second(utc_now().as_second() - 10).unwrap();
        collector.add_sample(source, sample(first, 5)).unwrap();
        let clock = ManualClock::new();
        clock.advance_to(60_000_000_000);
        let history = SqliteHistory::open(&path).unwrap();
        let mut feed = StoredFeed::on(RunClock::Manual(clock.clone()), history, path).unwrap();
        let mut shown = |limit_ms: u64| {
            let mut times = Vec::new();
            let mut observer = |event: FeedEvent<'_>| {
                if let FeedEvent::Step { step, .. } = event {
                    times.push(step.sample.taken.utc);
                }
            };
            feed.wait(Duration::from_millis(limit_ms), &mut observer).unwrap();
            (times, clock.now_ns() / 1_000_000)
        };
        assert_eq!(shown(5000), (vec![first], 60_000));
        let second = first + SignedDuration::from_millis(400);
        collector.add_sample(source, sample(second, 400_000_005)).unwrap();
        assert_eq!(shown(300), (vec![], 60_300), "it is not time yet");
        assert_eq!(shown(5000), (vec![second], 61_000));
        assert_eq!(shown(5000), (vec![], 62_000));
    }
}
