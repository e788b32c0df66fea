//! Writes and reads roll-ups.

use std::collections::{BTreeMap, BTreeSet};

use iostall_model::{Counter, Peak, Rollup, StallHistogram, Tier, Totals};
use jiff::Timestamp;
use tokio_postgres::Row;

use super::chain::{Chain, Closed, RolledUp};
use super::columns::{
    PEAKS, SourceNumber, UtcMicros, counter_columns, counters_from, in_set, with_all_counters,
};
use super::copy_format::CopyBody;
use super::database::Database;
use super::partitions::Partitioned;
use super::statements;
use crate::history::utc_ns;
use crate::repository_error::RepositoryError;

pub(super) type Rollups = BTreeMap<(Timestamp, u32), Rollup>;

/// Columns before the peaks, as they are read; those written have the source too.
const COLUMNS_BEFORE: usize = 6;
/// Bytes of a tuple for COPY, about.
const TUPLE_BYTES: usize = 500;

impl Database {
    /// Adds what a batch has completed to the stored roll-ups, and returns how far they reach now: the row of the source must be told.
    pub(super) fn flush(
        &self,
        chain: &mut Chain,
        closed: Closed,
    ) -> Result<Option<RolledUp>, RepositoryError> {
        let (hours, rolled_up) = match closed {
            Closed::Nothing => return Ok(None),
            // The hour that goes on stays in memory: stored now, it would be stored once more when it ends.
            Closed::Before { hour, number } => {
                let rolled_up = RolledUp { to: number, utc_ns: Some(utc_ns(hour)) };
                (chain.pending.take_before(hour), rolled_up)
            }
            Closed::All => {
                let at = chain.before.as_ref().map(|sample| utc_ns(sample.taken.utc));
                (chain.pending.take(chain.last), RolledUp { to: chain.last, utc_ns: at })
            }
        };
        let mut days = Rollups::new();
        for ((hour, series), rollup) in &hours {
            days.entry((Tier::Day.floor(*hour), *series)).or_default().merge(rollup);
        }
        let newest = (newest(&hours), newest(&days));
        self.merge(chain.source, hours, days, chain.newest)?;
        chain.newest = (chain.newest.0.max(newest.0), chain.newest.1.max(newest.1));
        chain.rolled_up = rolled_up;
        Ok(Some(rolled_up))
    }

    /// Adds to the stored roll-ups, within the transaction: what it writes is sent with the next statement. None are stored of hours and
    /// days after `newest`.
    pub(super) fn merge(
        &self,
        source: SourceNumber,
        mut hours: Rollups,
        mut days: Rollups,
        newest: (Option<Timestamp>, Option<Timestamp>),
    ) -> Result<(), RepositoryError> {
        let mut of_hours = beginnings(&hours);
        for beginning in &of_hours {
            self.partitions.make_for(&self.session, Partitioned::Hours, beginning.timestamp())?;
        }
        let mut of_days = beginnings(&days);
        of_hours.retain(|hour| newest.0.is_some_and(|newest| hour.timestamp() <= newest));
        of_days.retain(|day| newest.1.is_some_and(|newest| day.timestamp() <= newest));
        if !of_hours.is_empty() || !of_days.is_empty() {
            let sql = with_all_counters(&statements::TAKE_ROLLUPS.replace("{peaks}", PEAKS));
            for row in self.session.rows(&sql, &[&source.0, &of_hours, &of_days])? {
                let (beginning, series, stored) = self.rollup(&row)?;
                let is_day = self.column(&row, COLUMNS_BEFORE + Peak::ALL.len() + Counter::COUNT)?;
                let rollups = if is_day { &mut days } else { &mut hours };
                let sum = rollups.entry((beginning.timestamp(), series)).or_default();
                let more = std::mem::replace(sum, stored);
                sum.merge(&more);
            }
        }
        self.put_all(source, Tier::Hour, &hours)?;
        self.put_all(source, Tier::Day, &days)
    }

    pub(super) fn newest_rollups(
        &self,
        source: SourceNumber,
    ) -> Result<(Option<Timestamp>, Option<Timestamp>), RepositoryError> {
        let row = self.session.row(statements::NEWEST_ROLLUPS, &[&source.0])?;
        let time = |place| -> Result<Option<Timestamp>, RepositoryError> {
            Ok(self.column::<Option<UtcMicros>>(&row, place)?.map(UtcMicros::timestamp))
        };
        Ok((time(0)?, time(1)?))
    }

    fn put_all(&self, source: SourceNumber, tier: Tier, rollups: &Rollups) -> Result<(), RepositoryError> {
        if rollups.is_empty() {
            return Ok(());
        }
        let present = rollups.values().fold(0, |present, rollup| present | rollup.totals.amounts.present());
        let mut body = CopyBody::new(rollups.len() * TUPLE_BYTES);
        for ((beginning, series), rollup) in rollups {
            put(&mut body, source, UtcMicros::of(*beginning), *series, rollup, present);
        }
        let sql = in_table(statements::COPY_ROLLUPS, tier);
        let sql = sql.replace("{peaks}", PEAKS).replace("{counters}", &counter_columns(present));
        self.session.copy_in_later(&sql, body.end())
    }

