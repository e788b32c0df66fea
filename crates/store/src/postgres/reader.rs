//! Reads history.

use std::collections::HashMap;
use std::sync::Arc;

use iostall_model::{Epoch, Gap, Kind, Row, Sample, SampleTime, Scope, Step, Subject};
use jiff::Timestamp;

use super::columns::{SourceNumber, UtcMicros, counters_from, with_all_counters};
use super::database::Database;
use super::session::Values;
use super::statements;
use crate::error::StoreError;
use crate::history::{Batch, Builder, ImportMark, Seams, SeenWarning, Series, company, from_utc_ns, utc_ns};
use crate::repository_error::RepositoryError;

const SAMPLES_AT_ONCE: i64 = 1_000;
const ROWS_AT_ONCE: i64 = 20_000;
const ROW_COLUMNS: usize = 3;

struct Head {
    number: i64,
    taken: UtcMicros,
    time: (i64, i64),
    uptime_s: Option<i64>,
    epoch: i32,
    row_count: i64,
}

impl Database {
    pub(super) fn intervals_of(
        &self,
        source: SourceNumber,
        from: Timestamp,
        to: Timestamp,
        each: &mut dyn FnMut(Step),
    ) -> Result<(), StoreError> {
        let _snapshot = self.session.snapshot()?;
        let first = self.sample_number_before(source, from)?;
        let last = self.number_at(statements::SAMPLE_AFTER, source, to)?;
        let mut before: Option<Arc<Sample>> = None;
        self.each_sample(source, first, last, &mut |number, sample| {
            let sample = Arc::new(sample);
            if let Some(before) = before.as_ref().filter(|_| number > first) {
                each(Step::between(before, Arc::clone(&sample)));
            }
            before = Some(sample);
        })
    }

    pub(super) fn sample_number_before(
        &self,
        source: SourceNumber,
        at: Timestamp,
    ) -> Result<i64, RepositoryError> {
        self.number_at(statements::SAMPLE_BEFORE, source, at)
    }

    fn number_at(&self, sql: &str, source: SourceNumber, at: Timestamp) -> Result<i64, RepositoryError> {
        self.column(&self.session.row(sql, &[&source.0, &utc_ns(at)])?, 0)
    }

    pub(super) fn last_sample_of(&self, source: SourceNumber) -> Result<Option<Sample>, StoreError> {
        let last: i64 = self.column(&self.session.row(statements::SAMPLE_LAST, &[&source.0])?, 0)?;
        let mut newest = None;
        self.each_sample(source, last, last, &mut |_, sample| newest = Some(sample))?;
        Ok(newest)
    }

    pub(super) fn gaps_of(
        &self,
        source: SourceNumber,
        from: Timestamp,
        to: Timestamp,
    ) -> Result<Vec<Gap>, RepositoryError> {
        let rows = self.session.rows(statements::LIST_GAPS, &[&source.0, &utc_ns(from), &utc_ns(to)])?;
        let gap = |row: &tokio_postgres::Row| {
            Ok(Gap {
                at: from_utc_ns(self.column(row, 0)?),
                missed: self.column::<i64>(row, 1)?.cast_unsigned(),
                reason: self.column(row, 2)?,
            })
        };
        rows.iter().map(gap).collect()
    }

    pub(super) fn warnings_of(
        &self,
        source: SourceNumber,
        from: Timestamp,
        to: Timestamp,
    ) -> Result<Vec<SeenWarning>, RepositoryError> {
        let rows = self.session.rows(statements::LIST_WARNINGS, &[&source.0, &utc_ns(from), &utc_ns(to)])?;
        let seen = |row: &tokio_postgres::Row| {
            let warning = serde_json::from_str(self.column(row, 0)?)
                .map_err(|error| self.session.damaged(error.to_string()))?;
            let (first, last) = (from_utc_ns(self.column(row, 1)?), from_utc_ns(self.column(row, 2)?));
            Ok(SeenWarning { warning, first, last })
        };
        rows.iter().map(seen).collect()
    }

    pub(super) fn import_mark_of(&self, source: SourceNumber) -> Result<Option<ImportMark>, RepositoryError> {
        let rows = self.session.rows(statements::FIND_IMPORT, &[&source.0])?;
        let mark = |row: &tokio_postgres::Row| {
            Ok(ImportMark { sample: self.column(row, 0)?, taken: from_utc_ns(self.column(row, 1)?) })
        };
        rows.first().map(mark).transpose()
    }

