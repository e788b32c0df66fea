//! Days on their way to the lake: what is read of them, what is noted about it, and the switch that takes them out of the repository.

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::columns::UtcMicros;
use super::partitions::Partitioned;
use super::{PostgresHistory, statements};
use crate::error::StoreError;
use crate::history::SourceId;
use crate::lake_day::{LakeDay, LakeMove, LakeSeal, LakeSwitch, LakeTable};
use crate::repository_error::{LOCKED, RepositoryError};

/// How the beginning and the end of `day` are compared with the times of rows.
pub(super) fn window(day: LakeDay) -> (UtcMicros, UtcMicros) {
    (UtcMicros::of(day.begins()), UtcMicros::of(day.ends()))
}

/// What the lake needs of a repository. Everything fails if the repository cannot be used.
impl PostgresHistory {
    /// Makes this connection the one that moves days until it ends; `false` if another one does.
    pub fn hold_lake(&self) -> Result<bool, StoreError> {
        let database = &self.database;
        Ok(database.column(&database.session.row(statements::LAKE_HOLD, &[])?, 0)?)
    }

    /// The days with samples or hours that ended by `limit`, the oldest first.
    pub fn lake_days(&self, limit: Timestamp) -> Result<Vec<LakeDay>, StoreError> {
        let database = &self.database;
        let mut days = Vec::new();
        for row in database.session.rows(statements::LAKE_DAYS, &[&UtcMicros::of(limit)])? {
            days.push(LakeDay(database.parsed(&row, 0)?));
        }
        for partition in database.partitions.before(&database.session, Partitioned::Samples, limit)? {
            let Ok(last) = partition.end.to_zoned(TimeZone::UTC).date().yesterday() else { continue };
            let day = LakeDay(last);
            let (from, to) = window(day);
            let row = database.session.row(statements::LAKE_IS_THERE, &[&from, &to])?;
            if database.column(&row, 0)? {
                days.push(day);
            }
        }
        days.retain(|day| day.ends() <= limit);
        days.sort_unstable();
        days.dedup();
        Ok(days)
    }

    /// Writes the hours that still need samples of `day`.
    pub fn finish_lake_day(&mut self, day: LakeDay) -> Result<(), StoreError> {
        let (from, to) = window(day);
        let rows = self.database.session.rows(statements::LAKE_UNFINISHED_SOURCES, &[&from, &to])?;
        let sources: Vec<SourceId> =
            rows.iter().map(|row| self.database.parsed(row, 0)).collect::<Result<_, _>>()?;
        sources.into_iter().try_for_each(|source| self.finish_one(source))
    }

    pub fn lake_seal(&self, day: LakeDay) -> Result<LakeSeal, StoreError> {
        let database = &self.database;
        let (from, to) = window(day);
        let row = database.session.row(statements::LAKE_SEAL, &[&from, &to])?;
        Ok(LakeSeal {
            sample_rows: database.column::<i64>(&row, 0)?.cast_unsigned(),
            hour_rows: database.column::<i64>(&row, 1)?.cast_unsigned(),
            words: database.column(&row, 2)?,
        })
    }

    /// Moves that were begun and are neither complete nor given up, the oldest first.
    pub fn unfinished_lake_moves(&self) -> Result<Vec<LakeMove>, StoreError> {
        let database = &self.database;
        let rows = database.session.rows(statements::LAKE_UNFINISHED, &[])?;
        let one = |row: &tokio_postgres::Row| {
            Ok(LakeMove {
                number: database.column(row, 0)?,
                day: LakeDay(database.parsed(row, 1)?),
                place: database.column(row, 2)?,
                paths: database.column(row, 3)?,
            })
        };
        Ok(rows.iter().map(one).collect::<Result<_, RepositoryError>>()?)
    }

    pub fn begin_lake_move(&self, day: LakeDay, place: &str) -> Result<i64, StoreError> {
        let database = &self.database;
        let row = database.session.row(statements::LAKE_BEGIN_MOVE, &[&day.to_string(), &place])?;
        Ok(database.column(&row, 0)?)
    }

