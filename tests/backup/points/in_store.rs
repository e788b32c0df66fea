//! An archive of the log in an object store, from real servers.

use std::fs;
use std::path::Path;

use serde_json::Value;

use super::super::google::Google;
use super::super::moto::Store;
use super::super::store_contract::TestStore as _;
use super::super::store_proxy::Proxy;
use super::server::{Programs, Server, place, sql};
use crate::support::{Ran, Workspace, until};
use crate::unprivileged::is_root;

const WAL: &str = "s3://backups/db1/wal";
const IN_BACKUP: u64 = 200;

/// The story: the archive was on the disk that burned, beside the database.
#[test]
fn a_server_is_brought_to_a_point_in_time_from_an_archive_in_a_store() {
    let Some(mut programs) = Programs::of(15) else { return };
    let here = Workspace::new();
    let Some(store) = Store::start(&here) else { return };
    programs.store = Some(store.port);
    let command = format!("{} backup wal archive %p --to {WAL}", programs.iostall().display());
    let server = Server::archiving(&programs, &command, &[]);
    server.ask("schema", &[]);
    server.ask("bulk", &[("from", "1"), ("to", &IN_BACKUP.to_string())]);
    let run = |words: &[&str]| store.run(&here, words);
    run(&["backup", "create", "--to", "s3://backups/db1/sets/a.iob", &server.url()]).expect_status(0);
    let mut xid = String::new();
    for number in IN_BACKUP + 1..=IN_BACKUP + 20 {
        xid = server.ask("xid", &[("number", &number.to_string())]);
        if number.is_multiple_of(10) {
            server.switched();
        }
    }
    let last = IN_BACKUP + 20;
    server.ask("row", &[("number", &(last + 1).to_string())]);
    let newest = server.switched();
    assert_eq!(server.ask("failed", &[]), "0", "{}", server.log());
    let listing = run(&["backup", "wal", "list", "--check", "--json", WAL, "s3://backups/db1/sets"]);
    let listing: Value = serde_json::from_str(&listing.expect_status(0).stdout).unwrap();
    assert_eq!(listing["sets"][0]["reaches"][0]["gap"], Value::Null, "{listing}");

    each_segment_is_asked_for_once(&here, &store);
    again(&here, &store, &server, &newest);
    in_google(&here, &server, &newest);

    let recovered = place();
    let to = recovered.path().join("data");
    let mut restore = std::process::Command::new(programs.iostall());
    Store::address(&mut restore, store.port);
    restore.current_dir(here.path(".")).env("IOSTALL_STORE", here.path("store.db"));
    restore.args(["backup", "restore", "s3://backups/db1/sets/a.iob", "--to", to.to_str().unwrap()]);
    // Not stored: a backup that is known to be good is not pruned.
    restore.args(["--no-store", "--wal", WAL, "--until", &format!("xid:{xid}")]);
    Ran::from(restore.output().unwrap()).expect_status(0);
    let copy = Server::on(&programs, recovered, &["archive_mode=off"]).unwrap_or_else(|log| panic!("{log}"));
    until("the target", || (copy.ask("paused", &[]) == "t").then_some(()));
    assert_eq!(copy.ask("last", &[]), last.to_string());
    assert_eq!(copy.ask("count", &[]), last.to_string());

    let scratch = place();
    let mut drill = std::process::Command::new(programs.iostall());
    Store::address(&mut drill, store.port);
    drill.current_dir(here.path(".")).env("IOSTALL_STORE", here.path("store.db"));
    drill
        .args(["backup", "drill", "s3://backups/db1/sets/a.iob", "--wal", WAL, "--scratch"])
        .arg(scratch.path());
    drill.arg(format!("--check={}", sql("is_last", &[("number", &(last + 1).to_string())])));
    drill.arg("--no-store");
    if is_root() {
        drill.args(["--user", "nobody"]);
    }
    Ran::from(drill.output().unwrap()).expect_status(0);
    lost_and_pruned(&here, &store, &server, &newest);
}

/// A list of an archive with ten thousand segments asked for each twice, which is paid for and takes its time.
fn each_segment_is_asked_for_once(here: &Workspace, store: &Store) {
    let proxy = Proxy::before(store.port, None);
    let mut list = here.command(&["backup", "wal", "list", "--json", WAL]);
    Store::address(&mut list, proxy.port);
    let listing: Value =
        serde_json::from_str(&Ran::from(list.output().unwrap()).expect_status(0).stdout).unwrap();
    let requests = proxy.requests();
    let of_segments = requests.iter().filter(|line| line.contains(".iow ")).count();
    let segments = listing["ranges"][0]["segments"].as_u64().unwrap();
    assert!(segments > 1 && of_segments as u64 == segments + labels(store), "{requests:#?}");
}

/// Files in the archive that are no segments, and are read once, too.
fn labels(store: &Store) -> u64 {
    store.names().iter().filter(|name| name.contains(".backup.")).count() as u64
}

