//! The ages of a server's own backups as a table.

use std::collections::BTreeMap;

use iostall_measure::number::age;
use iostall_model::{BackupSort, NewestBackup};
use iostall_watch::windows::BackupAges;
use jiff::Timestamp;

use crate::format::{NONE, maybe_number, number, shown};
use crate::table::{Column, Severity, Table, TableCell};
use crate::zone::timestamp;

/// The sorts with a column of their own; of the others the newest is shown in one.
const COLUMNS: [BackupSort; 3] = [BackupSort::Full, BackupSort::Differential, BackupSort::Log];
const OTHERS: [BackupSort; 2] = [BackupSort::CopyOnly, BackupSort::Snapshot];
const BYTES_PER_MIB: f64 = 1_048_576.0;

/// One line per database: those without a full backup first, then the oldest.
pub(super) fn table(ages: &BackupAges) -> Table {
    let mut databases: BTreeMap<&str, Vec<&NewestBackup>> = BTreeMap::new();
    for newest in &ages.newest {
        databases.entry(&newest.database).or_default().push(newest);
    }
    let mut lines: Vec<(&str, Vec<&NewestBackup>)> = databases.into_iter().collect();
    lines.sort_by_key(|(_, backups)| finished(backups, BackupSort::Full));
    let has_others = ages.newest.iter().any(|one| OTHERS.contains(&one.sort) && one.finished.is_some());
    let mut columns = vec![Column::words("database")];
    columns.extend(COLUMNS.iter().map(|sort| Column::numbers(sort.name())));
    if has_others {
        columns.push(Column::words("other").droppable(2));
    }
    columns.push(Column::numbers("full MiB").droppable(3));
    columns.push(Column::numbers("ratio").droppable(1));
    columns.push(Column::numbers("MiB/s").droppable(0));
    let caption = format!("Backups by the server's own history, ages at {}", timestamp(ages.at));
    let mut table = Table::new(&caption, columns);
    for (database, backups) in lines {
        let mut cells: Vec<TableCell> = vec![shown(database).into()];
        cells.extend(COLUMNS.iter().map(|sort| age_of(&backups, *sort, ages.at)));
        if has_others {
            cells.push(other(&backups, ages.at).into());
        }
        let full = find(&backups, BackupSort::Full);
        let mib = full.and_then(|full| full.bytes).map(|bytes| bytes as f64 / BYTES_PER_MIB);
        let rate = full.and_then(NewestBackup::bytes_per_s).map(|rate| rate / BYTES_PER_MIB);
        cells.push(maybe_number(mib).into());
        cells.push(
            full.and_then(NewestBackup::ratio)
                .map_or_else(|| NONE.to_owned(), |ratio| format!("{} : 1", number(ratio)))
                .into(),
        );
        cells.push(maybe_number(rate).into());
        table.row(cells);
    }
    table.note("Size, ratio and rate are those of the last full backup. –: the SIMPLE recovery model has no log backups.");
    if has_others {
        table.note("other: the newest one with COPY_ONLY, or by a snapshot of the storage (VSS), which only its own program restores.");
    }
    table
}

fn find<'a>(backups: &[&'a NewestBackup], sort: BackupSort) -> Option<&'a NewestBackup> {
    backups.iter().copied().find(|one| one.sort == sort)
}

fn finished(backups: &[&NewestBackup], sort: BackupSort) -> Option<Timestamp> {
    find(backups, sort)?.finished
}

fn age_of(backups: &[&NewestBackup], sort: BackupSort, at: Timestamp) -> TableCell {
    let Some(newest) = find(backups, sort) else { return NONE.into() };
    match newest.age_ns(at) {
        Some(age_ns) => age(age_ns).into(),
        None if sort == BackupSort::Full => TableCell::from("none").severity(Severity::Bad),
        None => "none".into(),
    }
}

fn other(backups: &[&NewestBackup], at: Timestamp) -> String {
    let others = backups.iter().filter(|one| OTHERS.contains(&one.sort));
    let newest = others.filter_map(|one| Some((one.age_ns(at)?, one.sort))).min();
    newest.map_or_else(|| NONE.to_owned(), |(age_ns, sort)| format!("{} ({sort})", age(age_ns)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::section::Section;
    use crate::{TextOptions, write_sections};

    fn newest(database: &str, sort: BackupSort, hours_ago: Option<i64>) -> NewestBackup {
        let at: Timestamp = "2026-11-21T10:00:00Z".parse().unwrap();
        NewestBackup {
            database: database.into(),
            sort,
            finished: hours_ago.map(|hours| at - jiff::SignedDuration::from_hours(hours)),
            elapsed_s: hours_ago.map(|_| 8),
            bytes: hours_ago.map(|_| 1 << 30),
            stored_bytes: hours_ago.map(|_| 1 << 28),
        }
    }

    /// The server had the age of every backup, and no report said that one database had none.
    #[test]
    fn the_database_without_a_backup_is_the_first_line_and_says_so() {
        let ages = BackupAges {
            at: "2026-11-21T10:00:00Z".parse().unwrap(),
            newest: vec![
                newest("hr", BackupSort::Full, Some(7)),
                newest("sales", BackupSort::Full, Some(75)),
                newest("sales", BackupSort::Differential, None),
                newest("sales", BackupSort::Log, Some(0)),
                newest("sales", BackupSort::Snapshot, Some(3)),
                newest("shop", BackupSort::Full, None),
                newest("shop", BackupSort::Log, None),
            ],
        };
        let mut text = String::new();
        let section = Section { tables: vec![table(&ages)], ..Section::titled("s".to_owned()) };
        write_sections("t", &[section], &TextOptions { width: 200, ..TextOptions::default() }, &mut text)
            .unwrap();
        let line = |database: &str| {
            let lines = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
            lines.into_iter().enumerate().find(|(_, line)| line.starts_with(database)).unwrap()
        };
        assert_eq!(line("shop ").1, "shop none – none – – – –");
        assert_eq!(line("sales ").1, "sales 3d 3h none 0m 3h 0m (snapshot) 1,024 4.00 : 1 128");
        assert_eq!(line("hr ").1, "hr 7h 0m – – – 1,024 4.00 : 1 128");
        assert!(line("shop ").0 < line("sales ").0 && line("sales ").0 < line("hr ").0, "{text}");
    }
}