    pub(super) fn seams_of(&self, source: SourceNumber) -> Result<Option<Seams>, RepositoryError> {
        let row = self.session.row(statements::FIND_SEAM, &[&source.0])?;
        if !self.column::<bool>(&row, 0)? {
            return Ok(None);
        }
        let time = |place| -> Result<Timestamp, RepositoryError> {
            Ok(self.column::<Option<i64>>(&row, place)?.map_or(Timestamp::MAX, from_utc_ns))
        };
        let hours_from: Option<UtcMicros> = self.column(&row, 3)?;
        let hours_from = hours_from.map_or(Timestamp::MIN, UtcMicros::timestamp);
        Ok(Some(Seams::between(hours_from, time(1)?, time(2)?)))
    }

    /// Calls `each` with the samples numbered `first` to `last`. It may ask the database itself.
    pub(super) fn each_sample(
        &self,
        source: SourceNumber,
        first: i64,
        last: i64,
        each: &mut dyn FnMut(i64, Sample),
    ) -> Result<(), StoreError> {
        let _snapshot = self.session.snapshot()?;
        let (subjects, epochs) = (self.subjects(source)?, self.epochs(source)?);
        let mut earlier: Option<(SampleTime, Epoch)> = None;
        let mut next = first;
        loop {
            let heads = self.heads(source, next, last)?;
            let Some(newest) = heads.last().map(|head| head.number) else { return Ok(()) };
            for part in parts(&heads) {
                let mut rows = self.rows_of(source, part, &subjects)?;
                for head in part {
                    let sample = self.sample(head, rows.remove(&head.number).unwrap_or_default(), &epochs)?;
                    // Older versions stored two collectors' samples of one tick in the order of arrival.
                    let is_late =
                        |(taken, epoch): &(SampleTime, Epoch)| company::is_overtaken(taken, epoch, &sample);
                    if !earlier.as_ref().is_some_and(is_late) {
                        earlier = Some((sample.taken.clone(), sample.epoch.clone()));
                        each(head.number, sample);
                    }
                }
            }
            next = newest.saturating_add(1);
        }
    }

    fn heads(&self, source: SourceNumber, first: i64, last: i64) -> Result<Vec<Head>, RepositoryError> {
        let values: Values<'_> = &[&source.0, &first, &last, &SAMPLES_AT_ONCE];
        let rows = self.session.rows(statements::LIST_SAMPLES, values)?;
        let head = |row: &tokio_postgres::Row| {
            Ok(Head {
                number: self.column(row, 0)?,
                taken: self.column(row, 1)?,
                time: (self.column(row, 2)?, self.column(row, 3)?),
                uptime_s: self.column(row, 4)?,
                epoch: self.column(row, 5)?,
                row_count: self.column::<i32>(row, 6)?.into(),
            })
        };
        rows.iter().map(head).collect()
    }

    fn rows_of(
        &self,
        source: SourceNumber,
        heads: &[Head],
        subjects: &HashMap<u32, Subject>,
    ) -> Result<HashMap<i64, Vec<Row>>, RepositoryError> {
        let (Some(first), Some(last)) = (heads.first(), heads.last()) else { return Ok(HashMap::new()) };
        // A clock that was set back gives later samples earlier times.
        let times = || heads.iter().map(|head| head.taken);
        let (from, to) = (times().min().unwrap_or(first.taken), times().max().unwrap_or(last.taken));
        let values: Values<'_> = &[&source.0, &first.number, &last.number, &from, &to];
        let mut rows: HashMap<i64, Vec<Row>> = HashMap::new();
        for row in self.session.rows(&with_all_counters(statements::LIST_ROWS), values)? {
            let series: i32 = self.column(&row, 1)?;
            let Some(subject) = subjects.get(&series.cast_unsigned()).cloned() else { continue };
            let age_ms = self.column::<Option<i64>>(&row, 2)?.map(i64::cast_unsigned);
            let counters = counters_from(&row, ROW_COLUMNS).map_err(|error| self.unreadable(&error))?;
            rows.entry(self.column(&row, 0)?).or_default().push(Row { subject, counters, age_ms });
        }
        Ok(rows)
    }

    fn sample(
        &self,
        head: &Head,
        rows: Vec<Row>,
        epochs: &HashMap<i32, (Epoch, String)>,
    ) -> Result<Sample, RepositoryError> {
        let (epoch, clock) = epochs
            .get(&head.epoch)
            .ok_or_else(|| self.session.damaged("the epoch of a sample is missing"))?;
        let (utc_ns, clock_ns) = head.time;
        Ok(Sample {
            taken: SampleTime {
                utc: from_utc_ns(utc_ns),
                clock: clock.clone(),
                clock_ns: clock_ns.cast_unsigned(),
            },
            epoch: Epoch { uptime_s: head.uptime_s.map(i64::cast_unsigned), ..epoch.clone() },
            rows,
            warnings: Vec::new(),
        })
    }

