//! Where the files of a drill go, and the statements that put them there.

use iostall_connect::sqlserver::Columns;
use iostall_model::sqlserver_backup::BackupStatement;
use iostall_model::{BackupHeader, Warning};
use jiff::Timestamp;
use jiff::civil::DateTime;

use crate::backup::sqlserver::server::{number, text};
use crate::backup::sqlserver::tsql::{self, identifier, literal};

/// A file of the database in the backup, and where it is restored to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct MovedFile {
    pub(super) logical_name: String,
    pub(super) to: String,
    pub(super) bytes: u64,
}

const NOT_IN_NAMES: [char; 9] = ['<', '>', ':', '"', '/', '\\', '|', '?', '*'];

/// The files that FILELISTONLY lists and that are not `known`, each with a place in `directory`. `token` makes names that nothing else has:
/// by them the database is known again.
pub(super) fn moved(
    rows: &[Columns],
    known: &[MovedFile],
    name: &str,
    directory: &str,
    token: &str,
) -> Vec<MovedFile> {
    let is_windows = directory.contains('\\') || directory.get(1..2) == Some(":");
    let separator = if is_windows { '\\' } else { '/' };
    let plain: String = name
        .chars()
        .map(|letter| if letter.is_control() || NOT_IN_NAMES.contains(&letter) { '_' } else { letter })
        .take(60)
        .collect();
    let directory = directory.trim_end_matches(['/', '\\']);
    let mut has_data = !known.is_empty();
    let is_new = |row: &&Columns| !known.iter().any(|file| file.logical_name == text(row, "LogicalName"));
    let file = |(place, row): (usize, &Columns)| {
        let kind = text(row, "Type");
        let end = match kind.as_str() {
            "L" => ".ldf",
            // A directory of FILESTREAM, or of tables in memory.
            "S" | "F" => "",
            _ if std::mem::replace(&mut has_data, true) => ".ndf",
            _ => ".mdf",
        };
        MovedFile {
            logical_name: text(row, "LogicalName"),
            to: format!("{directory}{separator}{plain}_{token}_{place}{end}"),
            bytes: number(row, "Size").unwrap_or(0),
        }
    };
    (known.len() + 1..).zip(rows.iter().filter(is_new)).map(file).collect()
}

#[derive(Clone, Debug)]
pub(super) struct Part {
    pub(super) statement: BackupStatement,
    pub(super) backup: BackupHeader,
    pub(super) new_files: Vec<MovedFile>,
    pub(super) named: String,
    /// The point may be in the log backup before it, and then the server refuses this one.
    pub(super) may_be_beyond: bool,
}

/// RESTORE under `name`, which does not overwrite anything: there is no REPLACE in it. The database is left as it is before recovery, so
/// that the two are timed apart, and more can be restored. Of the log, nothing after `stop_at` is restored.
pub(super) fn restore(part: &Part, name: &str, stop_at: Option<DateTime>) -> String {
    let Part { statement, backup, new_files, .. } = part;
    let mut words = Vec::new();
    // A blob holds one backup, and RESTORE refuses to be told which.
    if !statement.is_to_url() {
        words.push(format!("FILE = {}", backup.position));
    }
    words.extend(
        new_files.iter().map(|file| format!("MOVE {} TO {}", literal(&file.logical_name), literal(&file.to))),
    );
    if backup.has_checksums {
        words.push("CHECKSUM".to_owned());
    }
    let is_log = backup.kind == "log";
    words.extend(stop_at.filter(|_| is_log).map(|at| format!("STOPAT = {}", literal(&at.to_string()))));
    words.push("NORECOVERY".to_owned());
    let from = tsql::devices(&statement.devices);
    let what = if is_log { "LOG" } else { "DATABASE" };
    tsql::ended(format!("RESTORE {what} {}\nFROM {from}", identifier(name)), &words)
}

/// Recovery: the rest of what a server does before a database can be used.
pub(super) fn recover(name: &str) -> String {
    format!("RESTORE DATABASE {}\nWITH RECOVERY;\n", identifier(name))
}

/// All pages and what they say of each other.
pub(super) fn check_database(name: &str) -> String {
    format!("DBCC CHECKDB ({}) WITH NO_INFOMSGS, ALL_ERRORMSGS;\n", literal(name))
}

