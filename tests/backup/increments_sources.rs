//! Increments of every kind of source, and into an object store: little is stored when little has changed, and all of it comes
//! back.

use std::fs::{self, File};
use std::os::unix::fs::FileExt as _;
use std::process::Stdio;

use rusqlite::Connection;
use serde_json::Value;

use super::create::{shelves, tree};
use super::moto::Store;
use crate::copy::content;
use crate::devices::LoopDevice;
use crate::support::{Ran, Workspace};

const FRAME: u64 = 64 << 10;
const CREATE: [&str; 6] = ["backup", "create", "--frame", "64K", "--json", "b.json"];

/// Bytes of the source, and of them those that were stored, in the last backup.
fn stored(here: &Workspace) -> (u64, u64) {
    let run = here.json("b.json");
    let of = |key: &str| run["backup"].get(key).and_then(Value::as_u64).unwrap_or(0);
    (of("bytes"), of("bytes") - of("base_bytes"))
}

#[track_caller]
fn create(here: &Workspace, rest: &[&str]) {
    here.run(&[&CREATE[..], rest].concat()).expect_status(0);
}

/// A disk of 2 TB was backed up as a whole every night, because a file's time says nothing about it.
#[test]
fn an_increment_of_a_device_stores_the_frames_that_were_written() {
    let here = Workspace::new();
    shelves(&here);
    let Some(device) = LoopDevice::new(&here, "increments of a device", 8) else { return };
    fs::write(device.name(), content(8 << 20)).unwrap();
    create(&here, &["--to", "b1/0.iob", "--to", "b2/0.iob", device.name()]);
    assert_eq!(stored(&here), (8 << 20, 8 << 20));
    let disk = File::options().write(true).open(device.name()).unwrap();
    disk.write_all_at(&[7; 8192], 3 << 20).unwrap();
    // From one frame into the next.
    disk.write_all_at(&[8; 8192], (5 << 20) - 4096).unwrap();
    create(&here, &["--to", "b1/1.iob", "--to", "b2/1.iob", "--base", "b1", "--base", "b2", device.name()]);
    assert_eq!(stored(&here), (8 << 20, 3 * FRAME));
    here.run(&["backup", "restore", "b1/1.iob", "b2/1.iob", "--to", "disk.img"]).expect_status(0);
    assert!(fs::read(here.path("disk.img")).unwrap() == fs::read(device.name()).unwrap());
}

#[test]
fn an_increment_of_a_sqlite_database_stores_the_pages_that_changed() {
    let here = Workspace::new();
    shelves(&here);
    let database = Connection::open(here.path("shop.db")).unwrap();
    database.execute_batch(include_str!("../sql/increment_sqlite.sql")).unwrap();
    create(&here, &["--to", "b1/0.iob", "sqlite:shop.db"]);
    let (bytes, all) = stored(&here);
    assert!(bytes > 12 * FRAME && all == bytes, "{bytes}, {all}");
    database.execute_batch(include_str!("../sql/increment_sqlite_change.sql")).unwrap();
    create(&here, &["--to", "b1/1.iob", "--base", "b1", "sqlite:shop.db"]);
    let (now, own) = stored(&here);
    // The page of the row, and the first one, which counts changes.
    assert!(now == bytes && own <= 2 * FRAME, "{own} of {now}");
    here.run(&["backup", "drill", "b1/1.iob", "--scratch", "."]).expect_status(0);
    here.run(&["backup", "restore", "b1/1.iob", "--to", "back.db", "--only", "shop.db"]).expect_status(0);
    let back = Connection::open(here.path("back.db")).unwrap();
    let paid = back.query_row(include_str!("../sql/increment_sqlite_read.sql"), [], |row| row.get(0));
    assert_eq!(paid, Ok("paid".to_owned()));
}

/// The story: the backup to increase was looked for by the name of its source, and standard input had another name in the manifest
/// than in the question.
#[test]
fn an_increment_of_standard_input_stores_what_differs_also_under_a_limit() {
    let here = Workspace::new();
    shelves(&here);
    let mut dump = content(3_000_000);
    let create = |name: &str, more: &[&str], dump: &[u8]| {
        fs::write(here.path("dump.sql"), dump).unwrap();
        let to = format!("b1/{name}.iob");
        let mut command = here.command(&[&CREATE[..], more, &["--to", &to, "--name", "dump", "-"]].concat());
        let ran = command.stdin(Stdio::from(File::open(here.path("dump.sql")).unwrap())).output().unwrap();
        Ran::from(ran).expect_status(0);
        stored(&here)
    };
    assert_eq!(create("0", &[], &dump), (3_000_000, 3_000_000));
    dump[1_000_000] ^= 1;
    dump.extend(content(1000));
    // Requests of a tenth of a second's bytes are no multiple of a frame.
    let (bytes, own) = create("1", &["--base", "b1", "--limit", "1400KB/s"], &dump);
    assert!(bytes == 3_001_000 && own <= 3 * FRAME, "{own} of {bytes}");
    let (_, own) = create("2", &["--base", "b1"], &dump);
    assert_eq!(own, 0);
    here.run(&["backup", "restore", "b1/2.iob", "--to", "back.sql"]).expect_status(0);
    assert!(fs::read(here.path("back.sql")).unwrap() == dump);
}

#[test]
fn increments_go_into_a_bucket_and_find_their_base_in_it() {
    let here = Workspace::new();
    let Some(store) = Store::start(&here) else { return };
    tree(&here.path("shop"));
    let create = |name: &str, more: &[&str]| {
        let to = ["1", "2"].map(|stripe| format!("s3://backups/db1/{name}.iob.{stripe}"));
        let line = [&CREATE[..], more, &["--to", &to[0], "--to", &to[1], "shop"]].concat();
        store.run(&here, &line).expect_status(0);
        stored(&here)
    };
    create("0", &[]);
    fs::write(here.path("shop/base/16384/7"), content(40_000)).unwrap();
    let (bytes, own) = create("1", &["--base", "s3://backups/db1"]);
    assert!(bytes > 9_000_000 && own == 40_000, "{own} of {bytes}");
    fs::write(here.path("shop/base/16384/8"), content(30_000)).unwrap();
    assert_eq!(create("2", &["--base", "s3://backups/db1/1.iob.1.manifest"]).1, 30_000);
    store.run(&here, &["backup", "verify", "s3://backups/db1/2.iob.1"]).expect_status(0);
    store.run(&here, &["backup", "restore", "s3://backups/db1/2.iob.1", "--to", "back"]).expect_status(0);
    here.run(&["verify", "--no-store", "shop", "back"]).expect_status(0);
    // What it is based on is not removed, and what nothing is based on is.
    let prune = ["backup", "prune", "--keep-last", "1", "s3://backups/db1"];
    store.run(&here, &prune).expect_status(0);
    assert_eq!(store.names().len(), 9);
    let missing =
        [&CREATE[..], &["--to", "s3://backups/x.iob", "--base", "s3://backups/no", "shop"]].concat();
    let ran = store.run(&here, &missing).expect_status(2);
    assert!(ran.stderr.contains("s3://backups/no is not there"), "{}", ran.stderr);
}
