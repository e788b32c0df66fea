//! A store as an older iostall left it.

use rusqlite::OptionalExtension;

use super::*;
use crate::sqlite::store_of_version;

/// Of two samples of a host, taken by an iostall whose stores had version 3.
fn older() -> (tempfile::TempDir, SqliteHistory) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("watch.db");
    store_of_version(&path, 3).execute_batch(include_str!("../../../../testdata/store_0101.sql")).unwrap();
    let store = SqliteHistory::open(path).unwrap();
    (directory, store)
}

fn scope_of(rows: &[(Row, Change)], name: &str) -> Scope {
    rows.iter().find(|(row, _)| row.subject.name == name).unwrap().0.subject.scope.clone()
}

/// A role, a control group's path and a database's name stood in one column, and nothing but the kind of the row told which.
#[test]
fn what_a_thing_is_part_of_is_told_of_older_samples_too() {
    let (_directory, mut store) = older();
    let source = store.source("linux:").unwrap().id;
    let before = steps(&store, source);
    assert_eq!(before.len(), 1);
    assert!(before[0].rows().all(|(_, change)| change.delta().is_some()));
    assert_eq!(scope_of(&before[0].to_rows(), "vda"), Scope::Device(DeviceRole::Disk));
    assert_eq!(scope_of(&before[0].to_rows(), "host"), Scope::Source);
    assert_eq!(scope_of(&before[0].to_rows(), "/unified"), Scope::Cgroup("/unified".into()));
    let hours = rollups(&store, source, Tier::Hour);
    assert_eq!(hours.len(), 6);
    // What is sampled from now on goes on in the same series.
    let mut next = store.last_sample(source).unwrap().unwrap();
    let hour = SignedDuration::from_hours(1);
    next.taken.utc += hour;
    next.taken.clock_ns += 3_600_000_000_000;
    for (name, scope) in [("E:\\sales.mdf", "sales"), ("/db.slice 254:0", "/db.slice")] {
        let (kind, scope, identity) = match scope {
            "sales" => (Kind::SqlServerFile, Scope::Database("sales".into()), "1/guid"),
            _ => (Kind::LinuxCgroup, Scope::Cgroup("/db.slice".into()), "/db.slice 11 254:0"),
        };
        let subject = Subject { kind, scope, name: name.into(), identity: identity.into(), volume: None };
        next.rows.push(Row { subject, counters: Counters::new().with(Counter::Reads, 1), age_ms: None });
    }
    store.add_sample(source, next).unwrap();
    let after = steps(&store, source);
    let continued = after[1].rows().filter(|(_, change)| change.delta().is_some()).count();
    assert_eq!((after.len(), continued), (2, 6));
    let series: u32 = store
        .connection
        .query_row(include_str!("../../../../testdata/count_series.sql"), [], |row| row.get(0))
        .unwrap();
    assert_eq!(series, 8, "no thing is there twice");
}

/// Names were all that told sources apart: samples of two hosts could not be brought together, and what was sent twice
/// would have been there twice.
#[test]
fn a_source_of_an_older_store_gets_its_id_once() {
    let (directory, mut store) = older();
    let path = directory.path().join("watch.db");
    let (id, source) = (store.id(), store.source("linux:").unwrap());
    assert_eq!((source.store, source.name.as_str()), (id, "linux:"));
    assert_eq!(store.sources().unwrap().len(), 1, "it is the one that was there");
    assert_eq!(source.id.to_string().as_bytes()[14], b'4', "{}: a random one", source.id);
    drop(store);
    let mut again = SqliteHistory::open(&path).unwrap();
    assert_eq!((again.id(), again.source("linux:").unwrap()), (id, source.clone()));
    let broken: Option<String> =
        again.connection.pragma_query_value(None, "foreign_key_check", |row| row.get(0)).optional().unwrap();
    assert_eq!(broken, None, "what refers to the source still does");
    // What was sampled before goes to another store like all else.
    let mut other = SqliteHistory::open(directory.path().join("other.db")).unwrap();
    let batch = again.batch_after(source.id, 0, 10).unwrap().unwrap();
    other.append(&batch).unwrap();
    assert_eq!(steps(&other, source.id).len(), 1);
    assert_ne!(other.id(), id, "no two stores have one id");
}
