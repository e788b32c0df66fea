//! Writes and reads roll-ups.

use std::collections::{BTreeMap, BTreeSet};

use iostall_model::{Counter, Peak, Rollup, StallHistogram, Tier, Totals};
use jiff::Timestamp;
use tokio_postgres::Row;

use super::chain::Chain;
use super::columns::{PEAKS, SourceNumber, UtcMicros, counters_from, with_all_counters};
use super::copy_format::CopyBody;
use super::database::Database;
use super::partitions::Partitioned;
use super::statements;
use crate::history::utc_ns;
use crate::repository_error::RepositoryError;

/// Roll-ups of one source and tier, by beginning and series.
pub(super) type Rollups = BTreeMap<(Timestamp, u32), Rollup>;

/// Columns before the peaks, as they are read; those written have the source too.
const COLUMNS_BEFORE: usize = 6;
/// Bytes of a tuple for COPY, about.
const TUPLE_BYTES: usize = 500;

impl Database {
    /// Adds everything pending to the stored roll-ups, which then end at the newest sample of `chain`.
    pub(super) fn flush(&self, chain: &mut Chain) -> Result<(), RepositoryError> {
        let hours = chain.pending.take(chain.last);
        let mut days = Rollups::new();
        for ((hour, series), rollup) in &hours {
            days.entry((Tier::Day.floor(*hour), *series)).or_default().merge(rollup);
        }
        self.merge(chain.source, Tier::Hour, hours)?;
        self.merge(chain.source, Tier::Day, days)?;
        let at = chain.before.as_ref().map(|sample| utc_ns(sample.taken.utc));
        self.session.execute(statements::MARK_ROLLED_UP, &[&chain.source.0, &chain.last, &at])?;
        Ok(())
    }

    /// Adds `rollups` to the stored ones of their hours or days.
    pub(super) fn merge(
        &self,
        source: SourceNumber,
        tier: Tier,
        mut rollups: Rollups,
    ) -> Result<(), RepositoryError> {
        if rollups.is_empty() {
            return Ok(());
        }
        let beginnings: BTreeSet<Timestamp> = rollups.keys().map(|(beginning, _)| *beginning).collect();
        if tier == Tier::Hour {
            for beginning in &beginnings {
                self.partitions.make_for(&self.session, Partitioned::Hours, *beginning)?;
            }
        }
        let beginnings: Vec<UtcMicros> = beginnings.into_iter().map(UtcMicros::of).collect();
        let (mut found_at, mut found_of) = (Vec::new(), Vec::new());
        for row in self.session.rows(&of_tier(statements::FIND_ROLLUPS, tier), &[&source.0, &beginnings])? {
            let (beginning, series, mut stored) = self.rollup(&row)?;
            if let Some(sum) = rollups.get_mut(&(beginning.timestamp(), series)) {
                stored.merge(sum);
                *sum = stored;
                found_at.push(beginning);
                found_of.push(series.cast_signed());
            }
        }
        if !found_at.is_empty() {
            let sql = of_tier(statements::DELETE_FOUND_ROLLUPS, tier);
            self.session.execute(&sql, &[&source.0, &found_at, &found_of])?;
        }
        let mut body = CopyBody::new(rollups.len() * TUPLE_BYTES);
        for ((beginning, series), rollup) in &rollups {
            put(&mut body, source, UtcMicros::of(*beginning), *series, rollup);
        }
        self.session.copy_in(&of_tier(statements::COPY_ROLLUPS, tier), body.finish())
    }

    /// Deletes those of `source` that begin in the window.
    pub(super) fn delete_rollups(
        &self,
        source: SourceNumber,
        tier: Tier,
        from: Timestamp,
        to: Timestamp,
    ) -> Result<(), RepositoryError> {
        let sql = of_tier(statements::DELETE_ROLLUPS, tier);
        self.session.execute(&sql, &[&source.0, &UtcMicros::of(from), &UtcMicros::of(to)]).map(drop)
    }

    /// Those of `source` that begin in the window.
    pub(super) fn rollups_between(
        &self,
        source: SourceNumber,
        tier: Tier,
        from: Timestamp,
        to: Timestamp,
    ) -> Result<Vec<(Timestamp, u32, Rollup)>, RepositoryError> {
        let sql = of_tier(statements::LIST_ROLLUPS, tier);
        let rows = self.session.rows(&sql, &[&source.0, &UtcMicros::of(from), &UtcMicros::of(to)])?;
        let read = |row: &Row| {
            let (beginning, series, rollup) = self.rollup(row)?;
            Ok((beginning.timestamp(), series, rollup))
        };
        rows.iter().map(read).collect()
    }

    fn rollup(&self, row: &Row) -> Result<(UtcMicros, u32, Rollup), RepositoryError> {
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

/// `sql` with the table and the columns of `tier`.
fn of_tier(sql: &str, tier: Tier) -> String {
    let table = match tier {
        Tier::Hour => Partitioned::Hours.table(),
        Tier::Day => "rollup_day",
    };
    with_all_counters(&sql.replace("{table}", table).replace("{peaks}", PEAKS))
}

fn put(body: &mut CopyBody, source: SourceNumber, beginning: UtcMicros, series: u32, rollup: &Rollup) {
    body.tuple(COLUMNS_BEFORE + 1 + Peak::ALL.len() + Counter::COUNT);
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
    for counter in Counter::ALL {
        body.bits(rollup.totals.amounts.get(counter));
    }
}

/// Bucket and operations, one after the other.
fn numbers(histogram: &StallHistogram) -> Vec<i64> {
    histogram.buckets().flat_map(|(bucket, ops)| [i64::from(bucket), ops.cast_signed()]).collect()
}

fn histogram(numbers: &[i64]) -> Option<StallHistogram> {
    let bucket = |pair: &[i64]| match pair {
        [bucket, ops] => Some((u8::try_from(*bucket).ok()?, ops.cast_unsigned())),
        _ => None,
    };
    numbers.chunks(2).map(bucket).collect::<Option<Vec<_>>>().map(StallHistogram::from_buckets)
}
