//! Writes samples and their roll-ups.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use iostall_model::{Change, Counter, Epoch, Gap, Sample, Step, Subject, Tier, delta};
use jiff::Timestamp;

use super::chain::{Chain, Closed, RolledUp};
use super::columns::{SourceNumber, UtcMicros, counter_columns, storable};
use super::copy_format::CopyBody;
use super::database::Database;
use super::partitions::Partitioned;
use super::session::{OwnValues, Values};
use super::sources::Locked;
use super::statements;
use crate::error::StoreError;
use crate::history::{
    Batch, ImportMark, SeenWarning, SeriesId, Source, changes_since, company, from_utc_ns, utc_ns,
};
use crate::identity::derived_id;
use crate::repository_error::RepositoryError;

const ROW_COLUMNS: usize = 5;
const VALUE_BYTES: usize = 12;

impl Database {
    /// The chain of a locked source, including everything in the database. Another process may have added samples, or rebuilt the
    /// roll-ups, which then include what was pending here.
    pub(super) fn caught_up(&self, locked: &Locked, chain: Option<Chain>) -> Result<Chain, StoreError> {
        let is_ours = |chain: &Chain| chain.source == locked.number && chain.rolled_up == locked.rolled_up;
        let mut chain = match chain.filter(is_ours) {
            Some(chain) if chain.last == locked.last => return Ok(chain),
            Some(chain) => chain,
            None => {
                let newest = self.newest_rollups(locked.number)?;
                Chain::new(locked.number, locked.id, locked.rolled_up, newest)
            }
        };
        self.follow(&mut chain)?;
        chain.last = locked.last;
        Ok(chain)
    }

    /// Reads what is in the database beyond the end of `chain`.
    fn follow(&self, chain: &mut Chain) -> Result<(), StoreError> {
        chain.series = self.series(chain.source)?;
        let from = chain.last;
        let Chain { source, pending, series, before, rolled_up, .. } = chain;
        self.each_sample(*source, from, i64::MAX, &mut |number, sample| {
            let hour = Tier::Hour.floor(sample.taken.utc);
            if let Some(before) = before.as_ref().filter(|_| number > from) {
                let changes = delta::compare(before, &sample);
                pending.absorb(&sample, &changes, |_, subject| series.number(subject));
                if from == rolled_up.to && number == from + 1 && rolled_up.is_beyond(before.taken.utc) {
                    // What it has of the hours before its own is stored.
                    pending.take_before(hour);
                }
            }
            pending.open_hour = Some(hour);
            *before = Some(Arc::new(sample));
        })
    }

    /// Adds the sample of `step` to the end of `chain`, unless another collector was there first.
    pub(super) fn write_step(&self, chain: &mut Chain, step: &Step) -> Result<(), StoreError> {
        if chain.before.as_ref().is_some_and(|last| company::is_redundant(last, step)) {
            return Ok(());
        }
        let changes = chain.before.as_ref().map(|before| changes_since(before, step));
        let source = Source { id: chain.id, store: self.id, name: String::new() };
        self.write(chain, &Batch::of(source, 0, [&*step.sample]), changes)
    }

    /// Adds a batch to the end of `chain`, and the roll-ups of the hours that it closes. `changes` are those of its first sample, where
    /// they are known. Some of it is sent with the next statement.
    pub(super) fn write(
        &self,
        chain: &mut Chain,
        batch: &Batch,
        changes: Option<Cow<'_, [Change]>>,
    ) -> Result<(), StoreError> {
        let samples = batch.samples().map_err(|source| StoreError::Batch { source })?;
        let series = self.put_series(chain, &batch.series)?;
        let epochs: Vec<i32> =
            batch.epochs.iter().map(|epoch| self.epoch(chain, epoch)).collect::<Result<_, _>>()?;
        self.make_days(&batch.samples.taken_utc)?;
        let before = chain.last;
        let closed = self.put_rows(chain, batch, samples, &series, changes)?;
        let rolled_up = self.flush(chain, closed)?;
        let values = sample_values(chain, batch, &epochs, before, rolled_up);
        self.session.execute_later(statements::ADD_SAMPLES, values)?;
        Ok(self.put_rest(chain, batch)?)
    }

