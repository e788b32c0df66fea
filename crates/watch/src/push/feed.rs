//! What is still to be sent, read from the store.
//!
//! The store is the queue: a sample is there before it is sent, survives a crash, and needs no second place on the disk. Of each source
//! only the position is kept, with what was counted up to it, so that what is sent twice is the same both times.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use iostall_model::{Change, Gap, ResetReason, Row, Sample, delta};
use iostall_store::{Batch, CollectorState, History, SeriesId, SourceId, StoreError};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::series::{Builder, Metrics, Series, SourceCounts};
use super::source::PushSource;
use crate::state;

/// Values that are put together at most: some megabytes in every form.
const POINTS_MAX: usize = 50_000;
/// And samples: what is sent at once may be refused at once.
const SAMPLES_MAX: u32 = 60;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Position {
    sequence: u64,
    gaps_until: Timestamp,
    /// Whether it did not answer when it was looked at last.
    is_down: bool,
    first: Timestamp,
    /// Since when its counters are known without a reset of all of them; of those that were reset or came later, their own time.
    since: Timestamp,
    row_since: BTreeMap<String, Timestamp>,
    samples: u64,
    gaps: u64,
    resets: BTreeMap<ResetReason, u64>,
}

impl Position {
    /// Notes which counters begin with `sample`: nothing is known of the time before.
    fn note_starts(&mut self, id: SourceId, sample: &Sample, changes: &[Change]) {
        let at = sample.taken.utc;
        let begins = |change: &Change| matches!(change, Change::Baseline | Change::Reset(_));
        if changes.iter().all(begins) {
            self.since = at;
            self.row_since.clear();
            return;
        }
        let begun = sample.rows.iter().zip(changes).filter(|(_, change)| begins(change));
        let begun: Vec<String> = begun.map(|(row, _)| series_name(id, row)).collect();
        if begun.is_empty() {
            return;
        }
        self.row_since.extend(begun.into_iter().map(|name| (name, at)));
        // Those of dropped files are not kept for ever.
        if self.row_since.len() > 2 * sample.rows.len() + 100 {
            let there: BTreeSet<String> = sample.rows.iter().map(|row| series_name(id, row)).collect();
            self.row_since.retain(|name, _| there.contains(name));
        }
    }

    fn since_of(&self, id: SourceId, row: &Row) -> Timestamp {
        if self.row_since.is_empty() {
            return self.since;
        }
        self.row_since.get(&series_name(id, row)).copied().unwrap_or(self.since)
    }
}

fn series_name(id: SourceId, row: &Row) -> String {
    SeriesId::of(id, &row.subject).to_string()
}

struct Sent {
    id: SourceId,
    source: Arc<PushSource>,
    position: Position,
    last: Option<Arc<Sample>>,
    samples_max: u32,
}

/// What the name begins with under which positions are kept.
pub(crate) const PUSHED: &str = "pushed to ";

pub(crate) fn is_positions(text: &str) -> bool {
    serde_json::from_str::<BTreeMap<String, Position>>(text).is_ok()
}

pub(super) struct Prepared {
    pub(super) series: Vec<Series>,
    pub(super) count: usize,
    after: Sent,
}

impl Prepared {
    pub(super) fn source(&self) -> &PushSource {
        &self.after.source
    }
}

pub(super) struct Feed<H> {
    store: H,
    /// The name under which positions are kept.
    memory: String,
    sources: Vec<Sent>,
    metrics: Metrics,
    /// What is older is not sent.
    backlog: Duration,
    is_changed: bool,
    /// How long samples had waited that were passed over since this was asked last, and how many they were.
    passed_over: Option<(Duration, u64)>,
    /// The name under which it is kept that the receiver has taken something.
    taken_memory: String,
    has_taken: bool,
    /// Positions that another collector left.
    known: BTreeMap<String, Position>,
}

impl<H: History + CollectorState> Feed<H> {
    pub(super) fn new(store: H, receiver: &str, backlog: Duration) -> Result<Self, StoreError> {
        let (memory, taken_memory) = (format!("{PUSHED}{receiver}"), format!("taken by {receiver}"));
        let known = state::read(&store, &memory)?.unwrap_or_default();
        let has_taken = store.state(&taken_memory)?.is_some();
        Ok(Self {
            store,
            memory,
            sources: Vec::new(),
            metrics: Metrics::default(),
            backlog,
            is_changed: false,
            passed_over: None,
            taken_memory,
            has_taken,
            known,
        })
    }

    pub(super) fn has_ever_taken(&self) -> bool {
        self.has_taken
    }

    /// The receiver has taken something: from then on what it refuses is about the samples.
    pub(super) fn has_taken(&mut self) -> Result<(), StoreError> {
        if !self.has_taken {
            self.store.put_state(&self.taken_memory, "true")?;
            self.has_taken = true;
        }
        Ok(())
    }

