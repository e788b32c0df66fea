//! What makes copies of a running server wrong.

use std::fs;
use std::os::unix::fs::symlink;

use iostall_model::backup::SourceKind;
use iostall_session::backup::postgres::PostgresBackupError;

use super::load::Load;
use super::restored::restore;
use super::servers::postgres::Postgres;
use super::servers::{chown_to_nobody, directory, skip, until};
use super::statements::{sql, sql_with};
use super::{check, has_files, place, prepared, started};

fn server() -> Option<Postgres> {
    let server = Postgres::start(15, None);
    if server.is_none() {
        skip("PostgreSQL 15: it is not installed");
    }
    server
}

/// A table that was dropped in the middle ended the backup, one that was created was missing, and one that was cut was
/// restored with pages that it no longer had.
#[test]
fn relations_that_are_dropped_created_cut_and_grown_meanwhile_are_as_they_were_at_the_end() {
    let Some(server) = server() else { return };
    server.sql(sql("schema"));
    let rows = |name, table: &str| sql_with(name, &[("table", &table)]);
    for table in ["dropped", "cut", "grown", "moved"] {
        server.sql(&rows("make_rows", table));
    }
    let place = place();
    let change = || {
        server.sql(sql("drop_and_cut"));
        server.sql("VACUUM cut");
        server.sql(&rows("add_rows", "grown"));
        server.sql(&rows("make_rows", "created"));
        server.sql("VACUUM FULL moved");
        server.sql("CREATE DATABASE other");
        server.sql_in("other", &rows("make_rows", "created"));
        server.sql("CHECKPOINT");
    };
    restore(prepared(server.port).unwrap(), &place.path().join("data"), change, || {});
    let copy = started(place, 15, &[]);
    let count = |table: &str| copy.number(&rows("count", table));
    assert_eq!((count("cut"), count("grown"), count("created"), count("moved")), (10, 10_000, 5_000, 5_000));
    assert_eq!(copy.number(&rows("is_there", "dropped")), 0);
    assert_eq!(copy.number_in("other", &rows("count", "created")), 5_000);
    check(&copy, 15, 0);
}

/// The restored copy wrote into the tablespace of the server that it was made of, because a link still led there.
#[test]
fn a_copy_on_the_same_host_has_tablespaces_of_its_own() {
    let Some(server) = server() else { return };
    let space = directory();
    server.sql(&sql_with("make_tablespace", &[("place", &space.path().display())]));
    server.sql(sql("make_in_tablespace"));
    let place = place();
    let prepared = prepared(server.port).unwrap();
    let SourceKind::Postgresql(record) = &prepared.record.kind else { panic!("{:?}", prepared.record) };
    let locations: Vec<_> = record.tablespaces.iter().map(|one| one.location.to_string()).collect();
    assert_eq!(locations, [space.path().display().to_string()], "where it was is recorded");
    restore(prepared, &place.path().join("data"), || server.sql(sql("add_zero")), || {});
    let data = place.path().join("data");
    assert!(has_files(&data.join("iostall_tablespaces")) && !data.join("tablespace_map").exists());
    let copy = started(place, 15, &[]);
    copy.sql(sql("add_one"));
    assert_eq!(copy.number(sql("least")), 1);
    assert_eq!(server.number(sql("least")), 0);
    assert_eq!(server.number(&sql_with("count", &[("table", &"t")])), 1_001);
}

/// The content of unlogged relations is of no use after a restore and was most of a backup.
#[test]
fn unlogged_relations_are_there_and_empty_and_temporary_ones_are_not() {
    let Some(server) = server() else { return };
    server.sql(sql("make_cache"));
    server.sql(sql("make_keyed"));
    let source = prepared(server.port).unwrap();
    let path: Vec<String> = source.items.iter().map(|item| item.name.to_string()).collect();
    let node = server.number(&sql_with("file_node", &[("table", &"cache")]));
    let of_cache: Vec<_> = path.iter().filter(|name| name.contains(&format!("/{node}"))).collect();
    assert!(of_cache.len() == 1 && of_cache[0].ends_with("_init"), "{of_cache:?}");
    let place = place();
    restore(source, &place.path().join("data"), || {}, || {});
    let copy = started(place, 15, &[]);
    assert_eq!(copy.number(sql("count_unlogged")), 0);
    copy.sql(sql("use_unlogged"));
}

