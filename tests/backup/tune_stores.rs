//! `iostall backup tune` with stores at the other end of a network.

use std::fs;

use serde_json::Value;

use super::attacks::words_of;
use super::azurite::Azure;
use super::moto::Store;
use super::store_contract::{self, TestStore};
use super::store_proxy::Proxy;
use crate::copy::content;
use crate::running::Running;
use crate::support::{Ran, Workspace, until};

const TUNE: [&str; 6] = ["backup", "tune", "--budget", "20s", "--json", "t.json"];
/// Everything, so that nothing is searched.
const ALL: [&str; 8] = ["--compress", "none", "--frame", "1M", "--transfer", "4M", "--buffers", "22"];

fn words(tuned: &Value) -> Vec<&str> {
    tuned["command"].as_array().unwrap().iter().map(|word| word.as_str().unwrap()).collect()
}

/// The story: a backup to a bucket took the night, and nobody could say whether the disk, the CPU or the line was at fault: `tune` took
/// files only.
#[test]
fn a_slow_network_is_named_as_the_limit_and_nothing_stays_in_the_store() {
    let here = Workspace::new();
    let Some(store) = Store::start(&here) else { return };
    fs::write(here.path("data"), content(40_000_000)).unwrap();
    let proxy = Proxy::slow(store.port, 20 << 20);
    let through = |words: &[&str]| {
        let mut command = here.command(words);
        Store::address(&mut command, proxy.port);
        Ran::from(command.output().unwrap()).expect_status(0)
    };
    let ran = through(&[&TUNE[..], &ALL, &["--to", "s3://backups/t/a.iob", "data"]].concat());
    assert!(ran.stderr.contains("in uploads that are never completed"), "{}", ran.stderr);
    assert!(ran.stdout.contains("the network limits"), "{}", ran.stdout);
    assert!(ran.stdout.contains("sent through the network"), "{}", ran.stdout);
    let tuned = here.json("t.json")["backup-tune"].take();
    assert_eq!(tuned["limit"], "network", "{tuned}");
    let rate = tuned["alone"].as_array().unwrap().last().unwrap()["bytes_per_s"].as_f64().unwrap();
    assert!(rate < f64::from(30 << 20), "{tuned}");
    assert_eq!((store.names(), store.uploads()), (Vec::new(), 0));

    // The line that is printed works as it stands.
    let line = words(&tuned);
    through(&[&line[1..], &["--no-store"]].concat());
    fs::create_dir(here.path("srv")).unwrap();
    let restore = ["backup", "restore", "tune", "s3://backups/t/a.iob", "--to", "srv", "--budget", "20s"];
    let ran = through(
        &[&restore[..], &["--json", "r.json", "--depth", "8", "--transfer", "4M", "--workers", "1"]].concat(),
    );
    assert_eq!(here.json("r.json")["backup-tune"]["limit"], "network", "{}", ran.stdout);
    assert_eq!(fs::read_dir(here.path("srv")).unwrap().count(), 0);
}

#[test]
#[ignore = "runs at length: tests/long.md"]
fn settings_are_searched_with_two_blobs_of_azure_and_nothing_stays_there() {
    let here = Workspace::new();
    let Some(store) = Azure::start(&here) else { return };
    fs::write(here.path("data"), content(8_000_000)).unwrap();
    let to = ["--to", "az://backups/t/a.iob", "--to", "az://backups/t/b.iob"];
    let ran = store.run(&here, &[&TUNE[..], &to, &["data"]].concat()).expect_status(0);
    let tuned = here.json("t.json")["backup-tune"].take();
    let parts: Vec<&str> =
        tuned["alone"].as_array().unwrap().iter().map(|one| one["part"].as_str().unwrap()).collect();
    assert_eq!(parts, ["source", "cpu", "cpu", "cpu", "cpu", "target", "target", "targets"]);
    assert_eq!((store.names(), store.begun()), (Vec::new(), Vec::new()), "{}", words_of(&ran));
    store.run(&here, &words(&tuned)[1..]).expect_status(0);
    assert!(store.names().contains(&"t/a.iob.manifest".to_owned()) || words_of(&ran).contains("b.iob"));
}

/// Parts of trials would be paid for, and nobody would see them.
#[test]
fn a_search_that_is_stopped_or_killed_leaves_nothing_that_prune_does_not_find() {
    let here = Workspace::new();
    let Some(store) = Store::start(&here) else { return };
    fs::write(here.path("data"), content(40_000_000)).unwrap();
    let proxy = Proxy::slow(store.port, 20 << 20);
    let start = || {
        let line = ["backup", "tune", "--budget", "1h", "--compress", "none", "--to", "s3://backups/t/a.iob"];
        let mut command = here.command(&[&line[..], &["--json", "t.json", "data"]].concat());
        Store::address(&mut command, proxy.port);
        let running = Running::new(&mut command);
        until("a trial that is uploaded", || (store.uploads() > 0).then_some(()));
        running
    };
    let running = start();
    running.signal("INT");
    let ran = running.ended().expect_status(130);
    assert!(ran.stdout.contains("INTERRUPTED"), "{}", ran.stdout);
    assert_eq!((store.names(), store.uploads()), (Vec::new(), 0));

    let running = start();
    running.signal("KILL");
    running.ended();
    let listed = store.run(&here, &["backup", "list", "s3://backups/t"]).expect_status(0);
    let left = store.uploads();
    assert!(left == 0 || listed.stdout.contains("with "), "{left}: {}", words_of(&listed));
    let prune = ["backup", "prune", "--keep-last", "1", "--abandoned-after", "0", "s3://backups/t"];
    let pruned = store.run(&here, &prune).expect_status(0);
    assert_eq!((store.names(), store.uploads()), (Vec::new(), 0), "{}", words_of(&pruned));
}

#[test]
#[ignore = "runs at length: tests/long.md"]
fn a_search_in_azure_that_is_stopped_leaves_nothing() {
    let here = Workspace::new();
    let Some(store) = Azure::start(&here) else { return };
    store_contract::a_search_that_is_stopped_leaves_nothing(&here, &store);
}