    pub fn add_lake_file(&self, number: i64, path: &str) -> Result<(), StoreError> {
        self.database.session.execute(statements::LAKE_ADD_FILE, &[&number, &path])?;
        Ok(())
    }

    /// Notes that what a move wrote was read back and is what the repository has.
    pub fn mark_lake_verified(
        &self,
        number: i64,
        seal: &LakeSeal,
        file_bytes: u64,
    ) -> Result<(), StoreError> {
        let counts = [seal.sample_rows, seal.hour_rows, file_bytes].map(u64::cast_signed);
        let values: super::session::Values<'_> = &[&number, &counts[0], &counts[1], &counts[2]];
        self.database.session.execute(statements::LAKE_MARK_VERIFIED, values)?;
        Ok(())
    }

    pub fn abandon_lake_move(&self, number: i64) -> Result<(), StoreError> {
        self.database.session.execute(statements::LAKE_ABANDON, &[&number])?;
        Ok(())
    }

    /// Where the metadata of a table of the lake lies; `None` before its first day.
    pub fn lake_table(&self, name: &str) -> Result<Option<String>, StoreError> {
        let database = &self.database;
        let rows = database.session.rows(statements::LAKE_FIND_TABLE, &[&name])?;
        Ok(rows.first().map(|row| database.column(row, 0)).transpose()?.flatten())
    }

    /// Puts the new snapshots of `tables` in place and takes `day` out of the repository, in one transaction: whoever reads both in one
    /// snapshot finds each row once. Changes nothing, and says so, if the day or a table is not what it was.
    pub fn switch_lake_day(
        &mut self,
        number: i64,
        day: LakeDay,
        seal: &LakeSeal,
        tables: &[LakeTable],
    ) -> Result<LakeSwitch, StoreError> {
        let transaction = self.database.session.begin()?;
        let switch = match self.switched(number, day, seal, tables) {
            Err(StoreError::Repository(RepositoryError::Refused { state, .. })) if state == LOCKED => {
                LakeSwitch::Busy
            }
            switch => switch?,
        };
        if switch == LakeSwitch::Done {
            transaction.commit()?;
        }
        self.database.partitions.forget();
        Ok(switch)
    }

    fn switched(
        &self,
        number: i64,
        day: LakeDay,
        seal: &LakeSeal,
        tables: &[LakeTable],
    ) -> Result<LakeSwitch, StoreError> {
        let session = &self.database.session;
        let (from, to) = window(day);
        session.run("write to", statements::WAIT_SHORTLY)?;
        if session.execute(statements::LAKE_MARK_MOVED, &[&number])? == 0 {
            return Ok(LakeSwitch::GivenUp);
        }
        // The rows of sources are waited for before the tables: whoever adds samples locks them in this order.
        session.execute(statements::LAKE_MARK_SAMPLES, &[&from, &to])?;
        session.execute(statements::LAKE_MARK_HOURS, &[&from, &to])?;
        session.run("write to", statements::LAKE_LOCK_TABLES)?;
        if self.lake_seal(day)? != *seal {
            return Ok(LakeSwitch::DayChanged);
        }
        session.execute(statements::LAKE_ADD_NAMESPACE, &[])?;
        for table in tables {
            let changed = match &table.before {
                None => session.execute(statements::LAKE_ADD_TABLE, &[&table.name, &table.now])?,
                Some(before) => {
                    session.execute(statements::LAKE_SWITCH_TABLE, &[&table.name, &table.now, before])?
                }
            };
            if changed == 0 {
                return Ok(LakeSwitch::TableChanged);
            }
        }
        session.execute(statements::LAKE_DELETE_HOURS, &[&from, &to])?;
        for table in [Partitioned::Rows, Partitioned::Samples] {
            let partitions = self.database.partitions.before(session, table, day.ends())?;
            for partition in partitions.iter().filter(|partition| partition.end == day.ends()) {
                let sql = statements::DROP_PARTITION.replace("{partition}", &partition.name);
                session.run("write to", &sql)?;
            }
        }
        Ok(LakeSwitch::Done)
    }
}
