//! Reads history.

use std::collections::HashMap;
use std::sync::Arc;

use iostall_model::{Epoch, Gap, Kind, Row, Sample, SampleTime, Scope, Step, Subject, Tier};
use jiff::Timestamp;
use rusqlite::{OptionalExtension, named_params};

use super::body::{self, Rows};
use super::{SourceNumber, SqliteHistory, damage, from_utc_ns, rollup_body, statements, utc_ns};
use crate::error::StoreError;
use crate::history::{Batch, Builder, ImportMark, RollupRow, Seams, SeenWarning, Series, SourceId, company};
use crate::sqlite::fault;

impl SqliteHistory {
    pub(super) fn intervals_of(
        &self,
        source: SourceNumber,
        from: Timestamp,
        to: Timestamp,
        each: &mut dyn FnMut(Step),
    ) -> Result<(), StoreError> {
        let first = self.number_at(statements::SAMPLE_BEFORE, source, from)?;
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
    ) -> Result<u64, StoreError> {
        Ok(self.number_at(statements::SAMPLE_BEFORE, source, at)?.cast_unsigned())
    }

    fn number_at(&self, sql: &str, source: SourceNumber, at: Timestamp) -> Result<i64, StoreError> {
        let parameters = named_params! {":source": source.0, ":utc_ns": utc_ns(at)};
        self.connection.query_row(sql, parameters, |row| row.get(0)).map_err(fault(&self.path, "read"))
    }

    pub(super) fn last_sample_of(&self, source: SourceNumber) -> Result<Option<Sample>, StoreError> {
        let parameters = named_params! {":source": source.0, ":utc_ns": i64::MAX};
        let last: i64 = self
            .connection
            .query_row(statements::SAMPLE_LAST, parameters, |row| row.get(0))
            .map_err(fault(&self.path, "read"))?;
        let mut newest = None;
        self.each_sample(source, last, last, &mut |_, sample| newest = Some(sample))?;
        Ok(newest)
    }

    pub(super) fn rollups_of(
        &self,
        source: SourceNumber,
        tier: Tier,
        from: Timestamp,
        to: Timestamp,
        each: &mut dyn FnMut(RollupRow),
    ) -> Result<(), StoreError> {
        let subjects = self.subjects(source)?;
        let mut all = || {
            let mut statement = self.connection.prepare_cached(statements::LIST_ROLLUPS)?;
            let parameters = named_params! {
                ":source": source.0,
                ":tier": tier as u8,
                ":from": from.as_second(),
                ":to": to.as_second(),
            };
            let mut rows = statement.query(parameters)?;
            while let Some(row) = rows.next()? {
                let series: u32 = row.get(1)?;
                let body = row.get_ref(2)?.as_blob()?;
                let rollup = rollup_body::decode(body)
                    .ok_or_else(|| damage(format!("a roll-up of series {series}")))?;
                let Some(subject) = subjects.get(&series).cloned() else { continue };
                let beginning = Timestamp::from_second(row.get(0)?).unwrap_or(Timestamp::UNIX_EPOCH);
                each(RollupRow { beginning, subject, rollup });
            }
            Ok(())
        };
        all().map_err(fault(&self.path, "read"))
    }

    pub(super) fn gaps_of(
        &self,
        source: SourceNumber,
        from: Timestamp,
        to: Timestamp,
    ) -> Result<Vec<Gap>, StoreError> {
        let all = || {
            let mut statement = self.connection.prepare_cached(statements::LIST_GAPS)?;
            let parameters = named_params! {":source": source.0, ":from": utc_ns(from), ":to": utc_ns(to)};
            let rows = statement.query_map(parameters, |row| {
                Ok(Gap {
                    at: from_utc_ns(row.get(0)?),
                    missed: row.get::<_, i64>(1)?.cast_unsigned(),
                    reason: row.get(2)?,
                })
            })?;
            rows.collect::<rusqlite::Result<Vec<_>>>()
        };
        all().map_err(fault(&self.path, "read"))
    }

