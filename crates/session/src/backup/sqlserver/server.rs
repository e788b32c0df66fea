//! What is asked of the server around a backup.

use std::time::Duration;

use iostall_connect::sqlserver::{Access, BlockingConnection, Columns, Parameter};
use iostall_connect::{Address, Secret, SourceError, Value};
use iostall_model::sqlserver_backup::{
    BackupStatement, RecoveryModel, ServerFacts, ServerVersion, version_of,
};
use iostall_model::{FileInBackup, HistoryEntry};

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::Offset;

use super::error::SqlServerBackupError;

const SERVER: &str = include_str!("sql/server.sql");
const SECONDARY: &str = include_str!("sql/secondary.sql");
const NEWEST: &str = include_str!("sql/newest.sql");
const PROGRESS: &str = include_str!("sql/progress.sql");
const HISTORY: &str = include_str!("sql/history.sql");

/// How long connecting and each query may take; a backup may take as long as it takes.
const LIMIT: Duration = Duration::from_secs(60);
/// `recovery_model` of `sys.databases`.
const RECOVERY_MODELS: [(u64, RecoveryModel); 3] =
    [(1, RecoveryModel::Full), (2, RecoveryModel::BulkLogged), (3, RecoveryModel::Simple)];

pub(super) struct Server {
    address: Address,
    access: Access,
}

pub(super) struct Before {
    pub(super) facts: ServerFacts,
    pub(super) session_id: i64,
}

impl Server {
    pub(super) fn new(address: &Address, password: &Secret) -> Result<Self, SourceError> {
        let access = Access::new(address, password, LIMIT)?.patient();
        Ok(Self { address: address.clone(), access })
    }

    pub(super) fn name(&self) -> String {
        self.address.to_string()
    }

    pub(super) fn open(&self) -> Result<BlockingConnection, SourceError> {
        BlockingConnection::open(&self.address, &self.access, LIMIT)
    }

    /// Who the server is, and how the database stands.
    pub(super) fn look(
        &self,
        connection: &mut BlockingConnection,
        database: &str,
    ) -> Result<Before, SqlServerBackupError> {
        let name = [Parameter::Text(database)];
        let rows = connection.query("iostall:backup_server", SERVER, &name)?;
        let row = rows.into_iter().next().unwrap_or_default();
        let number = |column: &str| number(&row, column).unwrap_or(0);
        let major = number("version");
        let engine_edition = u32::try_from(number("engine_edition")).unwrap_or(0);
        let version = u32::try_from(major).ok().and_then(|major| version_of(engine_edition, major));
        let Some(version) = version else {
            return Err(SqlServerBackupError::TooOld {
                source_name: self.name(),
                version: major.to_string(),
            });
        };
        let recovery = number("recovery_model");
        let facts = ServerFacts {
            version,
            build: u32::try_from(number("build")).unwrap_or(0),
            engine_edition,
            edition: text(&row, "edition"),
            recovery_model: RECOVERY_MODELS
                .iter()
                .find(|(code, _)| *code == recovery)
                .map(|(_, model)| *model),
            state: text(&row, "state"),
            is_encrypted: number("is_encrypted") == 1,
            is_secondary: version >= ServerVersion::V2012 && is_secondary(connection, &name),
            is_snapshot: number("is_snapshot") == 1,
        };
        Ok(Before { facts, session_id: i64::try_from(number("session_id")).unwrap_or(0) })
    }
}