    /// When the oldest sample was taken that is still to be sent.
    pub(super) fn oldest_waiting(&self) -> Result<Option<Timestamp>, StoreError> {
        let mut oldest = None;
        for sent in &self.sources {
            let next = self.store.batch_after(sent.id, sent.position.sequence, 1)?;
            let taken = next.and_then(|batch| batch.samples.taken_utc.first().copied());
            oldest = oldest.into_iter().chain(taken).min();
        }
        Ok(oldest)
    }

    /// Sends `source`: from where it got to, or from `since` where it was never sent.
    pub(super) fn add(&mut self, source: &PushSource, since: Timestamp) -> Result<(), StoreError> {
        let wanted = Arc::new(source.clone());
        if let Some(known) = self.sources.iter_mut().find(|known| known.source.name == wanted.name) {
            known.source = wanted;
            return Ok(());
        }
        let (own, all) = (self.store.id(), self.store.sources()?);
        let is_it = |source: &iostall_store::Source| source.store == own && source.name == wanted.name;
        let Some(source) = all.into_iter().map(|one| one.source).find(is_it) else { return Ok(()) };
        let id = source.id;
        let position = match self.known.get(&id.to_string()) {
            Some(position) => position.clone(),
            None => Position {
                sequence: self.number_before(id, since)?,
                gaps_until: since,
                is_down: false,
                first: since,
                since,
                row_since: BTreeMap::new(),
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
        self.sources.push(Sent { id, source: wanted, position, last, samples_max: 1 });
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

    pub(super) fn store(&mut self) -> &mut H {
        &mut self.store
    }

    pub(super) fn sources(&self) -> usize {
        self.sources.len()
    }

    /// How long samples had waited that were passed over since the last call, and how many they were.
    pub(super) fn passed_over(&mut self) -> Option<(Duration, u64)> {
        self.passed_over.take()
    }

    /// The next samples of source number `source`; those that are older than the backlog allows are passed over.
    fn batch(&mut self, source: usize, now: Timestamp) -> Result<Option<Batch>, StoreError> {
        let Some(sent) = self.sources.get(source) else { return Ok(None) };
        let batch = self.store.batch_after(sent.id, sent.position.sequence, sent.samples_max)?;
        let Some(oldest) = self.oldest(now) else { return Ok(batch) };
        let first = batch.as_ref().and_then(|batch| batch.samples.taken_utc.first().copied());
        let Some(taken) = first.filter(|taken| *taken < oldest) else { return Ok(batch) };
        let sent = &mut self.sources[source];
        let before = self.store.sample_before(sent.id, oldest)?;
        let passed = self.store.samples_between(sent.id, sent.position.sequence, before)?;
        sent.position.sequence = sent.position.sequence.max(before);
        sent.position.gaps_until = sent.position.gaps_until.max(oldest);
        sent.last = None;
        self.is_changed = true;
        let waited = Duration::try_from(now.duration_since(taken)).unwrap_or_default();
        let (longest, samples) = self.passed_over.unwrap_or_default();
        self.passed_over = Some((longest.max(waited), samples + passed));
        self.store.batch_after(sent.id, sent.position.sequence, sent.samples_max)
    }

    fn oldest(&self, now: Timestamp) -> Option<Timestamp> {
        let backlog = jiff::SignedDuration::try_from(self.backlog).ok()?;
        now.checked_sub(backlog).ok()
    }

    /// What comes next of source number `source`; `None` if it has nothing to send.
    pub(super) fn next(&mut self, source: usize, now: Timestamp) -> Result<Option<Prepared>, StoreError> {
        let batch = self.batch(source, now)?;
        let Some(sent) = self.sources.get(source) else { return Ok(None) };
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
            source: Arc::clone(&sent.source),
            position: sent.position.clone(),
            last: sent.last.clone(),
            samples_max: sent.samples_max,
        };
        let count = samples.len() + gaps.len();
        let mut preparing = Preparing { after, builder: Builder::new(&mut self.metrics, &sent.source.name) };
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

struct Preparing<'a> {
    after: Sent,
    builder: Builder<'a>,
}

impl Preparing<'_> {
    fn sample(&mut self, sample: Arc<Sample>, warnings: usize) {
        let (at, last) = (sample.taken.utc, self.after.last.take());
        let position = &mut self.after.position;
        let changes = last.as_ref().map(|last| delta::compare(last, &sample)).unwrap_or_default();
        for change in &changes {
            if let Change::Reset(reason) = change {
                *position.resets.entry(*reason).or_default() += 1;
            }
        }
        position.note_starts(self.after.id, &sample, &changes);
        position.samples += 1;
        let was_down = std::mem::take(&mut position.is_down);
        // Where the source did not answer, they have ended already.
        let before = last.as_deref().filter(|_| !was_down);
        let (id, known) = (self.after.id, &*position);
        self.builder.sample(before, &sample, &|row| known.since_of(id, row));
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
        let Position { first, samples, gaps, resets, .. } = &self.after.position;
        let counts = SourceCounts { since: *first, samples: *samples, gaps: *gaps, resets };
        self.builder.source(at, counts, warnings);
    }
}