    pub(super) fn warnings_of(
        &self,
        source: SourceNumber,
        from: Timestamp,
        to: Timestamp,
    ) -> Result<Vec<SeenWarning>, StoreError> {
        let all = || {
            let mut statement = self.connection.prepare_cached(statements::LIST_WARNINGS)?;
            let parameters = named_params! {":source": source.0, ":from": utc_ns(from), ":to": utc_ns(to)};
            let mut rows = statement.query(parameters)?;
            let mut warnings = Vec::new();
            while let Some(row) = rows.next()? {
                let text = row.get_ref(0)?.as_str()?;
                let warning = serde_json::from_str(text).map_err(|error| damage(error.to_string()))?;
                let (first, last) = (from_utc_ns(row.get(1)?), from_utc_ns(row.get(2)?));
                warnings.push(SeenWarning { warning, first, last });
            }
            Ok(warnings)
        };
        all().map_err(fault(&self.path, "read"))
    }

    /// Calls `each` with the samples numbered `first` to `last`, and with those before them back to a
    /// complete one.
    pub(super) fn each_sample(
        &self,
        source: SourceNumber,
        first: i64,
        last: i64,
        each: &mut dyn FnMut(i64, Sample),
    ) -> Result<(), StoreError> {
        let subjects = self.subjects(source)?;
        let mut all = || {
            let mut statement = self.connection.prepare_cached(statements::READ_SAMPLES)?;
            let mut found =
                statement.query(named_params! {":source": source.0, ":from": first, ":to": last})?;
            let mut rows = Rows::new();
            let mut earlier: Option<(SampleTime, Epoch)> = None;
            while let Some(row) = found.next()? {
                let number: i64 = row.get(0)?;
                if row.get::<_, bool>(4)? {
                    rows.clear();
                }
                body::decode(&mut rows, row.get_ref(5)?.as_blob()?)
                    .ok_or_else(|| damage(format!("sample {number}")))?;
                let sample = sample(row, &rows, &subjects)?;
                // Older versions stored two collectors' samples of one tick in the order of arrival.
                let is_late =
                    |(taken, epoch): &(SampleTime, Epoch)| company::is_overtaken(taken, epoch, &sample);
                if !earlier.as_ref().is_some_and(is_late) {
                    earlier = Some((sample.taken.clone(), sample.epoch.clone()));
                    each(number, sample);
                }
            }
            Ok(())
        };
        all().map_err(fault(&self.path, "read"))
    }

    fn subjects(&self, source: SourceNumber) -> Result<HashMap<u32, Subject>, StoreError> {
        let all = || {
            let mut statement = self.connection.prepare_cached(statements::LIST_SERIES)?;
            let mut rows = statement.query(named_params! {":source": source.0})?;
            let mut subjects = HashMap::new();
            while let Some(row) = rows.next()? {
                // Skip a kind from a newer iostall: its units are unknown here.
                let Some(kind) = Kind::from_number(row.get(1)?) else { continue };
                let Some(scope) = Scope::from_stored(row.get(2)?, row.get(3)?) else { continue };
                let (identity, name, volume) = (row.get(4)?, row.get(5)?, row.get(6)?);
                let subject = Subject { kind, scope, name, identity, volume };
                subjects.insert(row.get(0)?, subject);
            }
            Ok(subjects)
        };
        all().map_err(fault(&self.path, "read"))
    }

    pub(super) fn series(&self, source: SourceNumber) -> Result<Series, StoreError> {
        self.subjects(source).map(Series::of)
    }

    pub(super) fn ends(&self, source: SourceNumber) -> Result<(i64, i64), StoreError> {
        let parameters = named_params! {":source": source.0};
        self.connection
            .query_row(statements::FIND_ENDS, parameters, |row| Ok((row.get(0)?, row.get(1)?)))
            .map_err(fault(&self.path, "read"))
    }

