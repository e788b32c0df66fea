//! Which rows are added up at which level.

use crate::{DeviceRole, Kind, Level, Scope, Subject};

const LEVELS: [Level; 4] = [Level::Files, Level::Databases, Level::Volumes, Level::Server];

fn subject(kind: Kind, scope: Scope, volume: Option<&str>) -> Subject {
    Subject { kind, scope, name: "n".into(), identity: "i".into(), volume: volume.map(str::to_owned) }
}

fn groups(kind: Kind, scope: &Scope, volume: Option<&str>) -> [Option<String>; 4] {
    LEVELS.map(|level| level.group(&subject(kind, scope.clone(), volume)))
}

fn words(of_levels: [Option<&str>; 4]) -> [Option<String>; 4] {
    of_levels.map(|word| word.map(str::to_owned))
}

/// A new source adds kinds of rows. If no level includes a kind, it would be collected and stored but never
/// shown.
#[test]
fn every_kind_is_shown_at_some_level_but_those_that_have_their_own_place() {
    for kind in Kind::ALL {
        let scope = match kind {
            Kind::LinuxDevice => Scope::Device(DeviceRole::Disk),
            _ => Scope::Database("db".into()),
        };
        let is_shown = groups(kind, &scope, Some("v")).iter().any(Option::is_some);
        let has_own_place = matches!(
            kind,
            Kind::SqlServerBackup | Kind::LinuxCgroup | Kind::LinuxPressure | Kind::SmartDrive
        );
        assert_eq!(is_shown, !has_own_place, "{kind}");
    }
}

#[test]
fn a_file_counts_for_its_database_its_volume_and_its_server() {
    let sales = Scope::Database("sales".into());
    // Without a path, the name alone would add up files of several databases.
    let of_sql_server = [Some("sales: n"), Some("sales"), Some("E:"), Some("all files")];
    assert_eq!(groups(Kind::SqlServerFile, &sales, Some("E:")), words(of_sql_server));
    // InnoDB's total already contains its files.
    assert_eq!(groups(Kind::MysqlFile, &sales, None), words([Some("n"), Some("sales"), None, None]));
    // Blocks of tables are not requests; the database and the backends have their own rows.
    assert_eq!(
        groups(Kind::PostgresTable, &sales, Some("/pg")),
        words([Some("sales: n"), None, Some("/pg"), None])
    );
    assert_eq!(groups(Kind::PostgresIndex, &sales, None), words([Some("sales: n"), None, None, None]));
    assert_eq!(groups(Kind::PostgresDatabase, &sales, None), words([None, Some("sales"), None, None]));
}

#[test]
fn what_a_server_counts_as_a_whole_is_the_servers_alone() {
    for (kind, word) in [
        (Kind::PostgresIo, "all backends"),
        (Kind::PostgresIoBlocks, "all backends"),
        (Kind::PostgresWal, "n"),
        (Kind::PostgresCheckpointer, "n"),
        (Kind::MysqlInnodb, "n"),
        (Kind::MysqlRedo, "n"),
    ] {
        assert_eq!(groups(kind, &Scope::Source, None), words([None, None, None, Some(word)]), "{kind}");
    }
}

/// A request to a partition is also counted by its disk, and one to a RAID also by each of its disks.
#[test]
fn only_whole_disks_are_added_up_to_the_server() {
    for (role, of_server) in
        [(DeviceRole::Disk, Some("all disks")), (DeviceRole::Partition, None), (DeviceRole::Stacked, None)]
    {
        let scope = Scope::Device(role);
        assert_eq!(groups(Kind::LinuxDevice, &scope, None), words([None, None, Some("n"), of_server]));
        assert_eq!(groups(Kind::LinuxDevice, &scope, Some("/data"))[2].as_deref(), Some("n (/data)"));
    }
}

#[test]
fn tables_and_indexes_of_a_volume_are_one_group() {
    assert_eq!(Level::Volumes.kind(Kind::PostgresIndex), Kind::PostgresTable);
    assert_eq!(Level::Files.kind(Kind::PostgresIndex), Kind::PostgresIndex);
    assert_eq!(Level::Volumes.kind(Kind::MysqlFile), Kind::MysqlFile);
}

/// Blocks were read as requests, and the time of a submission as the time to completion.
#[test]
fn a_kind_whose_numbers_mean_something_else_says_so() {
    let noted: Vec<Kind> = Kind::ALL.into_iter().filter(|kind| kind.note().is_some()).collect();
    let unusual = [
        Kind::PostgresIoBlocks,
        Kind::PostgresIo,
        Kind::PostgresDatabase,
        Kind::PostgresTable,
        Kind::PostgresIndex,
        Kind::MysqlFile,
    ];
    assert_eq!(noted, unusual);
    for kind in Kind::ALL {
        let says_blocks = kind.note().is_some_and(|note| note.contains("8 KiB blocks"));
        assert_eq!(says_blocks, kind.counts_blocks(), "{kind}");
    }
}
