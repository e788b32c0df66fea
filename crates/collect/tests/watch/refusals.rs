//! PostgreSQL databases that are temporarily unreadable, have their own timing setting, or move.

use std::collections::BTreeSet;

use iostall_model::{Change, Counter, Kind, ResetReason, Row, Sample, Scope, WarningCode, with_unread_of};

use crate::servers::disk::Disk;
use crate::servers::postgres::{MAKE_TABLE, Postgres, SCAN, table_in};
use crate::servers::{change, directory, directory_in, read, skip, source, until};

const TABLE_BLOCKS: &str = include_str!("../../testdata/sql/postgres_table_blocks.sql");

fn sums_of(database: &str) -> impl Fn(&Row) -> bool {
    let scope = Scope::Database(database.into());
    move |row| row.subject.kind == Kind::PostgresDatabase && row.subject.scope == scope
}

fn unread(sample: &Sample) -> Vec<&str> {
    let unread = sample.warnings.iter().filter(|warning| warning.code == WarningCode::NotRead);
    unread.filter_map(|warning| warning.subject.as_deref()).collect()
}

/// A server with the databases `sales` and `stock`, each with a table.
fn two_databases(version: u32) -> Option<Postgres> {
    let server = Postgres::start(version, None)?;
    for database in ["sales", "stock"] {
        server.sql(&format!("CREATE DATABASE {database}"));
        server.sql_in(database, MAKE_TABLE);
        server.sql_in(database, SCAN);
    }
    Some(server)
}

/// A single "too many connections" silenced a database for five minutes, and its I/O during that time was in
/// no report: its tables disappeared, and later appeared as new.
#[test]
fn what_is_read_while_a_database_is_full_is_counted_when_it_can_be_read_again() {
    let Some(server) = two_databases(18) else { return skip("PostgreSQL 18 could not be had") };
    server.sql("CREATE ROLE iostall LOGIN");
    let mut source = source(&format!("postgres://iostall@127.0.0.1:{}/postgres", server.port));
    let blocks = |row: &Row| row.counters.or_zero(Counter::Reads) + row.counters.or_zero(Counter::Hits);
    let counted = || server.number_in("stock", TABLE_BLOCKS);
    let first = until("the scan to be counted", || {
        let sample = read(source.as_mut());
        let row = sample.rows.iter().find(|row| table_in("stock")(row)).unwrap();
        (blocks(row) == counted()).then_some(sample)
    });
    let counted_before = counted();

    server.sql("ALTER DATABASE stock CONNECTION LIMIT 0");
    let full = with_unread_of(read(source.as_mut()), &first);
    assert_eq!(unread(&full), ["stock"]);
    assert_eq!(change(&first, &full, table_in("stock")), Change::NotRead);
    assert!(change(&first, &full, table_in("sales")).delta().is_some(), "the others are read");
    server.sql_in("stock", SCAN);

    server.sql("ALTER DATABASE stock CONNECTION LIMIT -1");
    let mut before = full;
    // Retried within seconds; the samples in between lack this database.
    let now = until("the database", || {
        let now = with_unread_of(read(source.as_mut()), &before);
        let is_there = unread(&now).is_empty();
        if !is_there {
            before = now.clone();
        }
        is_there.then_some(now)
    });
    let Change::Delta(late) = change(&before, &now, table_in("stock")) else { panic!("{now:?}") };
    let Change::Delta(others) = change(&before, &now, table_in("sales")) else { panic!("{now:?}") };
    assert_eq!(late.covered_ns, now.taken.since_ns(&first.taken).unwrap(), "since it was last read");
    assert!(late.covered_ns > others.covered_ns);
    let seen = late.amounts.or_zero(Counter::Reads) + late.amounts.or_zero(Counter::Hits);
    assert_eq!(seen, counted() - counted_before);
}

/// The printed grants allow five sessions, but five were opened while the previous four were still ending, so
/// that the server refused a database every other minute.
#[test]
fn the_sessions_that_the_printed_grants_allow_are_enough() {
    let Some(server) = Postgres::start(18, None) else { return skip("PostgreSQL 18 could not be had") };
    let names: BTreeSet<String> = (0..24).map(|number| format!("db{number}")).collect();
    for name in &names {
        server.sql(&format!("CREATE DATABASE {name}"));
    }
    for limit in [5, 2] {
        server.sql(&format!("CREATE ROLE r{limit} LOGIN CONNECTION LIMIT {limit}"));
        let mut source = source(&format!("postgres://r{limit}@127.0.0.1:{}/postgres", server.port));
        for _ in 0..6 {
            let sample = read(source.as_mut());
            assert_eq!(unread(&sample), [""; 0], "{limit} sessions: {:?}", sample.warnings);
            let tables = sample.rows.iter().filter(|row| row.subject.kind == Kind::PostgresTable);
            let read: BTreeSet<&str> = tables.filter_map(|row| row.subject.scope.database()).collect();
            assert!(names.iter().all(|name| read.contains(name.as_str())), "{limit}: {read:?}");
        }
    }
}