/// Not known without VIEW SERVER STATE: the server itself refuses what a secondary does not take.
fn is_secondary(connection: &mut BlockingConnection, name: &[Parameter<'_>]) -> bool {
    let rows = connection.query("iostall:backup_secondary", SECONDARY, name).unwrap_or_default();
    rows.first().and_then(|row| number(row, "replicas")).is_some_and(|replicas| replicas > 0)
}

/// The newest entry of the server's history so far.
pub(super) fn newest(connection: &mut BlockingConnection) -> Result<i64, SourceError> {
    let rows = connection.query("iostall:backup_newest", NEWEST, &[])?;
    let newest = rows.first().and_then(|row| number(row, "backup_set_id")).unwrap_or(0);
    Ok(i64::try_from(newest).unwrap_or(i64::MAX))
}

/// How far the statement of a session is, in hundredths of a percent, and how long the rest takes; `None` if it has ended, or may
/// not be seen.
pub(super) fn progress(
    connection: &mut BlockingConnection,
    session_id: i64,
) -> Result<Option<(u32, Option<u64>)>, SourceError> {
    let session = [Parameter::Number(session_id)];
    let rows = connection.query("iostall:backup_progress", PROGRESS, &session)?;
    Ok(rows.first().map(|row| {
        let done = number(row, "percent_hundredths").unwrap_or(0).min(10_000);
        let left_ns = number(row, "left_ms").filter(|ms| *ms > 0).map(|ms| ms.saturating_mul(1_000_000));
        (u32::try_from(done).unwrap_or(0), left_ns)
    }))
}

pub(super) fn history(
    connection: &mut BlockingConnection,
    statement: &BackupStatement,
    newest: i64,
) -> Result<Option<HistoryEntry>, SourceError> {
    let device = statement.devices.first().map_or("", |device| device.name());
    let values = [
        Parameter::Number(newest),
        Parameter::Text(&statement.database),
        Parameter::Text(device),
        Parameter::Text(leaf(device)),
        Parameter::Text(statement.set_type().0),
        Parameter::Number(statement.copy_only.into()),
    ];
    let rows = connection.query("iostall:backup_history", HISTORY, &values)?;
    Ok(rows.first().map(|row| {
        let count = |column: &str| number(row, column).unwrap_or(0);
        HistoryEntry {
            backup_set_id: count("backup_set_id"),
            position: count("position"),
            bytes: count("size_bytes"),
            stored_bytes: number(row, "compressed_bytes"),
            elapsed_s: count("seconds"),
            finished: text(row, "finished"),
            has_checksums: count("has_checksums") == 1,
            is_damaged: count("is_damaged") == 1,
            first_lsn: text(row, "first_lsn"),
            last_lsn: text(row, "last_lsn"),
        }
    }))
}

pub(super) fn files(rows: &[Columns]) -> Vec<FileInBackup> {
    let file = |row: &Columns| FileInBackup {
        logical_name: text(row, "LogicalName"),
        physical_name: text(row, "PhysicalName"),
        bytes: number(row, "Size").unwrap_or(0),
    };
    rows.iter().map(file).collect()
}

/// The name of a device without its directory.
pub(super) fn leaf(device: &str) -> &str {
    device.rsplit(['/', '\\']).next().unwrap_or_default()
}

/// The place of the last backup that HEADERONLY lists, if it is what `statement` wrote.
pub(super) fn last_place(rows: &[Columns], statement: &BackupStatement) -> Option<u64> {
    let last = rows.iter().max_by_key(|row| number(row, "Position"))?;
    number(last, "Position").filter(|_| is_of(last, statement))
}

/// Whether HEADERONLY lists what `statement` wrote in the place `position`.
pub(super) fn lists(rows: &[Columns], statement: &BackupStatement, position: u64) -> bool {
    rows.iter().any(|row| number(row, "Position") == Some(position) && is_of(row, statement))
}

fn is_of(row: &Columns, statement: &BackupStatement) -> bool {
    // What the server does not say is not held against the backup.
    let agrees = |column: &str, wanted: u64| number(row, column).is_none_or(|found| found == wanted);
    text(row, "DatabaseName").to_lowercase() == statement.database.to_lowercase()
        && agrees("BackupType", statement.set_type().1)
        && agrees("IsCopyOnly", statement.copy_only.into())
}

/// When a backup that HEADERONLY lists was begun. Its date is local, and `TimeZone` its distance from UTC in quarters of an hour; where that
/// is not known, neither is this.
pub(super) fn made_utc(row: &Columns) -> Option<Timestamp> {
    const QUARTERS: std::ops::RangeInclusive<i64> = -56..=56;
    let quarters =
        number(row, "TimeZone").map(u64::cast_signed).filter(|quarters| QUARTERS.contains(quarters))?;
    let local: DateTime = text(row, "BackupStartDate").parse().ok()?;
    let zone = Offset::from_seconds(i32::try_from(quarters * 900).ok()?).ok()?;
    zone.to_timestamp(local).ok()
}

pub(super) fn number(row: &Columns, name: &str) -> Option<u64> {
    row.iter().find_map(|(column, value)| match value {
        Value::Number(number) if column == name => Some(*number),
        _ => None,
    })
}

pub(super) fn text(row: &Columns, name: &str) -> String {
    let found = row.iter().find_map(|(column, value)| match value {
        Value::Text(text) if column == name => Some(text.clone()),
        _ => None,
    });
    found.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use iostall_model::sqlserver_backup::BackupKind;

    use super::*;

    /// The story: a log backup ended in between, and the place of that one was read back.
    #[test]
    fn the_place_of_a_backup_is_that_of_its_own_database_and_kind() {
        let row = |position, database: &str, kind, copy_only| -> Columns {
            vec![
                ("Position".to_owned(), Value::Number(position)),
                ("DatabaseName".to_owned(), Value::Text(database.into())),
                ("BackupType".to_owned(), Value::Number(kind)),
                ("IsCopyOnly".to_owned(), Value::Number(copy_only)),
            ]
        };
        let statement = BackupStatement { database: "Sales".into(), ..BackupStatement::default() };
        let full = || row(1, "sales", 1, 0);
        assert_eq!(last_place(&[full()], &statement), Some(1));
        for (database, kind, copy_only) in [("sales", 2, 0), ("stock", 1, 0), ("sales", 1, 1)] {
            let both = [full(), row(2, database, kind, copy_only)];
            assert_eq!(last_place(&both, &statement), None);
            assert!(!lists(&both, &statement, 2));
        }
        let log = BackupStatement { kind: BackupKind::Log, ..statement };
        assert_eq!(last_place(&[full(), row(2, "SALES", 2, 0)], &log), Some(2));
        assert_eq!((leaf(r"E:\b\1.bak"), leaf("/b/2.bak"), leaf("3.bak")), ("1.bak", "2.bak", "3.bak"));
    }

    /// Dates of the same night in Zurich and in New York, and one without its zone.
    #[test]
    fn local_dates_become_utc_by_the_zone_that_is_kept_with_them() {
        let row = |zone: i64| -> Columns {
            vec![
                ("BackupStartDate".to_owned(), Value::Text("2026-05-28T03:00:00".into())),
                ("TimeZone".to_owned(), Value::Number(zone.cast_unsigned())),
            ]
        };
        let at = |zone| made_utc(&row(zone)).map(|at| at.to_string());
        assert_eq!(at(8).as_deref(), Some("2026-05-28T01:00:00Z"));
        assert_eq!(at(-16).as_deref(), Some("2026-05-28T07:00:00Z"));
        let without_zone: Columns = row(8).into_iter().take(1).collect();
        assert_eq!((at(127), made_utc(&without_zone)), (None, None));
    }
}
