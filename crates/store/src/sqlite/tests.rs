//! What only a file can get wrong. What every store must do is in `contract`.

use std::fs;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::Path;

use iostall_measure::{Clock, MonotonicClock};
use rusqlite::Connection;

use super::migrations::{APPLICATION_ID, KNOWN_VERSION};
use super::*;
use crate::contract;
use crate::sample::{sample_id, sample_run, thirty_second_run};

/// Set for the process that [`a_killed_writer_leaves_whole_runs_and_a_sound_file`] kills: the store to write to.
const VICTIM_STORE: &str = "IOSTALL_TEST_VICTIM_STORE";

fn directory() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

fn assert_sound(path: &Path) {
    let connection = Connection::open(path).unwrap();
    let verdict: String = connection.pragma_query_value(None, "integrity_check", |row| row.get(0)).unwrap();
    assert_eq!(verdict, "ok");
    let orphans: i64 =
        connection.query_row(include_str!("../../testdata/count_orphans.sql"), [], |row| row.get(0)).unwrap();
    assert_eq!(orphans, 0, "half a run is in the store");
}

#[test]
fn it_does_what_every_store_must_do() {
    let directory = directory();
    let mut count = 0;
    contract::run_all(|| {
        count += 1;
        SqliteStore::open(directory.path().join(format!("{count}.db"))).unwrap()
    });
}

#[test]
fn the_store_and_its_directories_are_made_for_their_owner_alone() {
    let directory = directory();
    let path = directory.path().join("share/iostall/iostall.db");
    let mut store = SqliteStore::open(&path).unwrap();
    store.add(&sample_run(1)).unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&directory.path().join("share")), 0o700);
    assert_eq!(mode(path.parent().unwrap()), 0o700);
    assert_eq!(mode(&path), 0o600);
    assert_eq!(mode(&directory.path().join("share/iostall/iostall.db-wal")), 0o600);
}

#[test]
fn a_store_opened_again_has_its_runs_and_goes_by_the_settings_that_keep_them() {
    let directory = directory();
    let path = directory.path().join("runs.db");
    SqliteStore::open(&path).unwrap().add(&sample_run(1)).unwrap();
    assert!(!directory.path().join("runs.db-wal").exists(), "the last one out writes the log back");
    let store = SqliteStore::open(&path).unwrap();
    assert_eq!(store.last().unwrap().unwrap().id, sample_run(1).id);
    let text =
        |name: &str| -> String { store.connection.pragma_query_value(None, name, |row| row.get(0)).unwrap() };
    let number =
        |name: &str| -> i64 { store.connection.pragma_query_value(None, name, |row| row.get(0)).unwrap() };
    assert_eq!(text("journal_mode"), "wal");
    assert_eq!(number("synchronous"), 2, "FULL");
    assert_eq!(number("foreign_keys"), 1);
    assert_eq!((number("application_id"), number("user_version")), (APPLICATION_ID, KNOWN_VERSION));
}

fn schema() -> Vec<String> {
    let directory = directory();
    let store = SqliteStore::open(directory.path().join("runs.db")).unwrap();
    let mut statement = store.connection.prepare(include_str!("../../testdata/read_schema.sql")).unwrap();
    statement.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap()
}

/// A DBA's own `sqlite3` called the store malformed, on Debian 12 and on RHEL 9: a single unknown word in the
/// schema makes the whole file unreadable. The oldest version in wide use is 3.26, in RHEL 8.
#[test]
fn the_schema_has_only_words_that_sqlite_3_26_knows() {
    let newer = [
        "STRICT",
        "GENERATED",
        "RETURNING",
        "MATERIALIZED",
        "FILTER",
        "IIF(",
        "->",
        "NULLS ",
        "OVER (",
        "WINDOW",
        "TRUE",
        "FALSE",
        "EXCLUDED",
    ];
    // JSON functions may be missing from a build, which matters only when a view that uses them is read.
    let functions = ["json_group_array", "json_valid", "length"];
    for text in schema() {
        let code: String =
            text.split("/*").map(|part| part.split_once("*/").map_or(part, |(_, code)| code)).collect();
        for word in newer {
            assert!(!code.to_uppercase().contains(word), "{word} in {code}");
        }
        for (at, _) in code.match_indices('(') {
            let before = code[..at].chars().rev().take_while(|c| c.is_alphanumeric() || *c == '_');
            let name: String = before.collect::<Vec<_>>().into_iter().rev().collect();
            let inside = code[at..].split(')').next().unwrap_or_default();
            let is_function =
                !name.is_empty() && name == name.to_lowercase() && !code.contains(&format!("TABLE {name}"));
            if is_function {
                assert!(functions.contains(&name.as_str()), "{name}() in {code}");
                assert!(!inside.contains("ORDER BY"), "{code}");
            }
        }
    }
}