    fn make_days(&self, taken: &[Timestamp]) -> Result<(), RepositoryError> {
        let days: BTreeSet<Timestamp> =
            taken.iter().map(|at| Tier::Day.floor(from_utc_ns(utc_ns(*at)))).collect();
        for day in days {
            for table in [Partitioned::Samples, Partitioned::Rows] {
                self.partitions.make_for(&self.session, table, day)?;
            }
        }
        Ok(())
    }

    /// Stores the rows of `samples`, and adds their changes to what is pending; returns what of that they complete. A sample is taken
    /// from its batch, encoded and compared while the server takes in the one before.
    fn put_rows(
        &self,
        chain: &mut Chain,
        batch: &Batch,
        samples: impl ExactSizeIterator<Item = Sample>,
        series: &[u32],
        mut changes: Option<Cow<'_, [Change]>>,
    ) -> Result<Closed, RepositoryError> {
        let (mut closed, mut left, mut next_row) = (Closed::Nothing, samples.len(), 0);
        let mut body = RowBody::of(chain.source, batch);
        let Chain { pending, before, last, .. } = chain;
        let mut pieces = samples.map(|sample| {
            let first = next_row;
            next_row += sample.rows.len();
            let of_rows: Vec<u32> =
                batch.rows.series[first..next_row].iter().map(|place| series[*place as usize]).collect();
            *last += 1;
            body.add(*last, &sample, &of_rows);
            if let Some(before) = before.as_deref() {
                let changes = changes.take().unwrap_or_else(|| delta::compare(before, &sample).into());
                pending.absorb(&sample, &changes, |place, _| of_rows.get(place).copied());
            }
            if let Some(hours) = pending.turns(sample.taken.utc) {
                closed.turn(hours, *last - 1);
            }
            *before = Some(Arc::new(sample));
            left -= 1;
            if left == 0 { body.body.end() } else { body.body.take() }
        });
        let sql = statements::COPY_ROWS.replace("{counters}", &counter_columns(present(batch)));
        match pieces.len() {
            0 => {}
            // The next statement need not wait for so little.
            1 => pieces.try_for_each(|piece| self.session.copy_in_later(&sql, piece))?,
            _ => self.session.copy_in(&sql, pieces)?,
        }
        Ok(closed)
    }

    pub(super) fn finish(&self, chain: &mut Chain) -> Result<(), RepositoryError> {
        self.flush(chain, Closed::All)?;
        let RolledUp { to, utc_ns } = chain.rolled_up;
        let values: OwnValues = vec![Box::new(chain.source.0), Box::new(to), Box::new(utc_ns)];
        self.session.execute_later(statements::MARK_ROLLED_UP, values)
    }

    fn put_rest(&self, chain: &Chain, batch: &Batch) -> Result<(), RepositoryError> {
        for warning in &batch.warnings {
            self.put_warning(chain, warning)?;
        }
        for gap in &batch.gaps {
            self.put_gap(chain.source, gap)?;
        }
        batch.import.as_ref().map_or(Ok(()), |mark| self.put_import(chain.source, mark))
    }

    pub(super) fn put_gap(&self, source: SourceNumber, gap: &Gap) -> Result<(), RepositoryError> {
        let missed = i64::try_from(gap.missed).unwrap_or(i64::MAX);
        let (at, reason) = (utc_ns(gap.at), storable(&gap.reason));
        self.session.execute(statements::PUT_GAP, &[&source.0, &at, &missed, &reason.as_ref()]).map(drop)
    }

