//! Collectors on real servers: deltas against the servers' own counters, and every reset with its reason.

mod breadth;
mod host;
mod mysql;
mod names;
mod refusals;
mod servers;
mod tls;

use iostall_collect::Engine;
use iostall_model::{Change, Counter, Kind, ResetReason, Row, Sample, Warning, WarningCode};

use servers::mariadb::Mariadb;
use servers::postgres::Postgres;
use servers::{change, read, skip, source, statements, until};

fn table(name: &'static str) -> impl Fn(&Row) -> bool {
    move |row| row.subject.kind == Kind::PostgresTable && row.subject.name == name
}

fn of_kind(kind: Kind) -> impl Fn(&Row) -> bool {
    move |row| row.subject.kind == kind
}

const TABLE_BLOCKS: &str = include_str!("../../testdata/sql/postgres_table_blocks.sql");

/// The life of one PostgreSQL server.
fn postgres_tells_the_truth_and_the_reasons(version: u32) {
    let Some(mut server) = Postgres::start(version, None) else {
        return skip(&format!("PostgreSQL {version} could not be had: nothing of it was tested"));
    };
    server.sql(include_str!("../../testdata/sql/postgres_make_table.sql"));
    server.sql(include_str!("../../testdata/sql/postgres_scan_twice.sql"));
    let url = format!("postgres://postgres@127.0.0.1:{}", server.port);
    let mut source = source(&url);

    // Deltas are the server's own.
    let before = until("the counters of the table", || {
        let counted = server.number(TABLE_BLOCKS);
        let sample = read(source.as_mut());
        (counted > 0 && server.number(TABLE_BLOCKS) == counted).then_some((counted, sample))
    });
    let (counted_before, before) = before;
    server.sql(include_str!("../../testdata/sql/postgres_scan_twice.sql"));
    let (counted, now) = until("the scans to be counted", || {
        let counted = server.number(TABLE_BLOCKS);
        let sample = read(source.as_mut());
        (counted > counted_before && server.number(TABLE_BLOCKS) == counted).then_some((counted, sample))
    });
    let blocks = change(&before, &now, table("public.t"));
    let amounts = blocks.delta().expect("nothing was reset").amounts;
    let seen = amounts.or_zero(Counter::Reads) + amounts.or_zero(Counter::Hits);
    assert_eq!(seen, counted - counted_before);

    if version >= 16 {
        let kind = if version >= 18 { Kind::PostgresIo } else { Kind::PostgresIoBlocks };
        let client =
            |row: &Row| row.subject.kind == kind && row.subject.name == "client backend/relation/normal";
        let io = change(&before, &now, client);
        assert!(io.delta().is_some(), "{io:?}");
    }

    // A clean restart keeps the counters: one delta over it.
    let before = read(source.as_mut());
    server.stop();
    server.resume();
    let now = read(source.as_mut());
    assert!(change(&before, &now, table("public.t")).delta().is_some(), "a clean restart is no reset");
    assert_ne!(before.epoch.process_start, now.epoch.process_start);

    // pg_stat_reset zeroes this database and its relations, and nothing else.
    let before = read(source.as_mut());
    server.sql(include_str!("../../testdata/sql/postgres_reset_database.sql"));
    let now = read(source.as_mut());
    assert_eq!(change(&before, &now, table("public.t")), Change::Reset(ResetReason::StatisticsReset));
    assert!(change(&before, &now, of_kind(Kind::PostgresCheckpointer)).delta().is_some());

    // A table dropped and made anew has its name and nothing else.
    let before = read(source.as_mut());
    server.sql(include_str!("../../testdata/sql/postgres_make_table_again.sql"));
    let now = read(source.as_mut());
    assert_eq!(change(&before, &now, table("public.t")), Change::Reset(ResetReason::IdentityChange));

    // A crash zeroes everything.
    let before = read(source.as_mut());
    server.kill();
    server.resume();
    let now = read(source.as_mut());
    for kind in [Kind::PostgresTable, Kind::PostgresDatabase, Kind::PostgresCheckpointer, Kind::PostgresWal] {
        let reason = change(&before, &now, of_kind(kind));
        assert_eq!(reason, Change::Reset(ResetReason::Restart), "{kind}");
    }
}

#[test]
fn postgres_15_tells_the_truth_and_the_reasons() {
    postgres_tells_the_truth_and_the_reasons(15);
}

#[test]
fn postgres_16_tells_the_truth_and_the_reasons() {
    postgres_tells_the_truth_and_the_reasons(16);
}

#[test]
fn postgres_17_tells_the_truth_and_the_reasons() {
    postgres_tells_the_truth_and_the_reasons(17);
}

#[test]
fn postgres_18_tells_the_truth_and_the_reasons() {
    postgres_tells_the_truth_and_the_reasons(18);
}