/// Opens `path`, which must be refused, and checks that not a byte of it has changed.
fn refused(path: &Path) -> StoreError {
    let before = fs::read(path).unwrap();
    let error = SqliteStore::open(path).unwrap_err();
    assert_eq!(fs::read(path).unwrap(), before, "a refused file was changed");
    assert!(error.to_string().contains(path.to_str().unwrap()), "{error}");
    assert!(error.hint().unwrap().contains("nothing was changed"), "{error}");
    error
}

#[test]
fn a_store_of_a_newer_iostall_is_refused_and_left_as_it_is() {
    let directory = directory();
    let path = directory.path().join("runs.db");
    let store = SqliteStore::open(&path).unwrap();
    store.connection.pragma_update(None, "user_version", KNOWN_VERSION + 6).unwrap();
    drop(store);
    let error = refused(&path);
    assert!(matches!(error, StoreError::Newer { .. }));
    assert!(error.to_string().contains(&(KNOWN_VERSION + 6).to_string()), "{error}");
}

#[test]
fn a_database_of_another_program_is_refused_and_left_as_it_is() {
    let directory = directory();
    let path = directory.path().join("shop.db");
    let shop = Connection::open(&path).unwrap();
    shop.execute_batch(include_str!("../../testdata/foreign.sql")).unwrap();
    // Without an application id, and with one.
    assert!(matches!(refused(&path), StoreError::Foreign { .. }));
    shop.pragma_update(None, "application_id", 0x1234).unwrap();
    drop(shop);
    assert!(refused(&path).to_string().contains("0x1234"));
}

#[test]
fn a_file_that_is_no_database_is_refused_and_left_as_it_is() {
    let directory = directory();
    // SQLite itself takes a very short file for an empty database and writes over it.
    for length in [1, 28, 511, 512, 600, 5000, 50_000] {
        let content = "a text ".repeat(length / 7 + 1).split_off(7 - length % 7);
        let path = directory.path().join("notes.txt");
        fs::write(&path, content).unwrap();
        assert!(matches!(refused(&path), StoreError::Foreign { .. }), "{length}");
    }
    let error = SqliteStore::open(directory.path()).unwrap_err();
    assert!(matches!(error, StoreError::Foreign { .. }), "{error}");
}

#[test]
fn a_store_cut_short_or_scribbled_over_is_called_damaged_and_left_as_it_is() {
    let directory = directory();
    let path = directory.path().join("runs.db");
    let mut store = SqliteStore::open(&path).unwrap();
    for number in 1..=20 {
        store.add(&sample_run(number)).unwrap();
    }
    drop(store);
    let whole = fs::read(&path).unwrap();

    fs::write(&path, &whole[..whole.len() / 2]).unwrap();
    let verdict = SqliteStore::open(&path).and_then(|store| store.list(&Filter::default()));
    assert!(matches!(verdict, Err(StoreError::Damaged { .. })), "{verdict:?}");

    // The schema is gone but for the file's first hundred bytes.
    fs::write(&path, &whole).unwrap();
    fs::File::options().write(true).open(&path).unwrap().write_all_at(&[0xa5; 3996], 100).unwrap();
    assert!(matches!(refused(&path), StoreError::Damaged { .. }));
}

#[test]
fn a_damaged_document_costs_its_own_run_and_is_named() {
    let directory = directory();
    let mut store = SqliteStore::open(directory.path().join("runs.db")).unwrap();
    store.add(&sample_run(1)).unwrap();
    store.connection.execute_batch(include_str!("../../testdata/damage_document.sql")).unwrap();
    store.add(&sample_run(2)).unwrap();
    let error = store.get(&Selector::Number(1)).unwrap_err();
    assert!(error.to_string().contains("#1"), "{error}");
    assert_eq!(store.get(&Selector::Number(2)).unwrap().run, sample_run(2));
    assert_eq!(store.list(&Filter::default()).unwrap().len(), 2);
}

#[test]
fn writers_and_readers_at_once_neither_fail_nor_lose_a_run() {
    const WRITERS: u64 = 8;
    const RUNS: u64 = 25;
    let directory = directory();
    let path = directory.path().join("runs.db");
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let path = &path;
            // Each run with a connection of its own, as separate commands have: opening races with opening,
            // making with making, and the last one out with the next one in.
            scope.spawn(move || {
                for run in 0..RUNS {
                    let mut store = SqliteStore::open(path).unwrap();
                    store.add(&sample_run(1 + writer * RUNS + run)).unwrap();
                    store.list(&Filter { limit: Some(3), ..Filter::default() }).unwrap();
                }
            });
        }
    });
    let store = SqliteStore::open(&path).unwrap();
    let mut numbers: Vec<u32> =
        store.list(&Filter::default()).unwrap().iter().map(|entry| entry.number.0).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (1..=200).collect::<Vec<u32>>());
    for number in 1..=WRITERS * RUNS {
        let run = sample_run(number);
        assert_eq!(store.get(&Selector::Id(run.id)).unwrap().run, run);
    }
    drop(store);
    assert_sound(&path);
}

