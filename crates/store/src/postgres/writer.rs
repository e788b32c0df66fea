//! Writes samples and their roll-ups.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use iostall_model::{Epoch, Gap, Sample, Step, Subject, Tier, delta};

use super::chain::Chain;
use super::columns::{SourceNumber, UtcMicros, counter_columns, in_set, storable};
use super::copy_format::CopyBody;
use super::database::Database;
use super::partitions::Partitioned;
use super::session::Values;
use super::sources::Locked;
use super::statements;
use crate::error::StoreError;
use crate::history::{
    Batch, ImportMark, Pending, SeenWarning, SeriesId, changes_since, company, from_utc_ns, utc_ns,
};
use crate::identity::derived_id;
use crate::repository_error::RepositoryError;

/// Columns of a row for COPY before its counters.
const ROW_COLUMNS: usize = 5;
/// Bytes of a value for COPY with its length.
const VALUE_BYTES: usize = 12;

impl Database {
    /// The chain of a locked source, including everything in the database. Another process may have added samples, or rebuilt the
    /// roll-ups, which then include what was pending here.
    pub(super) fn caught_up(&self, locked: &Locked, chain: Option<Chain>) -> Result<Chain, StoreError> {
        let is_ours = |chain: &Chain| {
            chain.source == locked.number && chain.pending.rolled_up_to == locked.rolled_up_to
        };
        let mut chain = match chain.filter(is_ours) {
            Some(chain) if chain.last == locked.last => return Ok(chain),
            Some(chain) => chain,
            None => Chain::new(locked.number, locked.id, locked.rolled_up_to),
        };
        self.follow(&mut chain)?;
        chain.last = locked.last;
        Ok(chain)
    }

    /// Reads what is in the database beyond the end of `chain`.
    fn follow(&self, chain: &mut Chain) -> Result<(), StoreError> {
        chain.series = self.series(chain.source)?;
        chain.numbers.clear();
        let from = chain.last;
        let Chain { source, pending, series, before, .. } = chain;
        self.each_sample(*source, from, i64::MAX, &mut |number, sample| {
            if let Some(before) = before.as_ref().filter(|_| number > from) {
                let changes = delta::compare(before, &sample);
                pending.absorb(&sample, &changes, |_, subject| series.number(subject));
            }
            pending.open_hour = Some(Tier::Hour.floor(sample.taken.utc));
            *before = Some(Arc::new(sample));
        })
    }

    /// Adds samples to the end of `chain`, and the roll-ups of the hours that they close. `appended` is the number of their batch;
    /// 0 if they are not of one.
    pub(super) fn write(&self, chain: &mut Chain, steps: &[Step], appended: i64) -> Result<(), StoreError> {
        let stored = self.put_series(chain, steps)?;
        let mut out = Outgoing::of(chain.source, steps);
        let mut closes = false;
        for step in steps {
            let sample = &*step.sample;
            if chain.before.as_ref().is_some_and(|last| company::is_redundant(last, step)) {
                continue;
            }
            let missing = || self.session.damaged("a series that was stored is not there");
            let numbers = chain.numbers_of(sample, &stored).ok_or_else(missing)?;
            let epoch = self.epoch(chain, sample)?;
            chain.last += 1;
            out.add(chain.last, epoch, sample, &numbers);
            for warning in &sample.warnings {
                let at = sample.taken.utc;
                let seen = SeenWarning { warning: warning.clone(), first: at, last: at };
                self.put_warning(chain, &seen)?;
            }
            closes |= absorb(&mut chain.pending, chain.before.as_deref(), step, &numbers);
            chain.numbers = numbers;
            chain.before = Some(Arc::clone(&step.sample));
        }
        let last_utc_ns = out.last_utc_ns;
        self.put(out)?;
        if closes {
            self.flush(chain)?;
        }
        let values: Values<'_> = &[&chain.source.0, &chain.last, &last_utc_ns, &appended];
        self.session.execute(statements::MARK_ADDED, values)?;
        Ok(())
    }

    /// What a batch has besides samples.
    pub(super) fn put_rest(&self, chain: &Chain, batch: &Batch) -> Result<(), RepositoryError> {
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
        let values: Values<'_> = &[&id, &chain.source.0, &message.as_ref(), &document, &first, &last];
        self.session.execute(statements::PUT_WARNING, values).map(drop)
    }

    fn put_import(&self, source: SourceNumber, mark: &ImportMark) -> Result<(), RepositoryError> {
        let taken = utc_ns(mark.taken);
        self.session.execute(statements::PUT_IMPORT, &[&source.0, &mark.sample, &taken]).map(drop)
    }

