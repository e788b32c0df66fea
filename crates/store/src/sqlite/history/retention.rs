//! Deletes old history and rebuilds roll-ups.

use iostall_model::{Sample, Tier, delta};
use jiff::{SignedDuration, Timestamp};
use rusqlite::{Transaction, named_params};

use super::rollup_body::{self, merge};
use super::{SourceNumber, SqliteHistory, damage, statements, utc_ns};
use crate::error::StoreError;
use crate::history::{Pending, Retention, ceiling};
use crate::sqlite::{begin, fault};

impl SqliteHistory {
    pub(super) fn forget_old(&mut self, retention: &Retention, now: Timestamp) -> Result<(), StoreError> {
        let failed = fault(&self.path, "write to");
        let sources = self.numbers()?;
        let all = || {
            let transaction = begin(&self.connection, &self.path, 0)?;
            for source in &sources {
                let raw_limit = before(now, retention.raw);
                let parameters = named_params! {":source": source.0, ":utc_ns": utc_ns(raw_limit)};
                if transaction.execute(statements::DELETE_SAMPLES, parameters)? > 0 {
                    let mark = named_params! {":source": source.0};
                    transaction.execute(statements::MARK_FORGOTTEN, mark)?;
                }
                transaction.execute(statements::DELETE_GAPS, parameters)?;
                let hours_from = Tier::Day.floor(before(now, retention.hours));
                if delete(&transaction, *source, Tier::Hour, None, hours_from)? > 0 {
                    let mark = named_params! {":source": source.0, ":before_s": hours_from.as_second()};
                    transaction.execute(statements::MARK_HOURS_FORGOTTEN, mark)?;
                }
                if let Some(days) = retention.days {
                    delete(&transaction, *source, Tier::Day, None, before(now, days))?;
                    let old = named_params! {":source": source.0, ":utc_ns": utc_ns(before(now, days))};
                    transaction.execute(statements::DELETE_SETTINGS, old)?;
                }
            }
            transaction.commit()
        };
        all().map_err(failed)
    }

    pub(super) fn remove_source(&mut self, source: SourceNumber) -> Result<(), StoreError> {
        self.chains.remove(&source);
        begin(&self.connection, &self.path, 0)
            .and_then(|transaction| {
                transaction.execute(statements::DELETE_SOURCE, named_params! {":source": source.0})?;
                transaction.commit()
            })
            .map_err(fault(&self.path, "write to"))
    }

    pub(super) fn rebuild_of(&mut self, source: SourceNumber) -> Result<(), StoreError> {
        let series = self.series(source)?;
        let mut pending = Pending::default();
        let (mut earlier, mut first, mut last): (Option<Sample>, Option<Timestamp>, i64) = (None, None, 0);
        self.each_sample(source, 0, i64::MAX, &mut |number, sample| {
            if let Some(earlier) = &earlier {
                pending
                    .absorb(&sample, &delta::compare(earlier, &sample), |_, subject| series.number(subject));
            }
            first.get_or_insert(sample.taken.utc);
            last = number;
            earlier = Some(sample);
        })?;
        let Some(first) = first else { return Ok(()) };
        let failed = fault(&self.path, "write to");
        let all = || {
            let transaction = begin(&self.connection, &self.path, 0)?;
            replace_hours(&transaction, source, pending, first)?;
            replace_days(&transaction, source, first)?;
            let mark = named_params! {":number": last, ":source": source.0};
            transaction.execute(statements::MARK_ROLLED_UP, mark)?;
            transaction.commit()
        };
        all().map_err(failed)?;
        // The pending roll-ups of the writer are stored now.
        self.resume_if_open(source)
    }
}

fn replace_hours(
    transaction: &Transaction<'_>,
    source: SourceNumber,
    pending: Pending,
    first: Timestamp,
) -> rusqlite::Result<()> {
    // An hour that began before the oldest sample is already there or never was, unless nothing older exists.
    let is_all = is_whole_history(transaction, source)?;
    let start = if is_all { Timestamp::MIN } else { ceiling(Tier::Hour, first) };
    delete(transaction, source, Tier::Hour, Some(start), Timestamp::MAX)?;
    for ((hour, series), rollup) in pending.into_hours() {
        if hour >= start {
            merge(transaction, Tier::Hour, hour, series, &rollup)?;
        }
    }
    Ok(())
}

/// Whether no raw sample of `source` was ever deleted, so that every roll-up can be rebuilt.
fn is_whole_history(transaction: &Transaction<'_>, source: SourceNumber) -> rusqlite::Result<bool> {
    transaction.query_row(statements::FORGOT_NOTHING, named_params! {":source": source.0}, |row| row.get(0))
}

fn replace_days(
    transaction: &Transaction<'_>,
    source: SourceNumber,
    first: Timestamp,
) -> rusqlite::Result<()> {
    let start =
        if is_whole_history(transaction, source)? { Timestamp::MIN } else { ceiling(Tier::Day, first) };
    delete(transaction, source, Tier::Day, Some(start), Timestamp::MAX)?;
    let mut statement = transaction.prepare_cached(statements::LIST_ROLLUPS)?;
    let mut rows = statement.query(named_params! {
        ":source": source.0,
        ":tier": Tier::Hour as u8,
        ":from": start.as_second(),
        ":to": Timestamp::MAX.as_second(),
    })?;
    while let Some(row) = rows.next()? {
        let (second, series): (i64, u32) = (row.get(0)?, row.get(1)?);
        let rollup = rollup_body::decode(row.get_ref(2)?.as_blob()?)
            .ok_or_else(|| damage(format!("a roll-up of series {series}")))?;
        let hour = Timestamp::from_second(second).unwrap_or(Timestamp::UNIX_EPOCH);
        merge(transaction, Tier::Day, Tier::Day.floor(hour), series, &rollup)?;
    }
    Ok(())
}

fn delete(
    transaction: &Transaction<'_>,
    source: SourceNumber,
    tier: Tier,
    from: Option<Timestamp>,
    to: Timestamp,
) -> rusqlite::Result<usize> {
    let parameters = named_params! {
        ":source": source.0,
        ":tier": tier as u8,
        ":from": from.map_or(i64::MIN, Timestamp::as_second),
        ":to": to.as_second(),
    };
    transaction.execute(statements::DELETE_ROLLUPS, parameters)
}

fn before(now: Timestamp, length: SignedDuration) -> Timestamp {
    now.checked_sub(length).unwrap_or(Timestamp::MIN)
}
