//! A directory or a bucket between servers and the centre of a fleet.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use crate::backup::moto::Store;
use crate::copy_crash::draw;
use crate::fleet_centre::{Centre, assert_refused};
use crate::fleet_kills::{assert_same, assert_same_history, kills};
use crate::fleet_notes::note;
use crate::fleet_runs::measure;
use crate::support::{Ran, Workspace, pause};

/// A centre, and a directory between it and its servers.
pub(crate) struct Relay {
    pub(crate) centre: Centre,
    pub(crate) directory: PathBuf,
    pub(crate) address: String,
}

impl Relay {
    pub(crate) fn start() -> Option<Self> {
        let centre = Centre::start()?;
        let directory = centre.here.path("relay");
        fs::create_dir(&directory).unwrap();
        let address = format!("dir:{}", directory.display());
        Some(Self { centre, directory, address })
    }

    pub(crate) fn join(&self, server: &Workspace, code: &str) -> Ran {
        let file = server.secret("code", code);
        server.run(&["fleet", "join", &self.address, "--code-file", file.to_str().unwrap()])
    }

    pub(crate) fn send(&self, server: &Workspace) -> Ran {
        server.run(&["fleet", "send", &self.address])
    }

    pub(crate) fn receive(&self) -> Ran {
        self.centre.here.run(&["fleet", "receive", &self.centre.url, &self.address])
    }

    /// A server that has joined and sampled.
    pub(crate) fn member(&self, name: &str) -> Workspace {
        let server = Workspace::new();
        self.join(&server, &self.centre.code(&["--for", name])).expect_status(0);
        server.run(&["collect", "once", "linux:"]).expect_status(0);
        server
    }

    /// Names of files that end so, in order.
    pub(crate) fn files(&self, end: &str) -> Vec<String> {
        let all = fs::read_dir(&self.directory).unwrap().map(|entry| entry.unwrap().file_name());
        let mut names: Vec<String> =
            all.map(|name| name.into_string().unwrap()).filter(|name| name.ends_with(end)).collect();
        names.sort();
        names
    }

    /// Notes and settings come when the centre has said for the first time what it takes.
    pub(crate) fn assert_same_history(&self, server: &Workspace, number: u64) {
        assert_same_history(&self.centre, server, &self.centre.here.path("word"), number);
    }

    pub(crate) fn assert_same(&self, server: &Workspace, number: u64) {
        assert_same(&self.centre, server, &self.centre.here.path("word"), number);
    }
}

#[test]
fn history_and_runs_come_through_a_directory_and_what_is_confirmed_is_deleted_there() {
    let Some(relay) = Relay::start() else { return };
    let server = relay.member("db1");
    measure(&server, "one");
    let ran = relay.send(&server).expect_status(0);
    assert_eq!(ran.stdout, "linux:: 1 sample\n1 run\n");
    assert_eq!((relay.files(".join").len(), relay.files(".batch").len()), (1, 1));
    // On its way, it is not sent again.
    assert_eq!(relay.send(&server).expect_status(0).stdout, "linux:: 0 samples\n");
    let ran = relay.receive().expect_status(0);
    assert_eq!(ran.stdout, "db1 has joined\ndb1: 1 file\n");
    relay.assert_same_history(&server, 1);
    // The server deletes what the centre has confirmed, and not before.
    assert_eq!((relay.files(".join").len(), relay.files(".batch").len()), (0, 1));
    assert_eq!(relay.receive().expect_status(0).stdout, "", "nothing is taken twice");
    assert_eq!(relay.files(".confirmed").len(), 1, "nothing is said twice");
    server.run(&["collect", "once", "linux:"]).expect_status(0);
    assert_eq!(relay.send(&server).expect_status(0).stdout, "linux:: 1 sample\n");
    let left = relay.files(".batch");
    assert!(left.len() == 1 && left[0].contains(".00000000000000000002."), "{left:?}");
    assert_eq!(relay.receive().expect_status(0).stdout, "db1: 1 file\n");
    relay.assert_same(&server, 2);
    let listed = relay.centre.here.run(&["fleet", "servers", &relay.centre.url, "--json"]).expect_status(0);
    let listed: Value = serde_json::from_str(&listed.stdout).unwrap();
    assert_eq!(
        (&listed[0]["name"], &listed[0]["version"]),
        (&"db1".into(), &env!("CARGO_PKG_VERSION").into())
    );
}