#[test]
fn from_17_to_18_nothing_is_subtracted_because_the_columns_changed_their_meaning() {
    let Some(mut old) = Postgres::start(17, None) else { return skip("PostgreSQL 17 could not be had") };
    let mut source = source(&format!("postgres://postgres@127.0.0.1:{}", old.port));
    let before = read(source.as_mut());
    old.stop();
    let Some(_new) = Postgres::start(18, Some(old.port)) else {
        return skip("PostgreSQL 18 could not be had");
    };
    let now = until("the new server", || source.read().ok());
    assert_eq!(change(&before, &now, of_kind(Kind::PostgresWal)), Change::Reset(ResetReason::Upgrade));
    assert_eq!(change(&before, &now, of_kind(Kind::PostgresIo)), Change::Reset(ResetReason::Upgrade));
}

#[test]
fn resetting_the_io_view_of_postgres_resets_its_rows_alone() {
    let Some(server) = Postgres::start(18, None) else { return skip("PostgreSQL 18 could not be had") };
    let mut source = source(&format!("postgres://postgres@127.0.0.1:{}", server.port));
    let before = read(source.as_mut());
    server.sql(include_str!("../../testdata/sql/postgres_reset_io.sql"));
    let now = read(source.as_mut());
    assert_eq!(change(&before, &now, of_kind(Kind::PostgresIo)), Change::Reset(ResetReason::StatisticsReset));
    // From 18 the syncs of the log are counted in that view, too.
    assert_eq!(
        change(&before, &now, of_kind(Kind::PostgresWal)),
        Change::Reset(ResetReason::StatisticsReset)
    );
    assert!(change(&before, &now, of_kind(Kind::PostgresDatabase)).delta().is_some());
}

#[test]
fn the_printed_grants_are_enough_for_postgres() {
    let Some(server) = Postgres::start(18, None) else { return skip("PostgreSQL 18 could not be had") };
    for statement in statements(Engine::Postgres) {
        server.sql(&statement);
    }
    let mut source = source(&format!("postgres://iostall@127.0.0.1:{}/postgres", server.port));
    let sample = until("the settings to be taken up", || {
        let sample = read(source.as_mut());
        sample.warnings.is_empty().then_some(sample)
    });
    for kind in [Kind::PostgresIo, Kind::PostgresTable, Kind::PostgresWal, Kind::PostgresDatabase] {
        assert!(sample.rows.iter().any(of_kind(kind)), "{kind}");
    }
    let table = sample.rows.iter().find(|row| row.subject.kind == Kind::PostgresTable).unwrap();
    let volume = table.subject.volume.as_deref();
    assert!(volume.is_some_and(|volume| volume.ends_with(')')), "on a volume of this host: {volume:?}");
}

/// The printed grants had pg_read_all_settings in them for the sake of one path; with it the login read the password of
/// replication in `primary_conninfo`.
#[test]
fn the_printed_grants_show_no_password_and_are_enough_for_every_relation() {
    let Some(server) = Postgres::start(15, None) else { return skip("PostgreSQL 15 is not installed") };
    server.sql("CREATE DATABASE shop");
    server.sql("ALTER SYSTEM SET primary_conninfo = 'host=h password=hunter2'");
    for statement in statements(Engine::Postgres) {
        server.sql(&statement);
    }
    let mut source = source(&format!("postgres://iostall@127.0.0.1:{}/postgres", server.port));
    let sample = until("the settings to be taken up", || {
        let sample = read(source.as_mut());
        // Of this version pg_stat_io is missing, whoever asks.
        let is_expected = |warning: &Warning| warning.code == WarningCode::NotCounted;
        sample.warnings.iter().all(is_expected).then_some(sample)
    });
    let is_relation = |row: &&Row| matches!(row.subject.kind, Kind::PostgresTable | Kind::PostgresIndex);
    for database in ["postgres", "shop"] {
        let of = |row: &&Row| row.subject.scope.database() == Some(database);
        let volumes: Vec<_> = sample
            .rows
            .iter()
            .filter(is_relation)
            .filter(of)
            .map(|row| row.subject.volume.as_deref())
            .collect();
        assert!(!volumes.is_empty(), "{database}");
        assert!(
            volumes.iter().all(|volume| volume.is_some_and(|volume| volume.ends_with(')'))),
            "{volumes:?}"
        );
    }
    assert_eq!(server.number(include_str!("../../testdata/sql/postgres_hidden_settings.sql")), 0);

    // A function that somebody else made is not called: it would run as whoever collects.
    server.sql(include_str!("../../testdata/sql/postgres_take_function.sql"));
    let sample = read(source.as_mut());
    let said = sample.warnings.iter().find(|warning| warning.code == WarningCode::MissingGrant).unwrap();
    assert!(said.message.contains("data directory"), "{said:?}");
    assert!(sample.rows.iter().filter(is_relation).all(|row| row.subject.volume.is_none()));
}

#[test]
fn a_server_that_went_away_is_an_error_and_comes_back_by_itself() {
    let Some(mut server) = Postgres::start(15, None) else { return skip("PostgreSQL 15 is not installed") };
    let mut source = source(&format!("postgres://postgres@127.0.0.1:{}", server.port));
    read(source.as_mut());
    server.stop();
    assert!(source.read().is_err());
    server.resume();
    read(source.as_mut());
}

fn file(part: &'static str) -> impl Fn(&Row) -> bool {
    move |row| row.subject.kind == Kind::MysqlFile && row.subject.name.ends_with(part)
}

