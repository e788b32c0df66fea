//! `iostall backup wal receive`, from real servers.

use std::fs;
use std::path::Path;

use serde_json::Value;
use tempfile::TempDir;

use super::server::{Programs, Server, place};
use crate::running::Running;
use crate::support::{Ran, Workspace, until};

/// A server whose log is received by the account of the servers.
pub(super) struct Case<'a> {
    pub(super) programs: &'a Programs,
    pub(super) here: Workspace,
    pub(super) wal: TempDir,
}

impl<'a> Case<'a> {
    pub(super) fn new(programs: &'a Programs) -> Self {
        let here = Workspace::new();
        fs::create_dir(here.path("b")).unwrap();
        Self { programs, here, wal: place() }
    }

    pub(super) fn wal(&self) -> &str {
        self.wal.path().to_str().unwrap()
    }

    pub(super) fn receive(&self, server: &Server<'_>, rest: &[&str]) -> Running {
        let mut command = self.programs.command(&self.programs.iostall());
        command.args(["backup", "wal", "receive", &server.url(), "--to", self.wal()]).args(rest);
        Running::new(&mut command)
    }

    /// Waits until the log is durable in the archive up to where the server is.
    pub(super) fn caught_up(&self, server: &Server<'_>) {
        self.caught_up_in(self.wal(), server);
    }

    pub(super) fn caught_up_in(&self, wal: &str, server: &Server<'_>) {
        let wanted = server.ask("lsn", &[]);
        until("the log in the archive", || {
            let ran = self.here.run(&["backup", "wal", "list", "--json", wal]);
            let list: Value = serde_json::from_str(&ran.stdout).ok()?;
            let newest = list["ranges"].as_array()?.last()?["to_lsn"].as_str()?.to_owned();
            (position(&newest) >= position(&wanted)).then_some(())
        });
    }

    pub(super) fn restored(&self, to: &Path, rest: &[&str]) -> Ran {
        let mut restore = std::process::Command::new(self.programs.iostall());
        restore.current_dir(self.here.path(".")).env("IOSTALL_STORE", self.here.path("store.db"));
        restore.args(["backup", "restore", "b/a.iob", "--to", to.to_str().unwrap(), "--wal", self.wal()]);
        restore.args(rest).output().unwrap().into()
    }
}

fn position(text: &str) -> u64 {
    let (high, low) = text.split_once('/').unwrap();
    u64::from_str_radix(high, 16).unwrap() << 32 | u64::from_str_radix(low, 16).unwrap()
}

pub(super) fn signal(running: Running, signal: &str) -> Ran {
    running.signal(signal);
    running.ended()
}

pub(super) fn plain(programs: &Programs) -> Server<'_> {
    let place = place();
    programs.make(place.path());
    Server::on(programs, place, &["max_wal_size=4MB", "min_wal_size=2MB"]).unwrap()
}