#[test]
fn files_that_are_lost_forged_or_shuffled_do_no_harm() {
    let Some(relay) = Relay::start() else { return };
    let (server, other) = (relay.member("db1"), relay.member("db2"));
    for one in [&server, &other] {
        relay.send(one).expect_status(0);
    }
    relay.receive().expect_status(0);
    let sent = |server: &Workspace| {
        server.run(&["collect", "once", "linux:"]).expect_status(0);
        relay.send(server).expect_status(0);
    };
    let before = relay.files(".batch");
    sent(&server);
    let first = relay.files(".batch").into_iter().find(|name| !before.contains(name)).unwrap();
    sent(&server);
    // One is lost on its way: what follows it is not taken, and both are sent again.
    let lost = fs::read(relay.directory.join(&first)).unwrap();
    fs::remove_file(relay.directory.join(&first)).unwrap();
    relay.receive().expect_status(0);
    let ran = relay.send(&server).expect_status(0);
    assert_eq!(ran.stdout, "linux:: 2 samples\n");
    // It comes after all, once more under its name, under another's, and changed.
    fs::write(relay.directory.join(&first), &lost).unwrap();
    let store = |name: &str| name.split('.').next().unwrap().to_owned();
    let stores: Vec<String> = relay.files(".confirmed").iter().map(|name| store(name)).collect();
    let stranger = "00000000-6a3b-4d7e-8e36-0a4a1c6d1f11".to_owned();
    for (number, store) in (90..).zip(stores.iter().chain([&stranger])) {
        fs::write(relay.directory.join(format!("{store}.{number:020}.batch")), &lost).unwrap();
        fs::write(relay.directory.join(format!("{store}.{number:020}.join")), &lost).unwrap();
        fs::write(relay.directory.join(format!("{store}.{number:020}.confirmed")), &lost).unwrap();
    }
    let mut changed = lost.clone();
    changed[100] ^= 1;
    fs::write(relay.directory.join(format!("{}.{:020}.batch", stores[0], u64::MAX)), &changed).unwrap();
    fs::write(relay.directory.join("notes.txt"), "not ours").unwrap();
    let ran = relay.receive().expect_status(0);
    for words in ["is none of its files", "it wants to join with a code that the centre has not made"] {
        assert!(ran.stderr.contains(words), "{words}: {}", ran.stderr);
    }
    for one in [&server, &other] {
        relay.send(one).expect_status(0);
        relay.receive().expect_status(0);
    }
    assert!(relay.directory.join("notes.txt").exists());
    sent(&server);
    sent(&other);
    relay.receive().expect_status(0);
    let counts = relay.centre.counts();
    assert!(counts.starts_with("2|2|6|"), "servers, sources, samples, rows: {counts}");
}

#[test]
fn a_centre_that_is_restored_hears_again_what_it_lacks_and_a_revoked_server_is_not_heard() {
    let Some(relay) = Relay::start() else { return };
    let server = relay.member("db1");
    relay.send(&server).expect_status(0);
    relay.receive().expect_status(0);
    let centre = &relay.centre;
    let dump = centre.server.data().with_file_name("dump");
    let dump = dump.to_str().unwrap();
    centre.server.passes("pg_dump", &["-Fc", "-n", "iostall", "-f", dump]);
    for name in ["one", "two"] {
        server.run(&["collect", "once", "linux:"]).expect_status(0);
        measure(&server, name);
        relay.send(&server).expect_status(0);
        relay.receive().expect_status(0);
    }
    relay.send(&server).expect_status(0);
    assert_eq!(relay.files(".batch").len(), 0, "all is confirmed and deleted");
    centre.server.sql("DROP SCHEMA iostall CASCADE");
    centre.server.passes("pg_restore", &[dump]);
    server.run(&["collect", "once", "linux:"]).expect_status(0);
    relay.send(&server).expect_status(0);
    relay.receive().expect_status(0);
    let ran = relay.send(&server).expect_status(0);
    assert_eq!(ran.stdout, "linux:: 3 samples\n2 runs\n");
    relay.receive().expect_status(0);
    relay.assert_same(&server, 1);
    centre.here.run(&["fleet", "revoke", &centre.url, "db1"]).expect_status(0);
    let before = centre.counts();
    server.run(&["collect", "once", "linux:"]).expect_status(0);
    relay.send(&server).expect_status(0);
    assert!(relay.receive().expect_status(0).stderr.contains("refused db1: this server is revoked"));
    assert_eq!(centre.counts(), before);
}