    /// Stores the subjects that are new or have a new name, all at once; returns their numbers.
    fn put_series(
        &self,
        chain: &mut Chain,
        steps: &[Step],
    ) -> Result<HashMap<SeriesId, u32>, RepositoryError> {
        let mut seen: HashSet<&Subject> = HashSet::new();
        // Numbered in the order in which they come, in which a sample's rows are read again.
        let (mut given, mut places): (Vec<(SeriesId, &Subject)>, HashMap<SeriesId, usize>) =
            Default::default();
        for row in steps.iter().flat_map(|step| &step.sample.rows) {
            if seen.insert(&row.subject) && chain.series.number(&row.subject).is_none() {
                let id = SeriesId::of(chain.id, &row.subject);
                let place = *places.entry(id).or_insert(given.len());
                // Of two names of one series the later one counts.
                match given.get_mut(place) {
                    Some(known) => known.1 = &row.subject,
                    None => given.push((id, &row.subject)),
                }
            }
        }
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
            chain.series.put(number.cast_unsigned(), subject.clone());
            stored.insert(id, number.cast_unsigned());
        }
        Ok(stored)
    }

    /// The number of the epoch of `sample`, which is nearly always that of the sample before.
    fn epoch(&self, chain: &mut Chain, sample: &Sample) -> Result<i32, RepositoryError> {
        // The uptime changes with every sample and is stored with it.
        let lasting = Epoch { uptime_s: None, ..sample.epoch.clone() };
        if let Some((known, clock, number)) = &chain.epoch
            && *known == lasting
            && *clock == sample.taken.clock
        {
            return Ok(*number);
        }
        let document =
            serde_json::to_string(&lasting).map_err(|error| self.session.damaged(error.to_string()))?;
        let id = derived_id(chain.id, &["epoch", &document, &sample.taken.clock]).to_string();
        let clock = storable(&sample.taken.clock);
        let values: Values<'_> = &[&id, &chain.source.0, &document, &clock.as_ref()];
        let number = self.column(&self.session.row(statements::PUT_EPOCH, values)?, 0)?;
        chain.epoch = Some((lasting, sample.taken.clock.clone(), number));
        Ok(number)
    }

    fn put(&self, out: Outgoing) -> Result<(), RepositoryError> {
        for day_utc_ns in out.days_utc_ns {
            for table in [Partitioned::Samples, Partitioned::Rows] {
                self.partitions.make_for(&self.session, table, from_utc_ns(day_utc_ns))?;
            }
        }
        self.session.copy_in(statements::COPY_SAMPLES, out.samples.finish())?;
        let sql = statements::COPY_ROWS.replace("{counters}", &counter_columns(out.present));
        self.session.copy_in(&sql, out.rows.finish())
    }
}

/// Adds the changes of `step` to the pending roll-ups; returns whether it closes an hour.
fn absorb(pending: &mut Pending, before: Option<&Sample>, step: &Step, numbers: &[u32]) -> bool {
    if let Some(before) = before {
        let changes = changes_since(before, step);
        pending.absorb(&step.sample, &changes, |place, _| numbers.get(place).copied());
    }
    pending.closes(step.sample.taken.utc)
}

/// Samples on their way into the tables.
struct Outgoing {
    source: SourceNumber,
    /// The counters that some row has.
    present: u64,
    samples: CopyBody,
    rows: CopyBody,
    /// A time in each of their days.
    days_utc_ns: BTreeSet<i64>,
    last_utc_ns: Option<i64>,
}

impl Outgoing {
    /// None yet of `steps`.
    fn of(source: SourceNumber, steps: &[Step]) -> Self {
        let rows = || steps.iter().flat_map(|step| &step.sample.rows);
        let present = rows().fold(0, |present, row| present | row.counters.present());
        let values = in_set(present).count() + ROW_COLUMNS;
        Self {
            source,
            present,
            samples: CopyBody::new(steps.len() * 8 * VALUE_BYTES),
            rows: CopyBody::new(rows().count() * values * VALUE_BYTES),
            days_utc_ns: BTreeSet::new(),
            last_utc_ns: None,
        }
    }

    fn add(&mut self, number: i64, epoch: i32, sample: &Sample, numbers: &[u32]) {
        let taken_utc_ns = utc_ns(sample.taken.utc);
        let taken = UtcMicros::of_utc_ns(taken_utc_ns);
        self.days_utc_ns.insert(utc_ns(Tier::Day.floor(from_utc_ns(taken_utc_ns))));
        self.last_utc_ns = self.last_utc_ns.max(Some(taken_utc_ns));
        self.samples.tuple(8);
        self.samples.bigint(taken.0);
        self.samples.bigint(taken_utc_ns);
        self.samples.bigint(number);
        self.samples.bigint(sample.taken.clock_ns.cast_signed());
        self.samples.bits(sample.epoch.uptime_s);
        self.samples.integer(self.source.0);
        self.samples.integer(epoch);
        self.samples.integer(i32::try_from(sample.rows.len()).unwrap_or(i32::MAX));
        for (row, series) in sample.rows.iter().zip(numbers) {
            self.rows.tuple(ROW_COLUMNS + in_set(self.present).count());
            self.rows.bigint(taken.0);
            self.rows.bigint(number);
            self.rows.bits(row.age_ms);
            self.rows.integer(self.source.0);
            self.rows.integer(series.cast_signed());
            for counter in in_set(self.present) {
                self.rows.bits(row.counters.get(counter));
            }
        }
    }
}
