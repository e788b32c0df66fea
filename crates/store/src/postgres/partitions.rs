//! Partitions of tables by time: made when and before they are needed, and dropped as a whole.

use std::cell::{OnceCell, RefCell};
use std::collections::HashSet;

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp, ToSpan as _};

use super::session::Session;
use super::{hypertables, statements};
use crate::repository_error::RepositoryError;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Partitioned {
    Samples,
    Rows,
    Hours,
}

/// How many days and months are made ahead: a missing one is made in the transaction that needs it, which takes longer.
const AHEAD: i64 = 2;

impl Partitioned {
    pub(super) const ALL: [Self; 3] = [Self::Samples, Self::Rows, Self::Hours];

    pub(super) fn table(self) -> &'static str {
        match self {
            Self::Samples => "sample",
            Self::Rows => "sample_row",
            Self::Hours => "rollup_hour",
        }
    }

    fn first_day(self, day: Date) -> Date {
        if self == Self::Hours { day.first_of_month() } else { day }
    }

    fn length(self) -> Span {
        if self == Self::Hours { 1.month() } else { 1.day() }
    }

    fn name(self, first: Date) -> String {
        let table = self.table();
        match self {
            Self::Hours => first.strftime(&format!("{table}_%Y_%m")).to_string(),
            Self::Samples | Self::Rows => first.strftime(&format!("{table}_%Y_%m_%d")).to_string(),
        }
    }

    /// The first day of the partition `name`; `None` if no iostall made it.
    fn first_of(self, name: &str) -> Option<Date> {
        let text = name.strip_prefix(self.table())?.strip_prefix('_')?.replace('_', "-");
        let text = if self == Self::Hours { text + "-01" } else { text };
        let first = text.parse().ok()?;
        (self.name(first) == name).then_some(first)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Partition {
    /// With its schema, as SQL has it.
    pub(super) name: String,
    pub(super) end: Timestamp,
}

#[derive(Debug, Default)]
pub(super) struct Partitions {
    known: RefCell<HashSet<(Partitioned, Date)>>,
    are_chunks: OnceCell<bool>,
}

impl Partitions {
    /// Makes the partition of `table` for `at` where it is missing, within the transaction of the caller.
    pub(super) fn make_for(
        &self,
        session: &Session,
        table: Partitioned,
        at: Timestamp,
    ) -> Result<(), RepositoryError> {
        let first = table.first_day(at.to_zoned(TimeZone::UTC).date());
        if self.known.borrow().contains(&(table, first)) || self.are_chunks(session)? {
            return Ok(());
        }
        self.look(session, table)?;
        if self.known.borrow().contains(&(table, first)) {
            return Ok(());
        }
        // Somebody else may be making it: whoever has waited for them looks again.
        session.rows(statements::LOCK_SCHEMA, &[])?;
        self.look(session, table)?;
        if !self.known.borrow().contains(&(table, first)) {
            make(session, table, first)?;
            self.known.borrow_mut().insert((table, first));
        }
        Ok(())
    }

    pub(super) fn make_ahead(&self, session: &Session, now: Timestamp) -> Result<(), RepositoryError> {
        for table in Partitioned::ALL {
            let mut day = table.first_day(now.to_zoned(TimeZone::UTC).date());
            for _ in 0..=AHEAD {
                let Ok(at) = day.to_zoned(TimeZone::UTC) else { break };
                self.make_for(session, table, at.timestamp())?;
                let Ok(next) = day.checked_add(table.length()) else { break };
                day = next;
            }
        }
        Ok(())
    }

    pub(super) fn before(
        &self,
        session: &Session,
        table: Partitioned,
        limit: Timestamp,
    ) -> Result<Vec<Partition>, RepositoryError> {
        if self.are_chunks(session)? {
            let chunks = hypertables::chunks(session, table.table())?.into_iter();
            let partitions = chunks.map(|(name, end)| Partition { name, end });
            return Ok(partitions.filter(|partition| partition.end <= limit).collect());
        }
        let partition = |name: String| {
            let end = table.first_of(&name)?.checked_add(table.length()).ok()?;
            let end = end.to_zoned(TimeZone::UTC).ok()?.timestamp();
            (end <= limit).then_some(Partition { name: format!("iostall.{name}"), end })
        };
        Ok(names(session, table)?.into_iter().filter_map(partition).collect())
    }

    /// What was known may be wrong: a transaction that made some did not come through, or others dropped some.
    pub(super) fn forget(&self) {
        self.known.borrow_mut().clear();
    }

    fn are_chunks(&self, session: &Session) -> Result<bool, RepositoryError> {
        if let Some(known) = self.are_chunks.get() {
            return Ok(*known);
        }
        let are_chunks = hypertables::are_there(session)?;
        Ok(*self.are_chunks.get_or_init(|| are_chunks))
    }

    fn look(&self, session: &Session, table: Partitioned) -> Result<(), RepositoryError> {
        let days =
            names(session, table)?.into_iter().filter_map(|name| Some((table, table.first_of(&name)?)));
        self.known.borrow_mut().extend(days);
        Ok(())
    }
}

fn names(session: &Session, table: Partitioned) -> Result<Vec<String>, RepositoryError> {
    let rows = session.rows(statements::LIST_PARTITIONS, &[&table.table()])?;
    rows.iter().map(|row| row.try_get(0).map_err(|error| session.unreadable(&error))).collect()
}

fn make(session: &Session, table: Partitioned, first: Date) -> Result<(), RepositoryError> {
    let end = first.checked_add(table.length()).unwrap_or(Date::MAX);
    let midnight = |day: Date| format!("{day} 00:00:00+00");
    let sql = statements::ADD_PARTITION
        .replace("{table}", table.table())
        .replace("{partition}", &table.name(first))
        .replace("{from}", &midnight(first))
        .replace("{to}", &midnight(end));
    session.run("write to", &sql)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_partition_is_known_by_its_name_and_others_tables_are_not() {
        let day: Date = "2026-03-01".parse().unwrap();
        for table in Partitioned::ALL {
            assert_eq!(table.first_of(&table.name(day)), Some(day));
        }
        assert_eq!(Partitioned::Samples.name(day), "sample_2026_03_01");
        assert_eq!(Partitioned::Hours.name(day), "rollup_hour_2026_03");
        for other in ["sample_copy", "sample_2026_3_1", "sample_row_2026_03_01", "sample_2026_03_01_old"] {
            assert_eq!(Partitioned::Samples.first_of(other), None, "{other}");
        }
    }
}