/// The same segment again is no error, another one is, and the archive keeps its own.
fn again(here: &Workspace, store: &Store, server: &Server<'_>, newest: &str) {
    let copy = here.path(newest);
    fs::copy(server.place.path().join("data/pg_wal").join(newest), &copy).unwrap();
    let archive = |to: &str| store.run(here, &["backup", "wal", "archive", newest, "--to", to]);
    archive(WAL).expect_status(0);
    let kept = store.request("GET", &format!("/backups/db1/wal/{newest}.iow"), b"").1;
    let mut other = fs::read(&copy).unwrap();
    other[70_000] ^= 1;
    fs::write(&copy, &other).unwrap();
    let ran = archive(WAL).expect_status(2);
    assert!(ran.stderr.contains("with other content: both are kept"), "{}", ran.stderr);
    assert!(kept == store.request("GET", &format!("/backups/db1/wal/{newest}.iow"), b"").1);
    let ran = archive("s3://no-such-bucket/wal").expect_status(2);
    assert!(ran.stderr.contains("s3://no-such-bucket"), "{}", ran.stderr);
    let url = server.url();
    let ran = store.run(here, &["backup", "wal", "receive", &url, "--to", WAL]).expect_status(2);
    assert!(ran.stderr.contains("does not grow") && ran.stderr.contains("hint: "), "{}", ran.stderr);
}

/// The same verbs on the store that answers as Google's does.
fn in_google(here: &Workspace, server: &Server<'_>, newest: &str) {
    const WAL: &str = "gs://backups/db1/wal";
    let store = Google::start();
    let segment = fs::read(server.place.path().join("data/pg_wal").join(newest)).unwrap();
    fs::write(here.path(newest), &segment).unwrap();
    let archive = ["backup", "wal", "archive", newest, "--to", WAL];
    for _ in 0..2 {
        store.run(here, &archive).expect_status(0);
    }
    assert!(store.names().contains(&format!("db1/wal/{newest}.iow")), "{:?}", store.names());
    store.run(here, &["backup", "wal", "list", "--check", WAL]).expect_status(0);
    let fetched = here.path("from-google");
    let fetch = ["backup", "wal", "fetch", newest, fetched.to_str().unwrap(), "--from", WAL];
    store.run(here, &fetch).expect_status(0);
    assert!(fs::read(&fetched).unwrap() == segment);
    let mut other = segment;
    other[70_000] ^= 1;
    fs::write(here.path(newest), &other).unwrap();
    let refused = store.run(here, &archive).expect_status(2);
    assert!(refused.stderr.contains("with other content: both are kept"), "{}", refused.stderr);
}

/// What is not there is the end of the log, and what cannot be read is not. What no backup needs goes.
fn lost_and_pruned(here: &Workspace, store: &Store, server: &Server<'_>, newest: &str) {
    let fetch = |name: &str, from: &str| {
        let path = here.path("fetched");
        let _ = fs::remove_file(&path);
        let ran = store.run(here, &["backup", "wal", "fetch", name, path.to_str().unwrap(), "--from", from]);
        (ran.status, Path::new(&path).exists())
    };
    assert_eq!(fetch(newest, WAL), (Some(0), true));
    assert_eq!(fetch("0000000100000000000000FF", WAL), (Some(1), false));
    assert_eq!(fetch(newest, "s3://backups/elsewhere"), (Some(200), false));
    assert_eq!(fetch(newest, "s3://no-such-bucket/wal"), (Some(200), false));
    let name = format!("/backups/db1/wal/{newest}.iow");
    let mut damaged = store.request("GET", &name, b"").1;
    let kept = damaged.clone();
    damaged[300] ^= 4;
    assert_eq!(store.request("PUT", &name, &damaged).0, 200);
    assert_eq!(fetch(newest, WAL), (Some(200), false));
    let list = store.run(here, &["backup", "wal", "list", "--check", WAL]).expect_status(1);
    assert!(list.stdout.contains(newest), "{}", list.stdout);
    assert_eq!(store.request("PUT", &name, &kept).0, 200);
    let segments = || {
        let list = store.run(here, &["backup", "wal", "list", "--json", WAL]).expect_status(0);
        let list: Value = serde_json::from_str(&list.stdout).unwrap();
        list["ranges"][0]["segments"].as_u64().unwrap()
    };
    let before = segments();
    store
        .run(here, &["backup", "create", "--to", "s3://backups/db1/sets/b.iob", &server.url()])
        .expect_status(0);
    server.switched();
    let prune = ["backup", "prune", "--keep-last", "1", "--wal", WAL, "s3://backups/db1/sets"];
    store.run(here, &prune).expect_status(0);
    assert!(segments() < before);
    let listed = store.run(here, &["backup", "wal", "list", WAL, "s3://backups/db1/sets"]);
    listed.expect_status(0);
}
