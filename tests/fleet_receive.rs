//! What a centre takes from a relay, and what it does not.

use rusqlite::Connection;
use serde_json::{Value, json};

use crate::fleet_centre::assert_refused;
use crate::fleet_relay::Relay;
use crate::fleet_runs::measure;
use crate::support::{Workspace, until};

/// A clock was ten years ahead when a sample was taken: the same file was put into the relay with each `send`, for ten years.
#[test]
fn a_sample_from_the_future_is_sent_once() {
    let Some(relay) = Relay::start() else { return };
    let server = relay.member("db1");
    relay.send(&server).expect_status(0);
    relay.receive().expect_status(0);
    server.run(&["collect", "once", "linux:"]).expect_status(0);
    let store = Connection::open(server.path("store.db")).unwrap();
    store.execute(include_str!("sql/samples_from_the_future.sql"), []).unwrap();
    assert!(relay.send(&server).expect_status(0).stdout.contains("1 sample"));
    let ran = relay.receive().expect_status(0);
    assert!(ran.stderr.contains("is from the future"), "{}", ran.stderr);
    for _ in 0..3 {
        server.run(&["collect", "once", "linux:"]).expect_status(0);
        let ran = relay.send(&server).expect_status(0);
        assert!(
            ran.stderr.contains("linux: is not sent: what it has next is from the future"),
            "{}",
            ran.stderr
        );
        assert_eq!(relay.files(".batch").len(), 0, "nothing is sent again");
        let ran = relay.receive().expect_status(0);
        assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("", ""), "nothing new is said");
    }
    // Runs and a source anew are not held up.
    measure(&server, "run");
    server.run(&["store", "remove", "linux:"]).expect_status(0);
    server.run(&["collect", "once", "linux:"]).expect_status(0);
    assert_eq!(relay.send(&server).expect_status(0).stdout, "linux:: 1 sample\n1 run\n");
    assert_eq!(relay.receive().expect_status(0).stdout, "db1: 1 file\n");
}

#[test]
fn what_is_taken_is_said_as_json_and_as_it_comes() {
    let Some(relay) = Relay::start() else { return };
    let server = relay.member("db1");
    relay.send(&server).expect_status(0);
    let url = relay.centre.url.clone();
    let receive = ["fleet", "receive", &url, &relay.address];
    let taken = relay.centre.here.run(&[&receive[..], &["--json"]].concat()).expect_status(0).stdout;
    let taken: Value = serde_json::from_str(&taken).unwrap();
    assert_eq!(taken, json!({"joined": ["db1"], "servers": [{"name": "db1", "files": 1}], "refused": []}));
    let mut following = relay.centre.here.start(&[&receive[..], &["--follow", "--every", "200ms"]].concat());
    for _ in 0..2 {
        server.run(&["collect", "once", "linux:"]).expect_status(0);
        relay.send(&server).expect_status(0);
        until("the file is taken", || {
            relay.send(&server).expect_status(0);
            relay.files(".batch").is_empty().then_some(())
        });
    }
    std::fs::rename(&relay.directory, relay.centre.here.path("away")).unwrap();
    following.wait_for("nothing is taken now, and it is tried again");
    std::fs::rename(relay.centre.here.path("away"), &relay.directory).unwrap();
    following.wait_for("taking files again");
    following.signal("INT");
    assert!(following.ended().expect_status(0).stdout.contains("db1: 1 file"));
    relay.assert_same(&server, 1);
}

#[test]
fn a_file_with_a_code_that_is_not_there_is_said_with_what_to_do() {
    let server = Workspace::new();
    for address in ["https://127.0.0.1:1", "dir:/nowhere"] {
        let join = ["fleet", "join", address, "--code-file", "code"];
        assert_refused(
            server.run(&join),
            &["cannot read the file of the code", "iostall fleet code", "mode 600"],
        );
    }
}