    fn epochs(&self, source: SourceNumber) -> Result<HashMap<i32, (Epoch, String)>, RepositoryError> {
        let rows = self.session.rows(statements::LIST_EPOCHS, &[&source.0])?;
        let epoch = |row: &tokio_postgres::Row| {
            let epoch = serde_json::from_str(self.column(row, 1)?)
                .map_err(|error| self.session.damaged(error.to_string()))?;
            Ok((self.column(row, 0)?, (epoch, self.column(row, 2)?)))
        };
        rows.iter().map(epoch).collect()
    }

    pub(super) fn subjects(&self, source: SourceNumber) -> Result<HashMap<u32, Subject>, RepositoryError> {
        let mut subjects = HashMap::new();
        for row in self.session.rows(statements::LIST_SERIES, &[&source.0])? {
            // Skip a kind from a newer iostall: its units are unknown here.
            let name: &str = self.column(&row, 1)?;
            let Some(kind) = Kind::named(name) else { continue };
            let scope = u8::try_from(self.column::<i16>(&row, 2)?).unwrap_or(u8::MAX);
            let Some(scope) = Scope::from_stored(scope, self.column(&row, 3)?) else { continue };
            let (identity, name) = (self.column(&row, 4)?, self.column(&row, 5)?);
            let subject = Subject { kind, scope, name, identity, volume: self.column(&row, 6)? };
            subjects.insert(self.column::<i32>(&row, 0)?.cast_unsigned(), subject);
        }
        Ok(subjects)
    }

    pub(super) fn series(&self, source: SourceNumber) -> Result<Series, RepositoryError> {
        self.subjects(source).map(Series::of)
    }
}

fn parts(heads: &[Head]) -> impl Iterator<Item = &[Head]> {
    let mut left = heads;
    std::iter::from_fn(move || {
        let mut rows = 0;
        let too_many = left.iter().position(|head| {
            rows += head.row_count;
            rows > ROWS_AT_ONCE
        });
        let count = too_many.unwrap_or(left.len()).max(1).min(left.len());
        let (part, rest) = left.split_at(count);
        left = rest;
        (!part.is_empty()).then_some(part)
    })
}

struct Ends {
    numbers: (i64, i64),
    /// Time of the sample before the first; the minimum timestamp if there is none.
    since: Timestamp,
    taken: (Timestamp, Timestamp),
}

impl Database {
    /// See [`History::batch_after`](crate::History::batch_after). The number of a batch is that of its last sample.
    pub(super) fn batch_of(
        &self,
        source: SourceNumber,
        sequence: u64,
        samples_max: u32,
    ) -> Result<Option<Batch>, StoreError> {
        let _snapshot = self.session.snapshot()?;
        let Some(ends) = self.ends_after(source, sequence, samples_max)? else { return Ok(None) };
        let (first, last) = ends.numbers;
        let mut builder = Builder::new(self.described(source)?, last.cast_unsigned());
        self.each_sample(source, first, last, &mut |_, sample| builder.add(&sample))?;
        let mut batch = builder.finish();
        // A gap is stored before the sample that ends it, so later samples bring no earlier gaps.
        batch.gaps = self.gaps_of(source, ends.since, ends.taken.1)?;
        let (first, last) = ends.taken;
        let seen = self.warnings_of(source, first, last)?;
        batch.warnings = seen.into_iter().map(|seen| seen.between(first, last)).collect();
        Ok(Some(batch))
    }

    fn ends_after(
        &self,
        source: SourceNumber,
        sequence: u64,
        samples_max: u32,
    ) -> Result<Option<Ends>, RepositoryError> {
        let after = i64::try_from(sequence).unwrap_or(i64::MAX);
        let most = i64::from(samples_max);
        let row = self.session.row(statements::FIND_BATCH, &[&source.0, &after, &most])?;
        let Some(first) = self.column::<Option<i64>>(&row, 0)? else { return Ok(None) };
        let since = self.column::<Option<i64>>(&row, 2)?.map_or(Timestamp::MIN, from_utc_ns);
        let taken = (from_utc_ns(self.column(&row, 3)?), from_utc_ns(self.column(&row, 4)?));
        Ok(Some(Ends { numbers: (first, self.column(&row, 1)?), since, taken }))
    }
}