    fn put_warning(&self, chain: &Chain, seen: &SeenWarning) -> Result<(), RepositoryError> {
        let id = derived_id(chain.id, &["warning", &seen.warning.message]).to_string();
        let document = serde_json::to_string(&seen.warning).unwrap_or_default();
        let (message, first, last) = (storable(&seen.warning.message), utc_ns(seen.first), utc_ns(seen.last));
        let values: OwnValues = vec![
            Box::new(id),
            Box::new(chain.source.0),
            Box::new(message.into_owned()),
            Box::new(document),
            Box::new(first),
            Box::new(last),
        ];
        self.session.execute_later(statements::PUT_WARNING, values)
    }

    fn put_import(&self, source: SourceNumber, mark: &ImportMark) -> Result<(), RepositoryError> {
        let taken = utc_ns(mark.taken);
        self.session.execute(statements::PUT_IMPORT, &[&source.0, &mark.sample, &taken]).map(drop)
    }

    /// Stores the subjects that are new or have a new name, all at once; returns the numbers of all.
    fn put_series(&self, chain: &mut Chain, subjects: &[Subject]) -> Result<Vec<u32>, RepositoryError> {
        let mut given: Vec<(SeriesId, &Subject)> = Vec::new();
        let mut places: HashMap<SeriesId, usize> = HashMap::new();
        for subject in subjects.iter().filter(|subject| chain.series.number(subject).is_none()) {
            let id = SeriesId::of(chain.id, subject);
            let place = *places.entry(id).or_insert(given.len());
            // Of two names of one series the later one counts.
            match given.get_mut(place) {
                Some(known) => known.1 = subject,
                None => given.push((id, subject)),
            }
        }
        let known: Vec<Option<u32>> = subjects.iter().map(|subject| chain.series.number(subject)).collect();
        let stored = self.put_given(chain, &given)?;
        let number = |(subject, known): (&Subject, Option<u32>)| {
            // One that was there may have another name since, and its number all the same.
            known.or_else(|| stored.get(&SeriesId::of(chain.id, subject)).copied())
        };
        let numbers: Option<Vec<u32>> = subjects.iter().zip(known).map(number).collect();
        numbers.ok_or_else(|| self.session.damaged("a series that was stored is not there"))
    }

    fn put_given(
        &self,
        chain: &mut Chain,
        given: &[(SeriesId, &Subject)],
    ) -> Result<HashMap<SeriesId, u32>, RepositoryError> {
        if given.is_empty() {
            return Ok(HashMap::new());
        }
        let texts = |of: &dyn Fn(&Subject) -> &str| -> Vec<String> {
            given.iter().map(|(_, subject)| storable(of(subject)).into_owned()).collect()
        };
        let ids: Vec<String> = given.iter().map(|(id, _)| id.to_string()).collect();
        let scopes: Vec<i16> = given.iter().map(|(_, subject)| subject.scope.number().into()).collect();
        let volumes: Vec<Option<String>> = given
            .iter()
            .map(|(_, subject)| subject.volume.as_deref().map(|volume| storable(volume).into_owned()))
            .collect();
        let kinds = texts(&|subject| subject.kind.name());
        let scope_names = texts(&|subject| subject.scope.name());
        let (identities, names) = (texts(&|subject| &subject.identity), texts(&|subject| &subject.name));
        let values: Values<'_> =
            &[&chain.source.0, &ids, &kinds, &scopes, &scope_names, &identities, &names, &volumes];
        let numbers: HashMap<String, i32> = self
            .session
            .rows(statements::PUT_SERIES, values)?
            .iter()
            .map(|row| Ok((self.column(row, 0)?, self.column(row, 1)?)))
            .collect::<Result<_, RepositoryError>>()?;
        let mut stored = HashMap::new();
        for (id, subject) in given {
            let Some(number) = numbers.get(&id.to_string()) else { continue };
            chain.series.put(number.cast_unsigned(), (*subject).clone());
            stored.insert(*id, number.cast_unsigned());
        }
        Ok(stored)
    }