#[test]
fn what_is_wrong_with_a_relay_is_said_with_what_to_do() {
    let Some(relay) = Relay::start() else { return };
    let server = Workspace::new();
    server.run(&["collect", "once", "linux:"]).expect_status(0);
    assert_refused(relay.send(&server), &["has not joined through dir:", "iostall fleet join"]);
    assert_refused(server.run(&["fleet", "send", "dir:relay"]), &["no address of a relay", "dir:/DIRECTORY"]);
    let file = server.secret("code", "0000-1111-2222-3333-4444-5555-6666-7777");
    let join = ["fleet", "join", &relay.address, "--code-file", file.to_str().unwrap()];
    assert_refused(
        server.run(&[&join[..], &["--certificate", "sha256:0"]].concat()),
        &["a certificate is for centres", "leave out --certificate"],
    );
    server.run(&join).expect_status(0);
    relay.send(&server).expect_status(0);
    let ran = relay.receive().expect_status(0);
    assert!(ran.stderr.contains("a code that the centre has not made"), "{}", ran.stderr);
    assert_eq!((relay.files(".batch").len(), relay.files(".confirmed").len()), (1, 0), "nothing is deleted");
    // With the right code it is heard, with what it had put there before.
    relay.join(&server, &relay.centre.code(&["--for", "db1"])).expect_status(0);
    relay.send(&server).expect_status(0);
    relay.receive().expect_status(0);
    relay.assert_same_history(&server, 1);
    fs::rename(&relay.directory, relay.centre.here.path("elsewhere")).unwrap();
    assert_refused(relay.send(&server), &["cannot list the relay dir:", "mounted"]);
    assert_refused(relay.receive(), &["cannot list the relay dir:"]);
}

#[test]
fn kills_of_senders_and_receivers_lose_nothing_and_store_nothing_twice() {
    let Some(relay) = Relay::start() else { return };
    let server = relay.member("db1");
    relay.send(&server).expect_status(0);
    relay.receive().expect_status(0);
    let sampling = server.start(&["collect", "run", "--interval", "1s", "linux:"]);
    let mut state = 21;
    for kill in 0..2 * kills() {
        measure(&server, &format!("run {kill}"));
        note(&server, &[&format!("note {kill}")]);
        let mut running = if kill % 2 == 0 {
            server.start(&["fleet", "send", &relay.address])
        } else {
            relay.centre.here.start(&["fleet", "receive", &relay.centre.url, &relay.address])
        };
        pause(draw(&mut state, 120));
        if !running.has_ended() {
            running.signal("KILL");
        }
        running.wait_until_ended();
    }
    sampling.signal("INT");
    sampling.ended().expect_status(0);
    for _ in 0..2 {
        relay.send(&server).expect_status(0);
        relay.receive().expect_status(0);
    }
    relay.assert_same(&server, 1);
}

#[test]
fn history_comes_through_a_bucket() {
    let Some(centre) = Centre::start() else { return };
    let Some(store) = Store::start(&centre.here) else { return };
    let address = "s3://backups/fleet/of tests";
    let server = Workspace::new();
    let run = |here: &Workspace, words: &[&str]| store.run(here, words).expect_status(0).stdout;
    let file = server.secret("code", &centre.code(&["--for", "db1"]));
    run(&server, &["fleet", "join", address, "--code-file", file.to_str().unwrap()]);
    for number in 1..3 {
        run(&server, &["collect", "once", "linux:"]);
        measure(&server, "run");
        assert_eq!(run(&server, &["fleet", "send", address]), "linux:: 1 sample\n1 run\n");
        let taken = run(&centre.here, &["fleet", "receive", &centre.url, address]);
        assert!(taken.ends_with("db1: 1 file\n"), "{taken}");
        assert_eq!(run(&centre.here, &["fleet", "receive", &centre.url, address]), "");
        assert_same_history(&centre, &server, &centre.here.path("word"), number);
    }
    assert_eq!(run(&server, &["fleet", "send", address]), "linux:: 0 samples\n");
    let names = store.names();
    assert!(names.iter().all(|name| name.ends_with(".confirmed")), "{names:?}");
}