/// The log of many servers is on a disk of its own, behind a link.
#[test]
fn a_log_behind_a_link_is_in_the_backup_and_the_link_is_not() {
    let Some(mut server) = server() else { return };
    server.sql(sql("schema"));
    server.stop();
    let elsewhere = directory();
    let (log, moved) = (server.data().join("pg_wal"), elsewhere.path().join("wal"));
    for entry in [&moved, &moved.join("archive_status")] {
        fs::create_dir(entry).unwrap();
        chown_to_nobody(entry);
    }
    for entry in fs::read_dir(&log).unwrap().map(Result::unwrap).filter(|entry| entry.path().is_file()) {
        fs::copy(entry.path(), moved.join(entry.file_name())).unwrap();
        chown_to_nobody(&moved.join(entry.file_name()));
    }
    fs::remove_dir_all(&log).unwrap();
    symlink(&moved, &log).unwrap();
    server.resume();
    let load = Load::on(server.port);
    load.wait_for(20);
    let place = place();
    restore(prepared(server.port).unwrap(), &place.path().join("data"), || load.wait_for(20), || {});
    let committed = load.committed();
    drop(load);
    let log = place.path().join("data/pg_wal");
    assert!(log.is_dir() && !log.is_symlink());
    let copy = started(place, 15, &[]);
    assert!(copy.number(sql("ledger")) <= committed + 1);
    check(&copy, 15, 20);
}

/// A standby is where backups are made, so that the primary does not feel them.
#[test]
fn a_standby_is_a_source_and_its_copy_is_a_server_by_itself() {
    let Some(primary) = server() else { return };
    primary.sql(sql("schema"));
    let first = place();
    restore(prepared(primary.port).unwrap(), &first.path().join("data"), || {}, || {});
    fs::write(first.path().join("data/standby.signal"), "").unwrap();
    chown_to_nobody(&first.path().join("data/standby.signal"));
    let conninfo = format!("primary_conninfo=host=127.0.0.1 port={} user=postgres", primary.port);
    let standby = started(first, 15, &[&conninfo]);
    let load = Load::on(primary.port);
    let replayed = || standby.number(sql("ledger"));
    until("replay", || (replayed() > 10).then_some(()));
    let place = place();
    let mut committed = 0;
    let middle = || {
        let before = replayed();
        until("replay", || (replayed() > before + 20).then_some(()));
    };
    let restored = restore(prepared(standby.port).unwrap(), &place.path().join("data"), middle, || {
        committed = replayed();
    });
    assert!(restored.record.from_standby, "{:?}", restored.record);
    drop(load);
    let mut copy = started(place, 15, &[]);
    assert_eq!(copy.number(sql("receivers")), 0);
    check(&copy, 15, committed);
    copy.stop();
}

/// A page that the disk had lost was copied from backup to backup until the last good one was pruned.
#[test]
fn a_damaged_page_is_named_and_the_backup_goes_on() {
    let Some(mut server) = server() else { return };
    server.sql(sql("schema"));
    let node = server.number(&sql_with("file_node", &[("table", &"account")]));
    let database = server.number(sql("database_oid"));
    server.stop();
    super::servers::made(server.tool("pg_checksums").arg("--enable").arg("-D").arg(server.data()));
    let name = format!("base/{database}/{node}");
    let path = server.data().join(&name);
    let mut bytes = fs::read(&path).unwrap();
    bytes[8192 * 5 + 4000] ^= 0x10;
    fs::write(&path, bytes).unwrap();
    server.resume();
    let place = place();
    let restored = restore(prepared(server.port).unwrap(), &place.path().join("data"), || {}, || {});
    let found = restored.pages.unwrap().wrong;
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(
        found[0].starts_with(&format!("{name} block 5 has a wrong checksum"))
            && found[0].contains("offset 40960"),
        "{found:?}"
    );
}

/// `--host` named another server than the one whose files were here, and the backup was of both.
#[test]
fn the_files_of_another_server_are_refused() {
    let (Some(mut one), Some(other)) = (server(), server()) else { return };
    one.stop();
    // What is at the path of the server that answers is another cluster.
    let (theirs, aside) = (other.data(), other.data().with_extension("aside"));
    fs::rename(&theirs, &aside).unwrap();
    symlink(one.data(), &theirs).unwrap();
    let answer = prepared(other.port);
    fs::remove_file(&theirs).unwrap();
    fs::rename(&aside, &theirs).unwrap();
    let error = answer.err().unwrap();
    assert!(matches!(error, PostgresBackupError::Elsewhere { .. }), "{error}");
    assert!(error.hint().contains("host"), "{error}");
}
