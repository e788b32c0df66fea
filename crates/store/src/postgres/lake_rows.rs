//! Reads a day of a repository for the lake: source by source, series by series, in order of time.

use std::collections::HashMap;

use iostall_model::{Kind, Scope, Subject};
use tokio_postgres::Row;

use super::columns::{PEAKS, SourceNumber, counters_from, with_all_counters};
use super::database::Database;
use super::lake::window;
use super::{PostgresHistory, statements};
use crate::error::StoreError;
use crate::history::from_utc_ns;
use crate::lake_day::{LakeDay, LakeEpoch, LakeHour, LakeReader, LakeRow, LakeSeries, LakeSource};
use crate::repository_error::RepositoryError;

const ROW_COLUMNS: usize = 7;

impl PostgresHistory {
    pub fn lake_sources(&self, day: LakeDay) -> Result<Vec<LakeSource>, StoreError> {
        let database = &self.database;
        let (from, to) = window(day);
        let rows = database.session.rows(statements::LAKE_SOURCES, &[&from, &to])?;
        let source = |row: &Row| {
            Ok(LakeSource {
                number: database.column(row, 0)?,
                id: database.parsed(row, 1)?,
                store: database.parsed(row, 2)?,
                name: database.column(row, 3)?,
                server: database.column(row, 4)?,
            })
        };
        Ok(rows.iter().map(source).collect::<Result<_, RepositoryError>>()?)
    }

    /// Hands the rows of `source` in `day` and then its hours to `reader`, each in order of series and time. Within
    /// [`History::frozen`](crate::History::frozen): what belongs together is read at several times.
    pub fn read_lake_day<R: LakeReader>(
        &self,
        day: LakeDay,
        source: &LakeSource,
        reader: &mut R,
    ) -> Result<(), R::Error> {
        let database = &self.database;
        let number = SourceNumber(source.number);
        let series = database.lake_series(number).map_err(StoreError::from)?;
        let epochs = database.lake_epochs(number).map_err(StoreError::from)?;
        let in_day = |sql: &str| {
            let sql = sql.replace("{source}", &source.number.to_string()).replace("{peaks}", PEAKS);
            let sql =
                sql.replace("{from}", &day.begins().to_string()).replace("{to}", &day.ends().to_string());
            with_all_counters(&sql)
        };
        let open = |sql: &str| database.session.run("read", &in_day(sql)).map_err(StoreError::from);
        let fetch = |sql| database.session.rows(sql, &[]).map_err(StoreError::from);
        open(statements::LAKE_OPEN_ROWS)?;
        loop {
            let rows = fetch(statements::LAKE_FETCH_ROWS)?;
            for row in &rows {
                let (series, epoch, row) =
                    database.lake_row(row, &series, &epochs).map_err(StoreError::from)?;
                reader.row(source, series, epoch, &row)?;
            }
            if rows.is_empty() {
                break;
            }
        }
        open(statements::LAKE_OPEN_HOURS)?;
        loop {
            let rows = fetch(statements::LAKE_FETCH_HOURS)?;
            for row in &rows {
                let (beginning, place, rollup) = database.rollup(row).map_err(StoreError::from)?;
                let series = series.get(&place).ok_or_else(|| database.lost("a series"));
                let series = series.map_err(StoreError::from)?;
                reader.hour(source, series, &LakeHour { beginning: beginning.timestamp(), rollup })?;
            }
            if rows.is_empty() {
                break;
            }
        }
        database.session.run("read", statements::LAKE_CLOSE).map_err(StoreError::from)?;
        Ok(())
    }
}

impl Database {
    fn lost(&self, what: &str) -> RepositoryError {
        self.session.damaged(format!("{what} is missing, or was written by a newer iostall"))
    }

    fn lake_row<'a>(
        &self,
        row: &Row,
        series: &'a HashMap<u32, LakeSeries>,
        epochs: &'a HashMap<i32, LakeEpoch>,
    ) -> Result<(&'a LakeSeries, &'a LakeEpoch, LakeRow), RepositoryError> {
        let place: i32 = self.column(row, 0)?;
        let series = series.get(&place.cast_unsigned()).ok_or_else(|| self.lost("a series"))?;
        let epoch: Option<i32> = self.column(row, 6)?;
        let epoch = epoch.ok_or_else(|| self.lost("the sample of a row"))?;
        let epoch = epochs.get(&epoch).ok_or_else(|| self.lost("the epoch of a sample"))?;
        let optional = |place| -> Result<Option<u64>, RepositoryError> {
            Ok(self.column::<Option<i64>>(row, place)?.map(i64::cast_unsigned))
        };
        let row = LakeRow {
            number: self.column::<i64>(row, 1)?.cast_unsigned(),
            age_ms: optional(2)?,
            taken: from_utc_ns(self.column(row, 3)?),
            clock_ns: self.column::<i64>(row, 4)?.cast_unsigned(),
            uptime_s: optional(5)?,
            counters: counters_from(row, ROW_COLUMNS).map_err(|error| self.unreadable(&error))?,
        };
        Ok((series, epoch, row))
    }

    fn lake_series(&self, source: SourceNumber) -> Result<HashMap<u32, LakeSeries>, RepositoryError> {
        let mut all = HashMap::new();
        for row in self.session.rows(statements::LAKE_SERIES, &[&source.0])? {
            let kind: &str = self.column(&row, 2)?;
            let Some(kind) = Kind::named(kind) else { continue };
            let scope = u8::try_from(self.column::<i16>(&row, 3)?).unwrap_or(u8::MAX);
            let Some(scope) = Scope::from_stored(scope, self.column(&row, 4)?) else { continue };
            let (identity, name) = (self.column(&row, 5)?, self.column(&row, 6)?);
            let subject = Subject { kind, scope, name, identity, volume: self.column(&row, 7)? };
            let series = LakeSeries { id: self.column(&row, 1)?, subject, lies_on: self.column(&row, 8)? };
            all.insert(self.column::<i32>(&row, 0)?.cast_unsigned(), series);
        }
        Ok(all)
    }

    fn lake_epochs(&self, source: SourceNumber) -> Result<HashMap<i32, LakeEpoch>, RepositoryError> {
        let mut all = HashMap::new();
        for row in self.session.rows(statements::LAKE_EPOCHS, &[&source.0])? {
            let epoch = serde_json::from_str(self.column(&row, 2)?)
                .map_err(|error| self.session.damaged(error.to_string()))?;
            let epoch = LakeEpoch { id: self.column(&row, 1)?, epoch, clock: self.column(&row, 3)? };
            all.insert(self.column(&row, 0)?, epoch);
        }
        Ok(all)
    }
}