pub(super) fn in_database(name: &str, statement: &str) -> String {
    format!("USE {};\n{statement}\n", identifier(name))
}

/// Drops the database that a drill made, if it still is that one: the same number, made at the same time, and no file but those that the
/// drill named.
pub(super) fn drop(name: &str, known: Option<(u64, &str)>, files: &[MovedFile]) -> String {
    let its_files: Vec<String> = files.iter().map(|file| literal(&file.to)).collect();
    let known = known.map_or_else(String::new, |(number, created)| {
        format!(
            "\n      AND d.database_id = {number} AND CONVERT(nvarchar(30), d.create_date, 126) = {}",
            literal(created)
        )
    });
    let (name, text) = (identifier(name), literal(name));
    format!(
        "USE master;\n\
         IF NOT EXISTS (SELECT 1 FROM sys.databases AS d\n    WHERE d.name = {text}{known}\n      \
         AND EXISTS (SELECT 1 FROM sys.master_files AS f WHERE f.database_id = d.database_id)\n      \
         AND NOT EXISTS (SELECT 1 FROM sys.master_files AS f\n                      \
         WHERE f.database_id = d.database_id AND f.physical_name NOT IN ({})))\n    \
         RAISERROR (N'This is not the database that the drill made, so it was left as it is.', 16, 1);\n\
         ELSE\nBEGIN\n    \
         IF EXISTS (SELECT 1 FROM sys.databases AS d WHERE d.name = {text} AND d.state_desc = N'ONLINE')\n        \
         ALTER DATABASE {name} SET SINGLE_USER WITH ROLLBACK IMMEDIATE;\n    \
         DROP DATABASE {name};\nEND;\n",
        its_files.join(", ")
    )
}

/// The bytes that `directory` has room for, of the volumes in `rows`; `None` where the server does not know.
pub(super) fn room(rows: &[Columns], directory: &str) -> Option<u64> {
    let plain = |text: &str| text.replace('/', "\\").trim_end_matches('\\').to_lowercase();
    let wanted = plain(directory);
    let is_in = |volume: &str| {
        let volume = plain(volume);
        !volume.is_empty() && (wanted == volume || wanted.starts_with(&format!("{volume}\\")))
    };
    let volumes = rows.iter().map(|row| (text(row, "volume"), number(row, "available_bytes")));
    volumes.filter(|(volume, _)| is_in(volume)).max_by_key(|(volume, _)| volume.len())?.1
}

/// Everything that is known before the first byte is restored.
pub(super) struct Plan {
    /// The full backup, and what goes on it.
    pub(super) parts: Vec<Part>,
    /// Where the log is to end, if not with the last part.
    pub(super) stop_at: Option<DateTime>,
    /// Id of the last backup that it takes, and when that was made, if the server says so.
    pub(super) set: String,
    pub(super) made_utc: Option<Timestamp>,
    pub(super) files: Vec<MovedFile>,
    pub(super) engine: String,
    pub(super) warnings: Vec<Warning>,
}

impl Plan {
    /// Bytes of the database in all parts, and bytes of the files that are read.
    pub(super) fn bytes(&self) -> (u64, u64) {
        let stored = |part: &Part| part.backup.stored_bytes.unwrap_or(part.backup.bytes);
        (self.parts.iter().map(|part| part.backup.bytes).sum(), self.parts.iter().map(stored).sum())
    }
}

#[cfg(test)]
mod tests {
    use iostall_connect::Value;
    use iostall_model::sqlserver_backup::BackupDevice;

    use super::*;

    fn row(columns: &[(&str, Value)]) -> Columns {
        let copy = |value: &Value| match value {
            Value::Text(text) => Value::Text(text.clone()),
            Value::Number(number) => Value::Number(*number),
            Value::Missing => Value::Missing,
        };
        columns.iter().map(|(name, value)| ((*name).to_owned(), copy(value))).collect()
    }

    fn listed(logical: &str, kind: &str) -> Columns {
        row(&[
            ("LogicalName", Value::Text(logical.into())),
            ("Type", Value::Text(kind.into())),
            ("Size", Value::Number(8)),
        ])
    }

