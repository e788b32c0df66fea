//! `iostall backup drill` of files and of SQLite, and the alert on drills that are missing.

use std::fs;

use rusqlite::Connection;
use serde_json::Value;

use super::create::{names, shelves, tree};
use crate::alerts::web_server;
use crate::copy::content;
use crate::support::{PATIENCE, Workspace};

/// A place for the scratch directory of a drill.
fn scratch(here: &Workspace) {
    fs::create_dir(here.path("scratch")).unwrap();
}

const DRILL: [&str; 4] = ["backup", "drill", "--scratch", "scratch"];

fn drill<'a>(rest: &[&'a str]) -> Vec<&'a str> {
    [&DRILL[..], rest].concat()
}

fn states(run: &Value) -> Vec<(String, String)> {
    let checks = run["backup-drill"]["checks"].as_array().unwrap();
    let text = |check: &Value, key: &str| check[key].as_str().unwrap().to_owned();
    checks.iter().map(|check| (text(check, "name"), text(check, "state"))).collect()
}

/// The story: backups were made for years, and the first restore was the one that mattered.
#[test]
fn files_are_restored_to_a_scratch_directory_that_is_removed_and_the_drill_is_in_the_store() {
    let here = Workspace::new();
    shelves(&here);
    scratch(&here);
    tree(&here.path("shop"));
    here.run(&["backup", "create", "--to", "b1/shop.iob", "--to", "b2/shop.iob", "shop"]).expect_status(0);
    let ran = here.run(&drill(&["--json", "d.json", "b1", "b2"])).expect_status(0);
    let said = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("time to recover") && said.contains("no engine was started"), "{said}");
    assert!(said.contains("which proves less"), "{said}");
    assert_eq!(names(&here.path("scratch")), [""; 0]);
    let run = here.json("d.json");
    let outcome = &run["backup-drill"];
    assert_eq!(states(&run), [("content".to_owned(), "passed".to_owned())]);
    assert!(outcome["restore_ns"].as_u64().unwrap() > 0 && outcome["is_complete"] == true, "{outcome}");
    assert!(outcome["bytes"].as_u64().unwrap() > 9_000_001, "{outcome}");
    let listed = here.run(&["runs"]).expect_status(0).stdout;
    assert!(listed.contains("backup-drill"), "{listed}");
    // What was only read back is verified; a database that started from it would be more.
    let list: Value = serde_json::from_str(&here.run(&["backup", "list", "--json"]).stdout).unwrap();
    assert_eq!(list[0]["proof"], "verified");
    // Kept, it is what was backed up.
    here.run(&drill(&["--keep", "b1/shop.iob", "b2/shop.iob"])).expect_status(0);
    let kept = names(&here.path("scratch"));
    assert_eq!(kept.len(), 1, "{kept:?}");
    let restored = format!("scratch/{}/restored", kept[0]);
    here.run(&["verify", "shop", &restored]).expect_status(0);
}

#[test]
fn the_newest_whole_set_of_a_source_is_taken_from_directories() {
    let here = Workspace::new();
    shelves(&here);
    scratch(&here);
    for (name, file) in [("a", "orders"), ("b", "orders"), ("c", "stock")] {
        fs::write(here.path(file), content(100_000)).unwrap();
        here.run(&["backup", "create", "--to", &format!("b1/{name}.iob"), file]).expect_status(0);
    }
    let of = |rest: &[&str]| {
        here.run(&drill(&[rest, &["--json", "d.json"]].concat())).expect_status(0);
        here.json("d.json")["backup-drill"]["from"].as_str().unwrap().to_owned()
    };
    assert!(of(&["b1"]).ends_with("c.iob.manifest"));
    assert!(of(&["--source", "orders", "b1"]).ends_with("b.iob.manifest"));
    for (rest, words) in [
        (&["--source", "invoices", "b1"][..], "invoices"),
        (&["b1/a.iob", "b1"], "not both"),
        (&["--source", "orders", "b1/a.iob"], "is a file"),
        (&["b2"], "no whole backup"),
        (&["--check", "true", "b1/a.iob"], "--check"),
        (&["--scratch", "absent", "b1/a.iob"], "absent"),
        (&["--set", "shared_preload_libraries", "b1/a.iob"], "NAME=VALUE"),
    ] {
        let line: Vec<&str> = ["backup", "drill"].into_iter().chain(rest.iter().copied()).collect();
        let ran = here.run(&line).expect_status(2);
        assert!(ran.stderr.contains(words), "{rest:?}: {}", ran.stderr);
        assert_eq!(names(&here.path("scratch")), [""; 0], "{rest:?}");
    }
}

