//! The data of a live view from the store of a collector: the newest samples, or those of a time in the past.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use iostall_measure::Clock as _;
use iostall_measure::clock::{RunClock, utc_now};
use iostall_model::{Sample, Step};
use iostall_store::{History, SourceId, Watched};
use jiff::{SignedDuration, Timestamp};

use crate::error::WatchError;
use crate::feed::{Feed, FeedEvent, FeedObserver, Travel};
use crate::stored_past::{StoredPast, WATCHED_WITHIN};

/// Checking a store more than once a second shows nothing new, because the collector's ticks decide.
const LOOK_EVERY_NS: u64 = 1_000_000_000;

pub struct StoredFeed<H> {
    history: H,
    clock: RunClock,
    look_ns: u64,
    shown: HashMap<SourceId, Timestamp>,
    /// The time in the past that is shown; `None`: now.
    position: Option<Timestamp>,
}

impl<H: History> StoredFeed<H> {
    /// The history in the file `store`, which a collector must be writing.
    pub fn new(history: H, store: PathBuf) -> Result<Self, WatchError> {
        Self::on(RunClock::of_machine(), history, store)
    }

    fn on(clock: RunClock, history: H, store: PathBuf) -> Result<Self, WatchError> {
        let new = Self::of(clock, history);
        if new.watched()?.is_empty() {
            return Err(WatchError::NothingWatched { store });
        }
        Ok(new)
    }

    /// The history in the file `store`, which may have ended long ago, for [`Feed::travel`].
    pub fn of_past(history: H, store: PathBuf) -> Result<Self, WatchError> {
        let new = Self::of(RunClock::of_machine(), history);
        if new.history.sources()?.iter().all(|watched| watched.last.is_none()) {
            return Err(WatchError::NothingWatched { store });
        }
        Ok(new)
    }

    fn of(clock: RunClock, history: H) -> Self {
        Self { history, clock, look_ns: 0, shown: HashMap::new(), position: None }
    }

    pub fn names(&self) -> Vec<String> {
        let mut watched = self.watched().unwrap_or_default();
        if watched.is_empty() {
            watched = self.history.sources().unwrap_or_default();
        }
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
        let shown = self.shown.insert(id, last);
        if shown.is_none() {
            // What came before is the beginning of its graph.
            let mut past = StoredPast(&self.history).until(id, last)?;
            past.pop_back();
            for interval in &past {
                observer(FeedEvent::Past { source, interval });
            }
        }
        if shown != Some(last) {
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

    /// Where `travel` leads; `None` is now.
    fn destination(&self, travel: Travel) -> Result<Destination, WatchError> {
        let past = StoredPast(&self.history);
        let newest = self.history.sources()?.iter().filter_map(|watched| watched.last).max();
        let here = self.position.or(newest).unwrap_or_else(utc_now);
        let before =
            |at| past.sample_before(at).map(|found| found.map_or(Destination::Nothing, Destination::At));
        let after = |at| past.sample_after(at).map(|found| found.map_or(Destination::Now, Destination::At));
        // A sample at that very time counts.
        let beyond = StoredPast::<H>::APART.saturating_add(SignedDuration::from_nanos(1));
        let until = |at: Timestamp| before(at.checked_add(beyond).unwrap_or(at));
        match travel {
            Travel::Live => Ok(Destination::Now),
            Travel::Back => before(here),
            Travel::Forward => after(here),
            Travel::To(at) => match until(at)? {
                // The time is before the first sample.
                Destination::Nothing => after(at),
                found => Ok(found),
            },
            Travel::By(time) => {
                let there = here.checked_add(time).unwrap_or(here);
                match until(there)? {
                    // Within a gap the time before it is where the reader is now.
                    Destination::At(at) if time.is_positive() && at <= here => after(here),
                    Destination::Nothing if time.is_negative() => Ok(past
                        .sample_after(there)?
                        .filter(|first| *first < here)
                        .map_or(Destination::Nothing, Destination::At)),
                    _ if newest.is_some_and(|newest| there > newest) => Ok(Destination::Now),
                    found => Ok(found),
                }
            }
        }
    }

    fn show_past(&self, at: Timestamp, observer: FeedObserver<'_>) -> Result<(), WatchError> {
        for watched in self.history.sources()? {
            let (id, source) = (watched.source.id, watched.source.name.as_str());
            let past = StoredPast(&self.history).until(id, at)?;
            for interval in &past {
                observer(FeedEvent::Past { source, interval });
            }
        }
        Ok(())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Destination {
    Now,
    At(Timestamp),
    Nothing,
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
        if self.position.is_some() {
            return Ok(());
        }
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

    fn travel(&mut self, travel: Travel, observer: FeedObserver<'_>) -> Result<bool, WatchError> {
        match self.destination(travel)? {
            Destination::Nothing => return Ok(false),
            Destination::Now => {
                (self.position, self.look_ns) = (None, 0);
                self.shown.clear();
                observer(FeedEvent::Moved { at: None });
            }
            Destination::At(at) => {
                self.position = Some(at);
                observer(FeedEvent::Moved { at: Some(at) });
                self.show_past(at, observer)?;
            }
        }
        Ok(true)
    }

    fn set_interval(&mut self, _interval: Duration) -> Result<(), WatchError> {
        Ok(())
    }
}

#[cfg(test)]
mod tests;