    #[test]
    fn every_file_has_a_name_of_its_own_whatever_the_database_is_called() {
        let rows = [listed("data", "D"), listed("more", "D"), listed("log", "L"), listed("fs", "S")];
        let places = |name: &str, directory: &str| -> Vec<String> {
            moved(&rows, &[], name, directory, "0f1e").into_iter().map(|file| file.to).collect()
        };
        assert_eq!(
            places("dr:ill\n", r"E:\drill\"),
            [
                r"E:\drill\dr_ill__0f1e_1.mdf",
                r"E:\drill\dr_ill__0f1e_2.ndf",
                r"E:\drill\dr_ill__0f1e_3.ldf",
                r"E:\drill\dr_ill__0f1e_4"
            ]
        );
        assert_eq!(places("x", "/var/opt/drill")[0], "/var/opt/drill/x_0f1e_1.mdf");
        // One that came after the full backup.
        let known = moved(&rows[..3], &[], "x", "/drill", "0f1e");
        let rows = [listed("log", "L"), listed("data", "D"), listed("new", "D")];
        let new = moved(&rows, &known, "x", "/drill", "0f1e");
        assert_eq!(new.iter().map(|file| file.to.as_str()).collect::<Vec<_>>(), ["/drill/x_0f1e_4.ndf"]);
    }

    /// The story: a script restored WITH REPLACE under the name of a database that somebody had made since.
    #[test]
    fn nothing_is_replaced_and_only_its_own_database_is_dropped() {
        let devices = vec![BackupDevice::of(r"E:\b\1.bak"), BackupDevice::of(r"F:\it's 2.bak")];
        let statement = BackupStatement { devices, ..BackupStatement::default() };
        let files = moved(&[listed("it's data", "D")], &[], "a]b", r"E:\drill", "0f1e");
        let backup =
            BackupHeader { position: 2, kind: "full".into(), has_checksums: true, ..BackupHeader::default() };
        let named = String::new();
        let mut part = Part { statement, backup, new_files: files.clone(), named, may_be_beyond: false };
        let text = restore(&part, "a]b", None);
        assert_eq!(
            text,
            "RESTORE DATABASE [a]]b]\nFROM DISK = N'E:\\b\\1.bak',\n   DISK = N'F:\\it''s 2.bak'\nWITH FILE = 2,\n     \
             MOVE N'it''s data' TO N'E:\\drill\\a]b_0f1e_1.mdf',\n     CHECKSUM,\n     NORECOVERY;\n"
        );
        part.backup.kind = "log".into();
        part.new_files.clear();
        let stop_at = Some(jiff::civil::date(2026, 5, 28).at(3, 0, 0, 0));
        assert!(restore(&part, "a]b", stop_at).ends_with(
            "WITH FILE = 2,\n     CHECKSUM,\n     STOPAT = N'2026-05-28T03:00:00',\n     NORECOVERY;\n"
        ));
        let dropped = drop("a]b", Some((9, "2026-11-23T04:00:00")), &files);
        for part in [
            "d.database_id = 9",
            "create_date, 126) = N'2026-11-23T04:00:00'",
            "physical_name NOT IN (N'E:\\drill\\a]b_0f1e_1.mdf')",
            "DROP DATABASE [a]]b];",
        ] {
            assert!(dropped.contains(part), "{part}: {dropped}");
        }
        assert!(!text.contains("REPLACE") && !dropped.contains("REPLACE"));
    }

    #[test]
    fn room_is_that_of_the_volume_the_directory_is_on() {
        let volume = |name: &str, bytes| {
            row(&[("volume", Value::Text(name.into())), ("available_bytes", Value::Number(bytes))])
        };
        let rows = [volume("E:\\", 100), volume("E:\\mount\\", 7), volume("F:\\", 9), volume("", 1)];
        assert_eq!(room(&rows, r"e:\drill"), Some(100));
        assert_eq!(room(&rows, r"E:\Mount\drill\"), Some(7));
        assert_eq!(room(&rows, r"E:\mounted"), Some(100));
        assert_eq!((room(&rows, r"G:\x"), room(&rows, "/var")), (None, None));
    }
}
