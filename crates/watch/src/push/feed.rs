//! What is still to be sent, read from the store.
//!
//! The store is the queue: a sample is there before it is sent, survives a crash, and needs no second place on the disk. Of each source
//! only the position is kept, with what was counted up to it, so that what is sent twice is the same both times.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use iostall_model::{Change, Gap, ResetReason, Sample, delta};
use iostall_store::{Batch, CollectorState, History, SourceId, StoreError};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::series::{Builder, Metrics, Series, SourceCounts};

/// Values that are put together at most: some megabytes in every form.
const POINTS_MAX: usize = 50_000;
/// And samples: what is sent at once may be refused at once.
const SAMPLES_MAX: u32 = 60;

/// How far a source was sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Position {
    /// Number of the last sample that was sent.
    sequence: u64,
    /// The time up to which its gaps were sent.
    gaps_until: Timestamp,
    /// Whether it did not answer when it was looked at last.
    is_down: bool,
    /// Since it was sent first.
    samples: u64,
    gaps: u64,
    resets: BTreeMap<ResetReason, u64>,
}

/// A source that is sent.
struct Sent {
    id: SourceId,
    name: String,
    position: Position,
    /// The last sample that was sent.
    last: Option<Arc<Sample>>,
    /// Samples that are read at once.
    samples_max: u32,
}

/// What comes next of a source.
pub(super) struct Prepared {
    pub(super) series: Vec<Series>,
    /// Number of its samples and gaps.
    pub(super) count: usize,
    /// The source once this is sent.
    after: Sent,
}

/// See the module.
pub(super) struct Feed<H> {
    store: H,
    /// The name under which positions are kept.
    memory: String,
    sources: Vec<Sent>,
    metrics: Metrics,
    /// What is older is not sent.
    backlog: Duration,
    is_changed: bool,
    /// Positions that another collector left.
    known: BTreeMap<String, Position>,
}

impl<H: History + CollectorState> Feed<H> {
    /// A feed from `store` to the receiver named `receiver`, without sources so far.
    pub(super) fn new(store: H, receiver: &str, backlog: Duration) -> Result<Self, StoreError> {
        let memory = format!("pushed to {receiver}");
        let document = store.state(&memory)?;
        // A document of a newer version says nothing to this one: it begins as for a new receiver.
        let known = document.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
        let (sources, metrics) = (Vec::new(), Metrics::default());
        Ok(Self { store, memory, sources, metrics, backlog, is_changed: false, known })
    }

    /// Sends the source named `name`: from where it got to, or from `since` where it was never sent.
    pub(super) fn add(&mut self, name: &str, since: Timestamp) -> Result<(), StoreError> {
        if self.sources.iter().any(|known| known.name == name) {
            return Ok(());
        }
        let (own, all) = (self.store.id(), self.store.sources()?);
        let is_it = |source: &iostall_store::Source| source.store == own && source.name == name;
        let Some(source) = all.into_iter().map(|one| one.source).find(is_it) else { return Ok(()) };
        let id = source.id;
        let position = match self.known.get(&id.to_string()) {
            Some(position) => position.clone(),
            None => Position {
                sequence: self.number_before(id, since)?,
                gaps_until: since,
                is_down: false,
                samples: 0,
                gaps: 0,
                resets: BTreeMap::new(),
            },
        };
        let last = match position.sequence.checked_sub(1) {
            Some(before) => self.store.batch_after(id, before, 1)?.filter(|one| one.sequence == before + 1),
            None => None,
        };
        let last = last.and_then(|batch| batch.to_samples().ok()?.pop()).map(Arc::new);
        self.sources.push(Sent { id, name: source.name, position, last, samples_max: 1 });
        self.is_changed = true;
        Ok(())
    }

    /// Number of the last sample before `since`; 0 if there is none.
    fn number_before(&self, id: SourceId, since: Timestamp) -> Result<u64, StoreError> {
        let number = self.store.sample_before(id, since)?;
        let Some(before) = number.checked_sub(1) else { return Ok(0) };
        let batch = self.store.batch_after(id, before, 1)?;
        let is_later = |batch: Batch| batch.samples.taken_utc.first().is_some_and(|taken| *taken > since);
        Ok(if batch.is_some_and(is_later) { before } else { number })
    }

    /// Number of sources.
    pub(super) fn sources(&self) -> usize {
        self.sources.len()
    }

    /// Passes over what is older than the backlog allows. How long it had waited.
    pub(super) fn skip_old(&mut self, source: usize, now: Timestamp) -> Result<Option<Duration>, StoreError> {
        let Some(oldest) = self.oldest(now) else { return Ok(None) };
        let Some(sent) = self.sources.get_mut(source) else { return Ok(None) };
        let Some(next) = self.store.batch_after(sent.id, sent.position.sequence, 1)? else { return Ok(None) };
        let Some(taken) = next.samples.taken_utc.first().copied().filter(|taken| *taken < oldest) else {
            return Ok(None);
        };
        let before = self.store.sample_before(sent.id, oldest)?;
        sent.position.sequence = sent.position.sequence.max(before);
        sent.position.gaps_until = sent.position.gaps_until.max(oldest);
        sent.last = None;
        self.is_changed = true;
        Ok(Duration::try_from(now.duration_since(taken)).ok())
    }