    pub(super) fn delete_rollups(
        &self,
        source: SourceNumber,
        tier: Tier,
        from: Timestamp,
        to: Timestamp,
    ) -> Result<(), RepositoryError> {
        let sql = in_table(statements::DELETE_ROLLUPS, tier);
        self.session.execute(&sql, &[&source.0, &UtcMicros::of(from), &UtcMicros::of(to)]).map(drop)
    }

    pub(super) fn rollups_between(
        &self,
        source: SourceNumber,
        tier: Tier,
        from: Timestamp,
        to: Timestamp,
    ) -> Result<Vec<(Timestamp, u32, Rollup)>, RepositoryError> {
        let sql = in_table(statements::LIST_ROLLUPS, tier).replace("{peaks}", PEAKS);
        let sql = with_all_counters(&sql);
        let rows = self.session.rows(&sql, &[&source.0, &UtcMicros::of(from), &UtcMicros::of(to)])?;
        let read = |row: &Row| {
            let (beginning, series, rollup) = self.rollup(row)?;
            Ok((beginning.timestamp(), series, rollup))
        };
        rows.iter().map(read).collect()
    }

    pub(super) fn rollup(&self, row: &Row) -> Result<(UtcMicros, u32, Rollup), RepositoryError> {
        let unsigned = |place| self.column::<i64>(row, place).map(i64::cast_unsigned);
        let histogram = |place| {
            let numbers: Vec<i64> = self.column(row, place)?;
            histogram(&numbers).ok_or_else(|| self.session.damaged("a distribution of stall"))
        };
        let mut peaks = [None; Peak::ALL.len()];
        for (place, peak) in peaks.iter_mut().enumerate() {
            *peak = self.column::<Option<f64>>(row, COLUMNS_BEFORE + place)?;
        }
        let amounts = counters_from(row, COLUMNS_BEFORE + peaks.len()).map_err(|e| self.unreadable(&e))?;
        let rollup = Rollup {
            totals: Totals { covered_ns: unsigned(2)?, amounts },
            intervals: unsigned(3)?,
            peaks,
            reads_by_stall: histogram(4)?,
            writes_by_stall: histogram(5)?,
        };
        Ok((self.column(row, 0)?, self.column::<i32>(row, 1)?.cast_unsigned(), rollup))
    }
}

fn newest(rollups: &Rollups) -> Option<Timestamp> {
    rollups.keys().next_back().map(|(beginning, _)| *beginning)
}

fn beginnings(rollups: &Rollups) -> Vec<UtcMicros> {
    let beginnings: BTreeSet<Timestamp> = rollups.keys().map(|(beginning, _)| *beginning).collect();
    beginnings.into_iter().map(UtcMicros::of).collect()
}

fn in_table(sql: &str, tier: Tier) -> String {
    let table = match tier {
        Tier::Hour => Partitioned::Hours.table(),
        Tier::Day => "rollup_day",
    };
    sql.replace("{table}", table)
}

fn put(
    body: &mut CopyBody,
    source: SourceNumber,
    beginning: UtcMicros,
    series: u32,
    rollup: &Rollup,
    present: u64,
) {
    body.tuple(COLUMNS_BEFORE + 1 + Peak::ALL.len() + in_set(present).count());
    body.bigint(beginning.0);
    body.integer(source.0);
    body.integer(series.cast_signed());
    body.bigint(rollup.totals.covered_ns.cast_signed());
    body.bigint(rollup.intervals.cast_signed());
    body.bigints(&numbers(&rollup.reads_by_stall));
    body.bigints(&numbers(&rollup.writes_by_stall));
    for peak in rollup.peaks {
        body.double(peak);
    }
    for counter in in_set(present) {
        body.bits(rollup.totals.amounts.get(counter));
    }
}

/// Bucket and operations, one after the other.
fn numbers(histogram: &StallHistogram) -> Vec<i64> {
    histogram.buckets().flat_map(|(bucket, ops)| [i64::from(bucket), ops.cast_signed()]).collect()
}

/// A distribution of stall as it is kept; `None` if it is none.
pub(super) fn histogram(numbers: &[i64]) -> Option<StallHistogram> {
    let bucket = |pair: &[i64]| match pair {
        [bucket, ops] => Some((u8::try_from(*bucket).ok()?, ops.cast_unsigned())),
        _ => None,
    };
    numbers.chunks(2).map(bucket).collect::<Option<Vec<_>>>().map(StallHistogram::from_buckets)
}
