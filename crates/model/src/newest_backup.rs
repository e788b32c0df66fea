//! The newest backups that a server knows of its databases.

use iostall_measure::named;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::counter::Counter;
use crate::kind::Kind;
use crate::sample::Row;

named! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum BackupSort {
        /// Of the whole database; differential backups build on it.
        Full = "full",
        /// COPY_ONLY: of the whole database, and no differential backup builds on it.
        CopyOnly = "copy-only",
        /// By a snapshot of the storage, as other programs make them (VSS). Only these programs restore it.
        Snapshot = "snapshot",
        /// What changed since the last full one.
        Differential = "differential",
        /// The log since the last backup of the log.
        Log = "log",
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NewestBackup {
    pub database: String,
    pub sort: BackupSort,
    /// When it ended; `None` if the server knows of none.
    pub finished: Option<Timestamp>,
    /// How long it took, in whole seconds.
    pub elapsed_s: Option<u64>,
    pub bytes: Option<u64>,
    pub stored_bytes: Option<u64>,
}

impl NewestBackup {
    /// From a row; `None` if it is about something else.
    pub fn of_row(row: &Row) -> Option<Self> {
        if row.subject.kind != Kind::SqlServerBackup {
            return None;
        }
        let finished = row.counters.get(Counter::BackupFinished);
        let finished = finished.and_then(|second| Timestamp::from_second(i64::try_from(second).ok()?).ok());
        Some(Self {
            database: row.subject.scope.database()?.to_owned(),
            sort: BackupSort::named(&row.subject.name)?,
            finished,
            elapsed_s: row.counters.get(Counter::BackupElapsed),
            bytes: row.counters.get(Counter::BackupBytes),
            stored_bytes: row.counters.get(Counter::BackupStoredBytes),
        })
    }

    /// How old it is at `at`, nanoseconds; zero where clocks differ and it seems to end later.
    pub fn age_ns(&self, at: Timestamp) -> Option<u64> {
        self.finished.map(|finished| u64::try_from(at.duration_since(finished).as_nanos()).unwrap_or(0))
    }

    /// Bytes of the database for each that was stored; `None` if one of them is not known.
    pub fn ratio(&self) -> Option<f64> {
        let (bytes, stored) = (self.bytes?, self.stored_bytes.filter(|stored| *stored > 0)?);
        Some(bytes as f64 / stored as f64)
    }

    /// Bytes of the database per second; `None` below a second, which is all that the server keeps of the time.
    pub fn bytes_per_s(&self) -> Option<f64> {
        let seconds = self.elapsed_s.filter(|seconds| *seconds > 0)?;
        Some(self.bytes? as f64 / seconds as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counter::Counters;
    use crate::sample::Subject;
    use crate::scope::Scope;

    fn row(name: &str, counters: &Counters) -> Row {
        let subject = Subject {
            kind: Kind::SqlServerBackup,
            scope: Scope::Database("sales".into()),
            name: name.into(),
            identity: format!("5/{name}"),
            volume: None,
        };
        Row { subject, counters: *counters, age_ms: None }
    }

    #[test]
    fn age_ratio_and_rate_come_from_what_the_server_keeps() {
        let counters = Counters::new()
            .with(Counter::BackupFinished, 1_780_000_000)
            .with(Counter::BackupElapsed, 4)
            .with(Counter::BackupBytes, 1 << 30)
            .with(Counter::BackupStoredBytes, 1 << 28);
        let newest = NewestBackup::of_row(&row("full", &counters)).unwrap();
        assert_eq!((newest.database.as_str(), newest.sort), ("sales", BackupSort::Full));
        let at = |second| Timestamp::from_second(second).unwrap();
        assert_eq!(newest.age_ns(at(1_780_003_600)), Some(3_600_000_000_000));
        assert_eq!(newest.age_ns(at(1_779_999_990)), Some(0), "the server's clock is ahead");
        let near = |value: Option<f64>, wanted: f64| (value.unwrap() - wanted).abs() < 1e-9;
        assert!(near(newest.ratio(), 4.0) && near(newest.bytes_per_s(), f64::from(1 << 28)));
    }

    /// A database without a backup was one of the age zero.
    #[test]
    fn none_is_not_one_of_no_age() {
        let never = NewestBackup::of_row(&row("log", &Counters::new())).unwrap();
        let at = Timestamp::from_second(1_780_000_000).unwrap();
        assert_eq!((never.age_ns(at), never.ratio(), never.bytes_per_s()), (None, None, None));
        let short = Counters::new().with(Counter::BackupElapsed, 0).with(Counter::BackupBytes, 8);
        assert_eq!(NewestBackup::of_row(&row("log", &short)).unwrap().bytes_per_s(), None);
        assert_eq!(NewestBackup::of_row(&row("weekly", &Counters::new())), None);
        for sort in BackupSort::ALL {
            assert_eq!(BackupSort::named(sort.name()), Some(sort));
        }
    }
}