    fn oldest(&self, now: Timestamp) -> Option<Timestamp> {
        let backlog = jiff::SignedDuration::try_from(self.backlog).ok()?;
        now.checked_sub(backlog).ok()
    }

    /// What comes next of source number `source`; `None` if it has nothing to send.
    pub(super) fn next(&mut self, source: usize, now: Timestamp) -> Result<Option<Prepared>, StoreError> {
        let Some(sent) = self.sources.get(source) else { return Ok(None) };
        let batch = self.store.batch_after(sent.id, sent.position.sequence, sent.samples_max)?;
        let gaps = match &batch {
            Some(batch) => batch.gaps.clone(),
            None => self.store.gaps(sent.id, sent.position.gaps_until, now)?,
        };
        let gaps: Vec<Gap> = gaps.into_iter().filter(|gap| gap.at > sent.position.gaps_until).collect();
        if batch.is_none() && gaps.is_empty() {
            return Ok(None);
        }
        let samples = batch.as_ref().map(samples_of).transpose()?.unwrap_or_default();
        let after = Sent {
            id: sent.id,
            name: sent.name.clone(),
            position: sent.position.clone(),
            last: sent.last.clone(),
            samples_max: sent.samples_max,
        };
        let count = samples.len() + gaps.len();
        let mut preparing = Preparing { after, builder: Builder::new(&mut self.metrics, &sent.name) };
        let mut gaps = gaps.into_iter().peekable();
        for (sample, warnings) in samples {
            while let Some(gap) = gaps.next_if(|gap| gap.at < sample.taken.utc) {
                preparing.gap(&gap);
            }
            preparing.sample(sample, warnings);
        }
        gaps.for_each(|gap| preparing.gap(&gap));
        let Preparing { mut after, builder } = preparing;
        let series = builder.finish();
        if let Some(batch) = batch {
            after.position.sequence = batch.sequence;
            after.samples_max = samples_at_once(&series, count);
        }
        Ok(Some(Prepared { series, count, after }))
    }

    /// It was sent.
    pub(super) fn done(&mut self, source: usize, prepared: Prepared) {
        if let Some(sent) = self.sources.get_mut(source) {
            *sent = prepared.after;
            self.is_changed = true;
        }
    }

    /// Keeps the positions, where they have changed. A crash before it repeats what was sent since.
    pub(super) fn save(&mut self) -> Result<(), StoreError> {
        if !std::mem::take(&mut self.is_changed) {
            return Ok(());
        }
        for sent in &self.sources {
            self.known.insert(sent.id.to_string(), sent.position.clone());
        }
        let document = serde_json::json!(self.known).to_string();
        self.store.put_state(&self.memory, &document).inspect_err(|_| self.is_changed = true)
    }
}

/// As many as make a document of the usual size, judging by those before.
fn samples_at_once(series: &[Series], count: usize) -> u32 {
    let points: usize = series.iter().map(|one| one.points.len()).sum();
    let each = (points / count.max(1)).max(1);
    u32::try_from(POINTS_MAX / each).unwrap_or(SAMPLES_MAX).clamp(1, SAMPLES_MAX)
}

/// The samples of `batch`, each with the number of its warnings.
fn samples_of(batch: &Batch) -> Result<Vec<(Arc<Sample>, usize)>, StoreError> {
    let samples = batch.to_samples().map_err(|source| StoreError::Batch { source })?;
    let with_warnings = |sample: Sample| {
        let at = sample.taken.utc;
        let applies = batch.warnings.iter().filter(|seen| seen.first <= at && at <= seen.last);
        let count = applies.count();
        (Arc::new(sample), count)
    };
    Ok(samples.into_iter().map(with_warnings).collect())
}

/// A source while its next series are put together.
struct Preparing<'a> {
    after: Sent,
    builder: Builder<'a>,
}

impl Preparing<'_> {
    fn sample(&mut self, sample: Arc<Sample>, warnings: usize) {
        let (at, last) = (sample.taken.utc, self.after.last.take());
        let position = &mut self.after.position;
        if let Some(last) = &last {
            for change in delta::compare(last, &sample) {
                if let Change::Reset(reason) = change {
                    *position.resets.entry(reason).or_default() += 1;
                }
            }
        }
        position.samples += 1;
        let was_down = std::mem::take(&mut position.is_down);
        // Where the source did not answer, they have ended already.
        self.builder.sample(last.as_deref().filter(|_| !was_down), &sample);
        position.gaps_until = position.gaps_until.max(at);
        self.source(at, Some(warnings));
        self.after.last = Some(sample);
    }

    fn gap(&mut self, gap: &Gap) {
        let position = &mut self.after.position;
        position.gaps = position.gaps.saturating_add(gap.missed);
        position.gaps_until = gap.at;
        if !std::mem::replace(&mut position.is_down, true)
            && let Some(last) = &self.after.last
        {
            self.builder.end(last, gap.at);
        }
        self.source(gap.at, None);
    }

    fn source(&mut self, at: Timestamp, warnings: Option<usize>) {
        let Position { samples, gaps, resets, .. } = &self.after.position;
        let counts = SourceCounts { samples: *samples, gaps: *gaps, resets };
        self.builder.source(at, counts, warnings);
    }
}