#[test]
fn a_drill_of_a_damaged_set_says_no_and_names_the_place() {
    let here = Workspace::new();
    shelves(&here);
    scratch(&here);
    fs::write(here.path("data"), content(3_000_000)).unwrap();
    here.run(&["backup", "create", "--compress", "none", "--to", "b1/a.iob", "data"]).expect_status(0);
    let mut stripe = fs::read(here.path("b1/a.iob")).unwrap();
    stripe[1_500_000] ^= 1;
    fs::write(here.path("b1/a.iob"), stripe).unwrap();
    let ran = here.run(&drill(&["b1/a.iob"])).expect_status(1);
    assert!(ran.stdout.contains("THE BACKUP IS DAMAGED") && ran.stdout.contains("frame"), "{}", ran.stdout);
    assert_eq!(names(&here.path("scratch")), [""; 0]);
    let list: Value = serde_json::from_str(&here.run(&["backup", "list", "--json"]).stdout).unwrap();
    assert_eq!(list[0]["proof"], "damaged");
}

/// The story: a key that was kept for the restore of the day turned out to be that of another set.
#[test]
fn the_key_of_an_encrypted_set_is_tried_out() {
    let here = Workspace::new();
    shelves(&here);
    scratch(&here);
    fs::write(here.path("data"), content(300_000)).unwrap();
    here.secret("right", "correct horse battery staple\n");
    here.secret("wrong", "Tr0ub4dor&3\n");
    here.run(&["backup", "create", "--to", "b1/a.iob", "--passphrase-file", "right", "data"])
        .expect_status(0);
    let ran = here.run(&drill(&["--passphrase-file", "wrong", "b1/a.iob"])).expect_status(2);
    assert!(ran.stderr.contains("hint: "), "{}", ran.stderr);
    here.run(&drill(&["--passphrase-file", "right", "--json", "d.json", "b1/a.iob"])).expect_status(0);
    let checks = states(&here.json("d.json"));
    assert_eq!(checks[1], ("key".to_owned(), "passed".to_owned()));
}

#[test]
fn a_sqlite_database_is_checked_by_its_own_engine() {
    let here = Workspace::new();
    shelves(&here);
    scratch(&here);
    let shop = here.path("shop.db");
    let run = |statements: &str| Connection::open(&shop).unwrap().execute_batch(statements).unwrap();
    run(include_str!("../sql/drill_sqlite.sql"));
    let source = format!("sqlite:{}", shop.display());
    here.run(&["backup", "create", "--to", "b1/a.iob", &source]).expect_status(0);
    here.run(&drill(&["--json", "d.json", "b1/a.iob"])).expect_status(0);
    let outcome = here.json("d.json");
    assert!(outcome["backup-drill"]["engines"][0].as_str().unwrap().starts_with("SQLite 3."), "{outcome}");
    let list: Value = serde_json::from_str(&here.run(&["backup", "list", "--json"]).stdout).unwrap();
    assert_eq!(list[0]["proof"], "drilled");
    run(include_str!("../sql/drill_orphan.sql"));
    here.run(&["backup", "create", "--to", "b1/b.iob", &source]).expect_status(0);
    let ran = here.run(&drill(&["b1"])).expect_status(1);
    let said = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("row 2 of line has no parent in orders"), "{said}");
}

/// The story: the nightly drill had failed since spring, and the mails about it went to somebody who had left.
#[test]
fn a_backup_without_a_good_drill_is_an_alert_until_there_is_one() {
    let (port, got) = web_server(&["200 OK"]);
    let here = Workspace::new();
    shelves(&here);
    scratch(&here);
    fs::write(here.path("orders"), content(100_000)).unwrap();
    here.run(&["backup", "create", "--to", "b1/a.iob", "orders"]).expect_status(0);
    let text = format!(
        "[[source]]\nurl = \"linux:\"\ninterval = \"1s\"\n\n[channels.one]\nwebhook = \"http://127.0.0.1:{port}/\"\n\
         timeout = \"10m\"\n\n[[rules]]\nname = \"drills\"\nwhen = \"no-drill\"\nbackup = \"orders\"\nfor = \"8d\"\n\
         notify = [\"one\"]\n"
    );
    fs::write(here.path("collector.toml"), text).unwrap();
    let checked = here.run(&["collect", "check", "collector.toml"]).expect_status(0);
    assert!(checked.stdout.contains("no good drill of orders for 192 h"), "{}", checked.stdout);
    let collector = here.start(&["collect", "run", "--config", "collector.toml"]);
    let next = || -> Value { serde_json::from_str(&got.recv_timeout(PATIENCE).unwrap().1).unwrap() };
    let fired = next();
    assert_eq!((&fired["occasion"], &fired["metric"]), (&"firing".into(), &"drill_age_s".into()));
    assert!(
        fired["summary"].as_str().unwrap().ends_with("there never was a good drill of orders"),
        "{fired}"
    );
    here.run(&drill(&["b1"])).expect_status(0);
    let resolved = next();
    assert_eq!((&resolved["occasion"], &resolved["backup"]), (&"resolved".into(), &"orders".into()));
    collector.signal("INT");
    collector.ended().expect_status(0);
}