const FILE_WRITES: &str = include_str!("../../testdata/sql/mariadb_file_writes.sql");

/// The system tablespace made a database of its directory's name.
fn files_have_the_database_of_their_directory(sample: &Sample) {
    for row in sample.rows.iter().filter(|row| row.subject.kind == Kind::MysqlFile) {
        let is_of = |database: &str| row.subject.name.contains(&format!("/data/{database}/"));
        let expected =
            ["mysql", "performance_schema", "shop", "sys"].into_iter().find(|database| is_of(database));
        assert_eq!(row.subject.scope.name(), expected.unwrap_or_default(), "{}", row.subject.name);
    }
    assert!(sample.rows.iter().any(|row| row.subject.scope.database() == Some("shop")));
}

#[test]
fn mariadb_tells_the_truth_and_the_reasons() {
    let Some(mut server) = Mariadb::start(true) else {
        return skip("MariaDB is not installed (mariadb-server-core): nothing of it was tested");
    };
    server.sql("CREATE DATABASE shop");
    server.sql(include_str!("../../testdata/sql/mariadb_make_table.sql"));
    server.let_iostall_in();
    let mut source = source(&format!("mysql://iostall@127.0.0.1:{}", server.port));

    let before = read(source.as_mut());
    assert!(before.warnings.is_empty(), "{:?}", before.warnings);
    let counted_before = server.number(FILE_WRITES);
    server.sql(include_str!("../../testdata/sql/mariadb_fill_table.sql"));
    server.sql("FLUSH TABLES shop.t FOR EXPORT");
    let (counted, now) = until("quiet", || {
        let counted = server.number(FILE_WRITES);
        let sample = read(source.as_mut());
        (counted > counted_before && server.number(FILE_WRITES) == counted).then_some((counted, sample))
    });
    let written = change(&before, &now, file("/shop/t.ibd"));
    let amounts = written.delta().expect("nothing was reset").amounts;
    assert_eq!(amounts.get(Counter::WriteBytes), Some(counted - counted_before));
    assert!(amounts.get(Counter::WriteStall).is_some_and(|stall_ns| stall_ns > 0));
    let redo = change(&before, &now, of_kind(Kind::MysqlRedo));
    assert!(
        redo.delta().unwrap().amounts.or_zero(Counter::WriteBytes) > 10_000_000,
        "20,000 rows of 500 bytes"
    );
    files_have_the_database_of_their_directory(&now);

    // TRUNCATE zeroes the counters of a file that stays open.
    let before = now;
    server.sql("TRUNCATE performance_schema.file_summary_by_instance");
    let now = read(source.as_mut());
    assert_eq!(change(&before, &now, file("/shop/t.ibd")), Change::Reset(ResetReason::StatisticsReset));

    // Dropped and made anew: the same name, another file.
    let before = read(source.as_mut());
    server.sql(include_str!("../../testdata/sql/mariadb_drop_table.sql"));
    server.sql(include_str!("../../testdata/sql/mariadb_make_table.sql"));
    let now = read(source.as_mut());
    assert_eq!(change(&before, &now, file("/shop/t.ibd")), Change::Reset(ResetReason::IdentityChange));

    // A restart and a crash both begin anew.
    for crash in [false, true] {
        let before = until("an uptime that a restart shortens", || {
            let sample = read(source.as_mut());
            (sample.epoch.uptime_s >= Some(5)).then_some(sample)
        });
        if crash {
            server.kill();
        } else {
            server.stop();
        }
        server.resume(true);
        let now = read(source.as_mut());
        assert_eq!(
            change(&before, &now, of_kind(Kind::MysqlRedo)),
            Change::Reset(ResetReason::Restart),
            "crash: {crash}"
        );
    }
}

#[test]
fn mariadb_without_its_performance_schema_says_how_to_turn_it_on() {
    let Some(server) = Mariadb::start(false) else { return skip("MariaDB is not installed") };
    server.sql("CREATE USER 'iostall'@'127.0.0.1' IDENTIFIED BY 'secret'");
    let mut source = source(&format!("mysql://iostall@127.0.0.1:{}", server.port));
    let sample = read(source.as_mut());
    assert_eq!(sample.warnings[0].code, WarningCode::SettingOff);
    assert!(sample.warnings[0].hint.as_deref().unwrap().contains("performance_schema=ON"));
    assert!(!sample.rows.iter().any(of_kind(Kind::MysqlFile)));
    assert!(sample.rows.iter().any(of_kind(Kind::MysqlRedo)), "the redo log is counted all the same");
}

#[test]
fn a_login_without_the_grant_is_told_which_one() {
    let Some(server) = Mariadb::start(true) else { return skip("MariaDB is not installed") };
    server.sql("CREATE USER 'iostall'@'127.0.0.1' IDENTIFIED BY 'secret'");
    let mut source = source(&format!("mysql://iostall@127.0.0.1:{}", server.port));
    let sample = read(source.as_mut());
    assert_eq!(sample.warnings[0].code, WarningCode::MissingGrant);
}
