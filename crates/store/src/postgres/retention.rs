//! Drops old partitions, removes sources, and rebuilds roll-ups.

use iostall_model::{Sample, Tier, delta};
use jiff::{SignedDuration, Timestamp};
use tokio_postgres::types::ToSql;

use super::columns::{SourceNumber, UtcMicros};
use super::database::Database;
use super::partitions::{Partition, Partitioned};
use super::rollups::Rollups;
use super::sources::Locked;
use super::statements;
use crate::error::StoreError;
use crate::history::{Pending, Retention, SourceId, ceiling, utc_ns};
use crate::repository_error::RepositoryError;

/// Tables that name a source without a foreign key.
const TABLES: [&str; 4] = ["sample_row", "sample", "rollup_hour", "rollup_day"];

impl Database {
    /// Sources whose roll-ups still need a sample that `retention` no longer keeps.
    pub(super) fn unfinished(
        &self,
        retention: &Retention,
        now: Timestamp,
    ) -> Result<Vec<SourceId>, RepositoryError> {
        let mut sources = Vec::new();
        for partition in
            self.partitions.before(&self.session, Partitioned::Samples, before(now, retention.raw))?
        {
            let sql = statements::UNFINISHED_IN.replace("{partition}", &partition.name);
            for row in self.session.rows(&sql, &[])? {
                sources.push(self.parsed(&row, 0)?);
            }
        }
        Ok(sources)
    }

    /// See [`History::forget`](crate::History::forget). Whole days of samples and whole months of hours go.
    pub(super) fn forget_old(&self, retention: &Retention, now: Timestamp) -> Result<(), StoreError> {
        let raw_limit = before(now, retention.raw);
        // The rows go before their samples: what is between the two is not looked for.
        for table in [Partitioned::Rows, Partitioned::Samples, Partitioned::Hours] {
            let limit = if table == Partitioned::Hours { before(now, retention.hours) } else { raw_limit };
            for partition in self.partitions.before(&self.session, table, limit)? {
                self.drop(table, &partition)?;
            }
        }
        self.session.execute(statements::DELETE_OLD_GAPS, &[&utc_ns(raw_limit)])?;
        if let Some(days) = retention.days {
            self.session.execute(statements::DELETE_OLD_DAYS, &[&UtcMicros::of(before(now, days))])?;
        }
        let transaction = self.session.begin()?;
        self.partitions.make_ahead(&self.session, now)?;
        transaction.commit()?;
        Ok(())
    }

    fn drop(&self, table: Partitioned, partition: &Partition) -> Result<(), RepositoryError> {
        let of_partition = |sql: &str| sql.replace("{partition}", &partition.name);
        let transaction = self.session.begin()?;
        self.session.run("write to", statements::WAIT_SHORTLY)?;
        match table {
            Partitioned::Samples | Partitioned::Rows => {
                self.session.execute(&of_partition(statements::MARK_FORGOTTEN_IN), &[])?;
            }
            Partitioned::Hours => {
                let sql = of_partition(statements::MARK_HOURS_FORGOTTEN_IN);
                self.session.execute(&sql, &[&UtcMicros::of(partition.end)])?;
            }
        }
        self.session.run("write to", &of_partition(statements::DROP_PARTITION))?;
        self.partitions.forget();
        transaction.commit()
    }

    pub(super) fn remove_source(&self, source: SourceNumber) -> Result<(), RepositoryError> {
        let value: &(dyn ToSql + Sync) = &source.0;
        for table in TABLES {
            self.session.execute(&statements::DELETE_ROWS.replace("{table}", table), &[value])?;
        }
        self.session.execute(statements::DELETE_SOURCE, &[value]).map(drop)
    }

    pub(super) fn rebuild_of(&self, locked: &Locked) -> Result<(), StoreError> {
        let source = locked.number;
        let series = self.series(source)?;
        let mut pending = Pending::default();
        let (mut earlier, mut first): (Option<Sample>, Option<Timestamp>) = (None, None);
        self.each_sample(source, 0, i64::MAX, &mut |_, sample| {
            if let Some(earlier) = &earlier {
                let changes = delta::compare(earlier, &sample);
                pending.absorb(&sample, &changes, |_, subject| series.number(subject));
            }
            first.get_or_insert(sample.taken.utc);
            earlier = Some(sample);
        })?;
        let (Some(first), Some(newest)) = (first, earlier) else { return Ok(()) };
        let is_all = self.column(&self.session.row(statements::FORGOT_NOTHING, &[&source.0])?, 0)?;
        // An hour that began before the oldest sample is already there or never was, unless nothing older exists.
        let start = |tier| if is_all { Timestamp::MIN } else { ceiling(tier, first) };
        let (hours_from, days_from) = (start(Tier::Hour), start(Tier::Day));
        self.delete_rollups(source, Tier::Hour, hours_from, Timestamp::MAX)?;
        let hours = pending.into_hours().into_iter().filter(|((hour, _), _)| *hour >= hours_from).collect();
        let all = (Some(Timestamp::MAX), Some(Timestamp::MAX));
        self.merge(source, hours, Rollups::new(), all)?;
        self.delete_rollups(source, Tier::Day, days_from, Timestamp::MAX)?;
        let mut days = Rollups::new();
        for (hour, series, rollup) in self.rollups_between(source, Tier::Hour, days_from, Timestamp::MAX)? {
            days.entry((Tier::Day.floor(hour), series)).or_default().merge(&rollup);
        }
        self.merge(source, Rollups::new(), days, all)?;
        let at = Some(utc_ns(newest.taken.utc));
        self.session.execute(statements::MARK_ROLLED_UP, &[&source.0, &locked.last, &at])?;
        Ok(())
    }
}

fn before(now: Timestamp, length: SignedDuration) -> Timestamp {
    now.checked_sub(length).unwrap_or(Timestamp::MIN)
}