#[test]
fn a_reader_does_not_wait_for_a_writer() {
    let directory = directory();
    let path = directory.path().join("runs.db");
    let mut writer = SqliteStore::open(&path).unwrap();
    writer.add(&sample_run(1)).unwrap();
    let held = writer.connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate).unwrap();
    let reader = SqliteStore::open(&path);
    // Opening looks at the schema under the write lock only where there is a step to apply.
    let reader = reader.unwrap();
    assert_eq!(reader.list(&Filter::default()).unwrap().len(), 1);
    drop(held);
}

/// Not a test of its own: what the process does that the next test kills.
#[test]
fn victim_that_writes_until_it_is_killed() {
    let Some(path) = std::env::var_os(VICTIM_STORE) else { return };
    let seed = u64::from(std::process::id()) * 1_000_000;
    let template = thirty_second_run();
    for number in 0.. {
        let mut store = SqliteStore::open(&path).unwrap();
        store.add(&Run { id: sample_id(seed + number), ..template.clone() }).unwrap();
    }
}

#[test]
fn a_killed_writer_leaves_whole_runs_and_a_sound_file() {
    let directory = directory();
    let path = directory.path().join("runs.db");
    let clock = MonotonicClock::new();
    let mut kept = 0;
    for round in 0..12_u64 {
        let mut victim = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "sqlite::tests::victim_that_writes_until_it_is_killed"])
            .env(VICTIM_STORE, &path)
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        // Until it has written something, and then some: the kill falls anywhere in its loop.
        let store = SqliteStore::open(&path).unwrap();
        while store.list(&Filter::default()).unwrap().len() <= kept {
            assert!(victim.try_wait().unwrap().is_none(), "the victim ended by itself");
            clock.sleep_until(clock.now_ns() + 1_000_000);
        }
        clock.sleep_until(clock.now_ns() + round * 700_000);
        victim.kill().unwrap();
        victim.wait().unwrap();
        drop(store);
        let store = SqliteStore::open(&path).unwrap();
        let entries = store.list(&Filter::default()).unwrap();
        assert!(entries.len() > kept, "what was seen before the kill is there after it");
        kept = entries.len();
        for entry in &entries {
            assert_eq!(store.get(&Selector::Number(entry.number.0)).unwrap().run.id, entry.id);
        }
        drop(store);
        assert_sound(&path);
    }
}

/// A transaction that SQLite begins on a full disk may end the process with SIGBUS; and the message was about the device.
#[test]
fn without_room_nothing_is_begun_and_the_disk_is_named_as_the_cause() {
    let directory = directory();
    let path = directory.path().join("runs.db");
    let store = SqliteStore::open(&path).unwrap();
    let error = begin(&store.connection, &path, u64::MAX).map(drop).map_err(store.fault("write to"));
    let error = error.unwrap_err();
    assert!(error.to_string().ends_with("runs.db: its disk is full"), "{error}");
    assert!(error.may_pass() && error.hint().unwrap().starts_with("free space"), "{error}");
    begin(&store.connection, &path, 0).unwrap();
}

/// A shell that completes the number of a run must neither make a store nor migrate an older one: another terminal may be running
/// the older program, which could not open it any more.
#[test]
fn a_glance_reads_a_store_of_this_version_and_changes_none() {
    let directory = directory();
    let path = directory.path().join("runs.db");
    assert!(SqliteStore::glance(&path).unwrap().is_none() && !path.exists());
    drop(store_of_version(&path, 3));
    let older = fs::read(&path).unwrap();
    assert!(SqliteStore::glance(&path).unwrap().is_none());
    assert!(SqliteHistory::glance(&path).unwrap().is_none());
    assert_eq!(fs::read(&path).unwrap(), older);
    SqliteStore::open(&path).unwrap().add(&sample_run(1)).unwrap();
    let mut seen = SqliteStore::glance(&path).unwrap().expect("a store of this version");
    assert_eq!(seen.list(&Filter::default()).unwrap().len(), 1);
    assert!(seen.add(&sample_run(2)).is_err(), "it is only read");
    assert!(SqliteHistory::glance(&path).unwrap().is_some());
    // A writer that is in the middle of its work does not hold up a reader.
    let writer = Connection::open(&path).unwrap();
    writer.execute_batch("BEGIN EXCLUSIVE").unwrap();
    assert_eq!(seen.list(&Filter::default()).unwrap().len(), 1);
    assert!(SqliteStore::glance(&path).unwrap().is_some());
}