/// PostgreSQL adds waits for shared relations to the database of the waiting session, so `(shared)` showed
/// 0.00 ms. So did a database with track_io_timing off, and the stall of one with it on was lost if it was
/// off for the server.
#[test]
fn a_stall_is_told_where_it_is_timed_and_nowhere_else() {
    let Some(server) = two_databases(18) else { return skip("PostgreSQL 18 could not be had") };
    server.sql("ALTER DATABASE stock SET track_io_timing = off");
    let url = format!("postgres://postgres@127.0.0.1:{}", server.port);
    let stalls = |sample: &Sample| {
        ["sales", "stock", "(shared)"].map(|name| {
            let row = sample.rows.iter().find(|row| sums_of(name)(row)).unwrap();
            (row.counters.get(Counter::ReadStall).is_some(), row.counters.get(Counter::WriteStall).is_some())
        })
    };
    let own = (false, false);
    let of_server = read(source(&url).as_mut());
    assert_eq!(stalls(&of_server), [(true, true), own, own]);
    let said =
        |sample: &Sample, text: &str| sample.warnings.iter().any(|warning| warning.message.contains(text));
    assert!(said(&of_server, "track_io_timing is off for database stock alone"), "{:?}", of_server.warnings);
    // Connected to the database with its own setting.
    let of_stock = read(source(&format!("{url}/stock")).as_mut());
    assert_eq!(stalls(&of_stock), [(true, true), own, own]);
}

/// When a table was moved to another tablespace, its past I/O was counted for the new volume.
#[test]
fn a_table_that_moves_leaves_its_past_where_it_was() {
    let Some(disk) = Disk::mount() else { return skip("loop devices need root: no table was moved") };
    let Some(server) = Postgres::start(18, None) else { return skip("PostgreSQL 18 could not be had") };
    let place = directory_in(disk.point());
    let tablespace = include_str!("../../testdata/sql/place_postgres_tablespace.sql");
    server.sql(&tablespace.replace(":place", &place.path().display().to_string()));
    server.sql(MAKE_TABLE);
    let mut source = source(&format!("postgres://postgres@127.0.0.1:{}", server.port));
    let before = read(source.as_mut());
    server.sql(include_str!("../../testdata/sql/move_postgres_table.sql"));
    let now = read(source.as_mut());
    let subject =
        |sample: &Sample| sample.rows.iter().find(|row| table_in("postgres")(row)).unwrap().subject.clone();
    let (was, is) = (subject(&before), subject(&now));
    assert_ne!(was.volume, is.volume);
    assert_ne!(was.identity, is.identity, "what is kept under one identity has one volume");
    assert_eq!(change(&before, &now, table_in("postgres")), Change::Reset(ResetReason::Move));
}

/// "write-ahead log 0.006 ms" stood in reports where each commit waited 1.3 ms for its sync, which was sampled and not shown;
/// of PostgreSQL 18 it was not even in the row.
#[test]
fn the_syncs_of_the_log_are_read_with_the_time_that_commits_wait_for_them() {
    for version in [15, 18] {
        let settings = ["fsync=on", "track_wal_io_timing=on", "wal_sync_method=fdatasync"];
        let Some(server) = Postgres::start_in(directory(), version, None, &settings) else {
            skip(&format!("PostgreSQL {version} could not be had: the syncs of its log were not read"));
            continue;
        };
        let mut source = source(&format!("postgres://postgres@127.0.0.1:{}", server.port));
        let before = read(source.as_mut());
        server.sql(MAKE_TABLE);
        let log = |row: &Row| row.subject.kind == Kind::PostgresWal;
        let totals = until("the sync of a commit", || {
            let now = read(source.as_mut());
            let totals = *change(&before, &now, log).delta()?;
            (totals.amounts.get(Counter::Syncs)? > 0).then_some(totals)
        });
        assert!(totals.sync_stall_ns_mean().unwrap() > 0.0, "{version}: {totals:?}");
        assert!(totals.write_stall_ns_mean().unwrap() > 0.0, "{version}: {totals:?}");
    }
}