    pub(super) fn import_mark_of(&self, source: SourceNumber) -> Result<Option<ImportMark>, StoreError> {
        let mark =
            |row: &rusqlite::Row<'_>| Ok(ImportMark { sample: row.get(0)?, taken: from_utc_ns(row.get(1)?) });
        self.connection
            .query_row(statements::FIND_IMPORT, named_params! {":source": source.0}, mark)
            .optional()
            .map_err(fault(&self.path, "read"))
    }
}

fn sample(
    row: &rusqlite::Row<'_>,
    rows: &Rows,
    subjects: &HashMap<u32, Subject>,
) -> rusqlite::Result<Sample> {
    let document: String = row.get(6)?;
    let mut epoch: Epoch = serde_json::from_str(&document).map_err(|error| damage(error.to_string()))?;
    epoch.uptime_s = row.get::<_, Option<i64>>(3)?.map(i64::cast_unsigned);
    let taken = SampleTime {
        utc: from_utc_ns(row.get(1)?),
        clock: row.get(7)?,
        clock_ns: row.get::<_, i64>(2)?.cast_unsigned(),
    };
    let rows = rows
        .iter()
        .filter_map(|(series, (counters, age_ms))| {
            let subject = subjects.get(series)?.clone();
            Some(Row { subject, counters: *counters, age_ms: *age_ms })
        })
        .collect();
    Ok(Sample { taken, epoch, rows, warnings: Vec::new() })
}

struct Ends {
    numbers: (i64, i64),
    /// Time of the sample before the first; the minimum timestamp if there is none.
    since: Timestamp,
    taken: (Timestamp, Timestamp),
}

impl SqliteHistory {
    /// See [`History::batch_after`](crate::History::batch_after). Samples are numbered in order, and numbers
    /// are never reused; the number of a batch is that of its last sample.
    pub(super) fn batch_of(
        &self,
        id: SourceId,
        sequence: u64,
        samples_max: u32,
    ) -> Result<Option<Batch>, StoreError> {
        let source = self.number(id)?;
        let Some(ends) = self.ends_after(source, sequence, samples_max)? else { return Ok(None) };
        let (first, last) = ends.numbers;
        let mut builder = Builder::new(self.described(id)?, last.cast_unsigned());
        self.each_sample(source, first, last, &mut |number, sample| {
            if number >= first {
                builder.add(&sample);
            }
        })?;
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
    ) -> Result<Option<Ends>, StoreError> {
        let parameters = named_params! {
            ":source": source.0,
            ":after": i64::try_from(sequence).unwrap_or(i64::MAX),
            ":samples": samples_max,
        };
        let ends = |row: &rusqlite::Row<'_>| {
            let Some(first) = row.get::<_, Option<i64>>(0)? else { return Ok(None) };
            let since = row.get::<_, Option<i64>>(2)?.map_or(Timestamp::MIN, from_utc_ns);
            let taken = (from_utc_ns(row.get(3)?), from_utc_ns(row.get(4)?));
            Ok(Some(Ends { numbers: (first, row.get(1)?), since, taken }))
        };
        self.connection
            .prepare_cached(statements::FIND_BATCH)
            .and_then(|mut statement| statement.query_row(parameters, ends))
            .map_err(fault(&self.path, "read"))
    }
}

impl SqliteHistory {
    pub(super) fn seams_of(&self, source: SourceNumber) -> Result<Option<Seams>, StoreError> {
        let (forgot, first, rolled_up, forgot_hours): (bool, Option<i64>, Option<i64>, Option<i64>) = self
            .connection
            .query_row(statements::FIND_SEAM, named_params! {":source": source.0}, |row| {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
            })
            .map_err(fault(&self.path, "read"))?;
        if !forgot {
            return Ok(None);
        }
        let first = first.map_or(Timestamp::MAX, from_utc_ns);
        let end = rolled_up.map_or(Timestamp::MAX, from_utc_ns);
        let days_until = forgot_hours.and_then(|second| Timestamp::from_second(second).ok());
        Ok(Some(Seams::between(days_until.unwrap_or(Timestamp::MIN), first, end)))
    }
}