    /// The number of an epoch and its clock, which are nearly always those of the sample before.
    fn epoch(&self, chain: &mut Chain, given: &(Epoch, String)) -> Result<i32, RepositoryError> {
        // The uptime changes with every sample and is stored with it.
        let lasting = Epoch { uptime_s: None, ..given.0.clone() };
        if let Some((known, clock, number)) = &chain.epoch
            && *known == lasting
            && *clock == given.1
        {
            return Ok(*number);
        }
        let document =
            serde_json::to_string(&lasting).map_err(|error| self.session.damaged(error.to_string()))?;
        let id = derived_id(chain.id, &["epoch", &document, &given.1]).to_string();
        let clock = storable(&given.1);
        let values: Values<'_> = &[&id, &chain.source.0, &document, &clock.as_ref()];
        let number = self.column(&self.session.row(statements::PUT_EPOCH, values)?, 0)?;
        chain.epoch = Some((lasting, given.1.clone(), number));
        Ok(number)
    }
}

fn present(batch: &Batch) -> u64 {
    batch.rows.counters.keys().fold(0, |present, counter| present | 1 << (*counter as u8))
}

/// Columns of samples, the first of which follows the one numbered `before`, and what they change in the row of their source.
fn sample_values(
    chain: &Chain,
    batch: &Batch,
    epochs: &[i32],
    before: i64,
    rolled_up: Option<RolledUp>,
) -> OwnValues {
    let columns = &batch.samples;
    let taken_utc_ns: Vec<i64> = columns.taken_utc.iter().map(|at| utc_ns(*at)).collect();
    let taken: Vec<UtcMicros> = taken_utc_ns.iter().copied().map(UtcMicros::of_utc_ns).collect();
    let numbers: Vec<i64> = (before + 1..=chain.last).collect();
    let clocks: Vec<i64> = columns.clock_ns.iter().map(|ns| ns.cast_signed()).collect();
    let uptimes: Vec<Option<i64>> = columns.uptime_s.iter().map(|s| s.map(u64::cast_signed)).collect();
    let epochs: Vec<i32> = columns.epoch.iter().map(|place| epochs[*place as usize]).collect();
    let row_counts: Vec<i32> =
        columns.row_count.iter().map(|count| i32::try_from(*count).unwrap_or(i32::MAX)).collect();
    let newest_utc_ns = taken_utc_ns.iter().copied().max();
    let appended = i64::try_from(batch.sequence).unwrap_or(0);
    vec![
        Box::new(chain.source.0),
        Box::new(taken),
        Box::new(taken_utc_ns),
        Box::new(numbers),
        Box::new(clocks),
        Box::new(uptimes),
        Box::new(epochs),
        Box::new(row_counts),
        Box::new(chain.last),
        Box::new(newest_utc_ns),
        Box::new(appended),
        Box::new(rolled_up.map(|rolled_up| rolled_up.to)),
        Box::new(rolled_up.and_then(|rolled_up| rolled_up.utc_ns)),
    ]
}

struct RowBody {
    source: SourceNumber,
    counters: Vec<Counter>,
    body: CopyBody,
}

impl RowBody {
    fn of(source: SourceNumber, batch: &Batch) -> Self {
        let counters: Vec<Counter> = batch.rows.counters.keys().copied().collect();
        let body =
            CopyBody::new(batch.rows.series.len() * ((ROW_COLUMNS + counters.len()) * VALUE_BYTES + 2));
        Self { source, counters, body }
    }

    fn add(&mut self, number: i64, sample: &Sample, series: &[u32]) {
        let taken = UtcMicros::of_utc_ns(utc_ns(sample.taken.utc));
        for (row, series) in sample.rows.iter().zip(series) {
            self.body.tuple(ROW_COLUMNS + self.counters.len());
            self.body.bigint(taken.0);
            self.body.bigint(number);
            self.body.bits(row.age_ms);
            self.body.integer(self.source.0);
            self.body.integer(series.cast_signed());
            for counter in &self.counters {
                self.body.bits(row.counters.get(*counter));
            }
        }
    }
}
