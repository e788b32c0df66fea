//! Where the view gets its samples: from the sources themselves, or from the store that a collector writes.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use iostall_collect::Filter;
use iostall_measure::clock::utc_now;
use iostall_measure::{Clock, MonotonicClock};
use iostall_model::{Sample, delta};
use iostall_report::top::TopState;
use iostall_store::{History, SourceId, SqliteHistory, Step, Watched};
use iostall_watch::{Event, Sampler, SamplerOptions};
use jiff::{SignedDuration, Timestamp};

use crate::failure::hinted;
use crate::store::with_hint;
use crate::watching::Named;

/// How often to look whether to stop.
const LOOK_AT_STOP: Duration = Duration::from_millis(200);
/// A source that was sampled longer ago is not watched any more.
const WATCHED_WITHIN: SignedDuration = SignedDuration::from_hours(1);

/// See the module.
pub(super) trait Feed {
    /// Gives `state` what is new, waiting for it no longer than `limit`.
    fn wait(&mut self, state: &mut TopState, limit: Duration) -> anyhow::Result<()>;

    /// Waits until every source has said something, or as long as that makes sense, or until `stop`.
    fn fill(&mut self, state: &mut TopState, stop: &AtomicBool) -> anyhow::Result<()>;

    /// Samples at another interval from now on. Asked only of those who have one.
    fn set_interval(&mut self, interval: Duration) -> anyhow::Result<()>;
}

/// Sources that are sampled for the view.
pub(super) struct Sampled {
    sources: Vec<Named>,
    limit: Duration,
    before: Vec<Option<Sample>>,
    sampler: Sampler,
    events: Receiver<Event>,
}

impl Sampled {
    pub(super) fn start(sources: Vec<Named>, limit: Duration, interval: Duration) -> anyhow::Result<Self> {
        let (sampler, events) = start(&sources, limit, interval)?;
        Ok(Self { before: vec![None; sources.len()], sources, limit, sampler, events })
    }

    fn see(&mut self, event: Event, state: &mut TopState) {
        match event {
            Event::Sample { source, sample } => {
                let warnings = sample.warnings.clone();
                let (name, taken) = (&self.sources[source].name, sample.taken.utc);
                match &self.before[source] {
                    Some(before) => {
                        let changes = delta::compare(before, &sample);
                        state.sample(
                            name,
                            taken,
                            sample.rows.iter().cloned().zip(changes).collect(),
                            warnings,
                        );
                    }
                    None => state.first_sample(name, taken, warnings),
                }
                self.before[source] = Some(sample);
            }
            Event::Missed(missed) => {
                state.gap(&self.sources[missed.source].name, missed.gap.at, &missed.gap.reason);
            }
        }
    }
}

fn start(
    sources: &[Named],
    limit: Duration,
    interval: Duration,
) -> anyhow::Result<(Sampler, Receiver<Event>)> {
    let opened = sources.iter().map(|source| source.open(limit)).collect::<anyhow::Result<_>>()?;
    Ok(Sampler::start(opened, &SamplerOptions { interval, until: None, filter: Filter::default() }))
}

impl Feed for Sampled {
    fn wait(&mut self, state: &mut TopState, limit: Duration) -> anyhow::Result<()> {
        match self.events.recv_timeout(limit) {
            Ok(event) => self.see(event, state),
            Err(RecvTimeoutError::Timeout) => return Ok(()),
            Err(RecvTimeoutError::Disconnected) => anyhow::bail!("nothing is sampled any more"),
        }
        while let Ok(event) = self.events.try_recv() {
            self.see(event, state);
        }
        Ok(())
    }

    fn fill(&mut self, state: &mut TopState, stop: &AtomicBool) -> anyhow::Result<()> {
        while !state.is_complete() && !stop.load(Ordering::Relaxed) {
            self.wait(state, LOOK_AT_STOP)?;
        }
        Ok(())
    }

    fn set_interval(&mut self, interval: Duration) -> anyhow::Result<()> {
        // A reading under way is not waited for: it ends within its limit, and nobody hears of it.
        self.sampler.stopper().stop();
        (self.sampler, self.events) = start(&self.sources, self.limit, interval)?;
        Ok(())
    }
}

impl Drop for Sampled {
    fn drop(&mut self) {
        self.sampler.stopper().stop();
    }
}

/// What a collector writes.
pub(super) struct Stored {
    store: SqliteHistory,
    clock: MonotonicClock,
    /// When to look again.
    look_ns: u64,
    /// Up to which sample each source has been shown.
    shown: HashMap<SourceId, Timestamp>,
}

impl Stored {
    pub(super) fn new(store: SqliteHistory) -> anyhow::Result<Self> {
        let new = Self { store, clock: MonotonicClock::new(), look_ns: 0, shown: HashMap::new() };
        if new.watched()?.is_empty() {
            let error =
                anyhow::anyhow!("nothing was sampled into {} within the hour", new.store.path().display());
            return Err(hinted(
                error,
                "name a SOURCE, such as linux:, or let `iostall collect run` sample some",
            ));
        }
        Ok(new)
    }

    /// The sources that are being watched.
    pub(super) fn names(&self) -> Vec<String> {
        let watched = self.watched().unwrap_or_default();
        watched.into_iter().map(|watched| watched.source.name).collect()
    }

    fn watched(&self) -> anyhow::Result<Vec<Watched>> {
        let mut all = self.store.sources().map_err(with_hint)?;
        let now = utc_now();
        all.retain(|watched| watched.last.is_some_and(|last| now.duration_since(last) < WATCHED_WITHIN));
        Ok(all)
    }

    /// Shows what happened up to the newest sample of `watched`, and that there is none since then.
    fn see(&mut self, watched: &Watched, last: Timestamp, state: &mut TopState) -> anyhow::Result<()> {
        let (id, name) = (watched.source.id, &watched.source.name);
        if self.shown.insert(id, last) != Some(last) {
            let warnings = self.store.warnings(id, last, last).map_err(with_hint)?;
            let just_before = last.checked_sub(SignedDuration::from_nanos(1)).unwrap_or(last);
            state.first_sample(name, last, warnings.clone());
            let mut newest = |step: Step| {
                state.sample(name, step.taken.utc, step.rows, warnings.clone());
            };
            self.store.intervals(id, just_before, last, &mut newest).map_err(with_hint)?;
        }
        for gap in self.store.gaps(id, last, utc_now()).map_err(with_hint)? {
            state.gap(name, gap.at, &gap.reason);
        }
        Ok(())
    }
}

impl Feed for Stored {
    fn wait(&mut self, state: &mut TopState, limit: Duration) -> anyhow::Result<()> {
        let now_ns = self.clock.now_ns();
        let limit_ns = u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX);
        self.clock.sleep_until(self.look_ns.min(now_ns.saturating_add(limit_ns)));
        if self.clock.now_ns() < self.look_ns {
            return Ok(());
        }
        // A collector's own beat decides what is new; looking more often than once a second shows nothing more.
        self.look_ns = self.clock.now_ns() + 1_000_000_000;
        for watched in self.watched()? {
            if let Some(last) = watched.last {
                self.see(&watched, last, state)?;
            }
        }
        Ok(())
    }

    fn fill(&mut self, state: &mut TopState, _stop: &AtomicBool) -> anyhow::Result<()> {
        // What the store has is there at once; whether more will come is not known.
        self.wait(state, Duration::ZERO)
    }

    fn set_interval(&mut self, _interval: Duration) -> anyhow::Result<()> {
        Ok(())
    }
}