/// The story: the server's disk died ten minutes after the last segment was full, and ten minutes of orders with it.
#[test]
fn the_last_commit_is_in_the_archive_through_kills_and_a_change_of_the_timeline() {
    let Some(programs) = Programs::of(15) else { return };
    let case = Case::new(&programs);
    let server = plain(&programs);
    server.ask("schema", &[]);
    let mut receiver = case.receive(&server, &[]);
    receiver.wait_for("receiving the log from 0/");
    let second = case.receive(&server, &[]).ended().expect_status(2);
    assert!(second.stderr.contains("another iostall receives into"), "{}", second.stderr);
    server.ask("bulk", &[("from", "1"), ("to", "100")]);
    case.here.run(&["backup", "create", "--to", "b/a.iob", &server.url()]).expect_status(0);
    let mut last = 100;
    for round in 0..4 {
        for _ in 0..5 {
            last += 1;
            server.ask("row", &[("number", &last.to_string())]);
        }
        if round == 2 {
            server.ask("switch", &[]);
        }
        // A receiver that was killed goes on, and so does one that was ended.
        signal(receiver, if round % 2 == 0 { "KILL" } else { "INT" });
        receiver = case.receive(&server, &[]);
    }
    last += 1;
    server.ask("row", &[("number", &last.to_string())]);
    case.caught_up(&server);
    let ended = signal(receiver, "INT").expect_status(0);
    assert!(ended.stderr.contains("durable up to 0/"), "{}", ended.stderr);
    let listed =
        case.here.run(&["backup", "wal", "list", "--check", "--json", case.wal(), "b"]).expect_status(0);
    let listed: Value = serde_json::from_str(&listed.stdout).unwrap();
    assert_eq!(listed["sets"][0]["reaches"][0]["gap"], Value::Null, "{listed}");
    // The server is gone for good.
    drop(server);
    let place = place();
    case.restored(&place.path().join("data"), &["--until", "latest"]).expect_status(0);
    let copy = Server::on(&programs, place, &[]).unwrap_or_else(|log| panic!("{log}"));
    until("the end of recovery", || (copy.ask("recovering", &[]) == "f").then_some(()));
    assert_eq!(copy.ask("count", &[]), last.to_string(), "the last commit is there");
    // Its log goes on in the same archive, on the new timeline.
    let mut receiver = case.receive(&copy, &[]);
    receiver.wait_for("the server began timeline 2");
    copy.ask("row", &[("number", "5000")]);
    copy.ask("switch", &[]);
    copy.ask("row", &[("number", "5001")]);
    case.caught_up(&copy);
    signal(receiver, "INT").expect_status(0);
    assert!(case.wal.path().join("00000002.history.iow").exists());
    let ran = case.receive(&copy, &["--drop-slot"]).ended().expect_status(0);
    assert_eq!(ran.stdout, "");
    drop(copy);
    let place = super::server::place();
    case.restored(&place.path().join("data"), &["--until", "latest"]).expect_status(0);
    let copy = Server::on(&programs, place, &[]).unwrap_or_else(|log| panic!("{log}"));
    until("the end of recovery", || (copy.ask("recovering", &[]) == "f").then_some(()));
    assert_eq!(copy.ask("last", &[]), "5001");
    assert_eq!(copy.ask("count", &[]), (last + 2).to_string());
}

/// The story: the slot had been dropped by hand, and the archive had a hole that nobody knew of.
#[test]
fn a_gap_is_an_error_that_says_what_is_lost_and_goes_on_only_when_it_is_told_to() {
    let Some(programs) = Programs::of(15) else { return };
    let case = Case::new(&programs);
    let server = plain(&programs);
    server.ask("schema", &[]);
    let mut receiver = case.receive(&server, &[]);
    receiver.wait_for("receiving the log from 0/");
    server.ask("switch", &[]);
    case.caught_up(&server);
    signal(receiver, "INT").expect_status(0);
    case.receive(&server, &["--drop-slot"]).ended().expect_status(0);
    for number in 0..12 {
        server.ask("bulk", &[("from", &format!("{number}001")), ("to", &format!("{number}900"))]);
        server.ask("switch", &[]);
        server.ask("checkpoint", &[]);
    }
    let refused = case.receive(&server, &[]).ended().expect_status(2);
    assert!(
        refused.stderr.contains("is lost to the archive: the server has removed it"),
        "{}",
        refused.stderr
    );
    assert!(refused.stderr.contains("--after-gap"), "{}", refused.stderr);
    let mut receiver = case.receive(&server, &["--after-gap"]);
    receiver.wait_for("receiving the log from 0/");
    server.ask("switch", &[]);
    case.caught_up(&server);
    signal(receiver, "INT").expect_status(0);
    let list = case.here.run(&["backup", "wal", "list", "--json", case.wal()]).expect_status(1);
    let list: Value = serde_json::from_str(&list.stdout).unwrap();
    assert_eq!(list["gaps"].as_array().unwrap().len(), 1, "{list}");
}
