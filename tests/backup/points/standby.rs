//! `iostall backup wal receive` where something fails around it: commits that wait for it, full disks, and restarts of the server.

use std::fs::{self, File};
use std::io;

use serde_json::Value;

use super::receive::{Case, plain, signal};
use super::server::{Programs, Server, place};
use crate::copy_media::Volume;
use crate::support::until;

const SETTINGS: [&str; 2] = ["max_wal_size=4MB", "min_wal_size=2MB"];

/// The story: the shop had answered that the order was placed, and after the fire it was in no archive.
#[test]
fn a_commit_that_waits_for_the_archive_is_in_it_whatever_is_killed_then() {
    let Some(programs) = Programs::of(15) else { return };
    let case = Case::new(&programs);
    let mut server = plain(&programs);
    server.ask("schema", &[]);
    let mut receiver = case.receive(&server, &[]);
    receiver.wait_for("receiving the log from 0/");
    case.here.run(&["backup", "create", "--to", "b/a.iob", &server.url()]).expect_status(0);
    let mut last = 0;
    for round in 0..3 {
        server.ask("wait_for_archive", &[]);
        server.ask("reload", &[]);
        until("a synchronous receiver", || (server.ask("synchronous", &[]) == "1").then_some(()));
        for _ in 0..5 {
            last += 1;
            server.ask("row", &[("number", &last.to_string())]);
        }
        if round == 1 {
            waits(&server, &receiver, last + 1);
            last += 1;
        }
        receiver.signal("KILL");
        let kept = server.killed();
        receiver.ended();
        let place = place();
        case.restored(&place.path().join("data"), &["--until", "latest"]).expect_status(0);
        let settings = ["synchronous_standby_names=", "archive_mode=off"];
        let copy = Server::on(&programs, place, &settings).unwrap_or_else(|log| panic!("{log}"));
        until("the end of recovery", || (copy.ask("recovering", &[]) == "f").then_some(()));
        assert_eq!(copy.ask("count", &[]), last.to_string(), "every commit that was answered is there");
        drop(copy);
        server = Server::on(&programs, kept, &SETTINGS).unwrap_or_else(|log| panic!("{log}"));
        receiver = case.receive(&server, &[]);
        receiver.wait_for("receiving the log from 0/");
    }
    signal(receiver, "INT").expect_status(0);
}

/// A commit is not answered while the receiver stands still.
fn waits(server: &Server<'_>, receiver: &crate::running::Running, number: u64) {
    receiver.signal("STOP");
    std::thread::scope(|scope| {
        let commit = scope.spawn(|| server.ask("row", &[("number", &number.to_string())]));
        until("a commit that waits", || (server.ask("waiting", &[]) == "1").then_some(()));
        assert!(!commit.is_finished());
        receiver.signal("CONT");
        commit.join().unwrap();
    });
}

/// The story: the archive's disk was full at two, the receiver ended, and the slot filled the server's disk by six.
#[test]
fn on_a_full_disk_it_keeps_what_it_has_says_so_and_goes_on_when_there_is_room() {
    let Some(programs) = Programs::of(15) else { return };
    let case = Case::new(&programs);
    let Some(volume) = Volume::new(&case.here, "ext4", 512, 24) else { return };
    let server = plain(&programs);
    server.ask("schema", &[]);
    let wal = volume.mounted_at.join("wal");
    fs::create_dir(&wal).unwrap();
    let wal = wal.to_str().unwrap();
    let url = server.url();
    let mut receiver =
        case.here.start(&["backup", "wal", "receive", &url, "--to", wal, "--compress", "none"]);
    receiver.wait_for("receiving the log from 0/");
    case.here.run(&["backup", "create", "--to", "b/a.iob", &url]).expect_status(0);
    server.ask("bulk", &[("from", "1"), ("to", "100")]);
    case.caught_up_in(wal, &server);
    for full in 1..=2_u64 {
        let filler = volume.mounted_at.join("filler");
        let ended = io::copy(&mut io::repeat(7), &mut File::create(&filler).unwrap());
        assert_eq!(ended.unwrap_err().kind(), io::ErrorKind::StorageFull);
        // More than what is left of the segment that is being received.
        server.ask("bulk", &[("from", &format!("{full}001")), ("to", &format!("{full}900"))]);
        receiver.wait_for("no room left; the archive is durable up to 0/");
        assert!(!receiver.has_ended());
        let list = case.here.run(&["backup", "wal", "list", "--json", wal, "b"]);
        let list: Value = serde_json::from_str(&list.stdout).unwrap();
        assert_eq!(list["damaged"].as_array().map(Vec::len), Some(0), "{list}");
        fs::remove_file(&filler).unwrap();
        case.caught_up_in(wal, &server);
    }
    let ended = signal(receiver, "INT").expect_status(0);
    assert!(ended.stderr.contains("durable up to 0/"), "{}", ended.stderr);
    let list = case.here.run(&["backup", "wal", "list", "--check", "--json", wal, "b"]).expect_status(0);
    let list: Value = serde_json::from_str(&list.stdout).unwrap();
    assert_eq!(list["sets"][0]["reaches"][0]["gap"], Value::Null, "{list}");
}

/// The story: the server was restarted for an update, and its receiver had ended with it.
#[test]
fn it_is_there_again_after_a_restart_of_the_server() {
    let Some(programs) = Programs::of(15) else { return };
    let case = Case::new(&programs);
    let server = plain(&programs);
    server.ask("schema", &[]);
    let mut receiver = case.receive(&server, &[]);
    receiver.wait_for("receiving the log from 0/");
    server.ask("bulk", &[("from", "1"), ("to", "100")]);
    let server = server.restarted(&SETTINGS, || {
        receiver.wait_for("trying again in");
    });
    server.ask("row", &[("number", "101")]);
    case.caught_up(&server);
    assert!(!receiver.has_ended());
    signal(receiver, "INT").expect_status(0);
    let list = case.here.run(&["backup", "wal", "list", "--check", "--json", case.wal()]).expect_status(0);
    let list: Value = serde_json::from_str(&list.stdout).unwrap();
    assert_eq!(list["gaps"].as_array().map(Vec::len), Some(0), "{list}");
}
