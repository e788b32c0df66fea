//! `iostall drive powerfail`: drives that lie about flushes, and one that does not, behind a real block device whose power is cut.

use std::collections::BTreeSet;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use crate::rig::{Medium, Personality, Rig};
use crate::running::Running;
use crate::support::{Workspace, at_length, skip, unmount, until};

const DRIVE_BYTES: u64 = 2 << 20;

/// A witness of the program's own, and where it listens.
fn witness(here: &Workspace, log: &str) -> (Running, String) {
    let mut running = here.start(&["drive", "powerfail", "witness", "--listen", "127.0.0.1:0", "--log", log]);
    let line = running.wait_for("listens on");
    let address = line.rsplit(' ').next().unwrap().to_owned();
    (running, address)
}

/// Cuts the power of drives of a personality, and collects what the checks find.
struct Cuts {
    here: Workspace,
    witness: Option<(Running, String)>,
    method: &'static str,
}

impl Cuts {
    fn new(method: &'static str) -> Self {
        let here = Workspace::new();
        let witness = Some(witness(&here, "w.log"));
        Self { here, witness, method }
    }

    /// `None` where there is no rig.
    fn of(&self, personality: Personality, count: u64) -> Option<Vec<Value>> {
        let medium = Medium::new(personality, DRIVE_BYTES, 11);
        let rig = Rig::new(&self.here, "drives whose power is cut", medium, None)?;
        Some(self.on(&rig, count))
    }

    fn on(&self, rig: &Rig, count: u64) -> Vec<Value> {
        let (device, address) = (rig.name(), &self.witness.as_ref().unwrap().1);
        let mut reports = Vec::new();
        for number in 0..count {
            rig.medium().cut_after(150 + number * 37 % 101);
            let write = ["drive", "powerfail", "write", "--witness", address, "--size", "1M"];
            let more = ["--method", self.method, "--overwrite", device, device];
            let ended = self.here.run(&[&write[..], &more].concat()).expect_status(2);
            assert!(ended.stderr.contains("acknowledged writes"), "{}", ended.stderr);
            rig.medium().power_on();
            let check =
                ["drive", "powerfail", "check", device, "--witness-log", "w.log", "--cuts", "all.cuts"];
            let checked = self.here.run(&[&check[..], &["--json", "o.json"]].concat());
            let report = self.here.json("o.json");
            let lost = report["cut"]["lost_writes"].as_u64().unwrap();
            assert_eq!(checked.status, Some(i32::from(lost > 0)), "{}", checked.stderr);
            assert!(report["cut"]["acknowledged_writes"].as_u64().unwrap() > 20);
            reports.push(report);
        }
        reports
    }

    /// All findings of `count` cuts.
    fn findings(&self, personality: Personality, count: u64) -> Option<BTreeSet<String>> {
        let reports = self.of(personality, count)?;
        let findings = reports.iter().flat_map(|report| report["findings"].as_array().unwrap());
        Some(findings.map(|finding| finding.as_str().unwrap().to_owned()).collect())
    }
}

fn named(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// Cuts: the number that a drive must be found in is 50, and an honest one must not be accused in 500.
fn few(short: u64, long: u64) -> u64 {
    if at_length() { long } else { short }
}

/// "Two out of the four drives lost data after they had flushed it", and nothing said which.
#[test]
fn a_drive_that_ignores_flushes_is_named_for_that() {
    let cuts = Cuts::new("fdatasync");
    let Some(findings) = cuts.findings(Personality::IgnoresFlush, few(3, 50)) else { return };
    assert!(findings.contains("lost") && findings.contains("flush_ignored"), "{findings:?}");
    assert!(findings.is_disjoint(&named(&["flush_partial", "torn"])), "{findings:?}");
    let check = ["drive", "powerfail", "check", "all.cuts", "--witness-log", "w.log"];
    // Another file than the one that was written: everything is lost.
    let text = cuts.here.run(&check).expect_status(1).stdout;
    for word in ["LOST", "fdatasync", "loses what it acknowledged"] {
        assert!(text.contains(word), "{word}: {text}");
    }
}

#[test]
fn a_drive_that_flushes_a_part_is_named_for_that() {
    let cuts = Cuts::new("fsync");
    let Some(findings) = cuts.findings(Personality::FlushesPartly, few(6, 50)) else { return };
    assert!(findings.contains("lost") && findings.contains("flush_partial"), "{findings:?}");
}

#[test]
fn a_drive_that_reorders_across_flushes_is_named_for_that() {
    let cuts = Cuts::new("fdatasync");
    let Some(findings) = cuts.findings(Personality::Reorders, few(4, 50)) else { return };
    assert!(findings.contains("lost") && findings.contains("reordered"), "{findings:?}");
}

#[test]
fn a_torn_write_is_named_with_its_granularity_and_is_no_loss() {
    for bytes in [512, 4096] {
        let cuts = Cuts::new("fdatasync");
        let Some(reports) = cuts.of(Personality::Tears(bytes), few(6, 50)) else { return };
        let torn = reports.iter().filter_map(|report| report["cut"]["torn_bytes"].as_u64()).min();
        assert_eq!(torn, Some(bytes as u64));
        assert!(reports.iter().all(|report| report["cut"]["lost_writes"] == 0));
    }
}

#[test]
fn an_honest_drive_is_never_accused_and_the_cuts_add_up() {
    let cuts = Cuts::new("rwf_dsync");
    let count = few(6, 500);
    let Some(reports) = cuts.of(Personality::Honest, count) else { return };
    assert!(reports.iter().all(|report| report["findings"].as_array().unwrap().is_empty()));
    let verdict = &reports.last().unwrap()["verdicts"][0];
    assert_eq!((verdict["primitive"].as_str(), verdict["cuts"].as_u64()), (Some("rwf_dsync"), Some(count)));
    let most = verdict["loss_share_max"].as_f64().unwrap();
    assert!((most - (1.0 - 0.05_f64.powf(1.0 / count as f64))).abs() < 1e-9, "{most}");
    assert_eq!(verdict["cuts_wanted"], 299);
    // A loop device takes no FUA.
    assert_eq!(verdict["is_not_passed"], true);
}

/// A drive's data sheet said that pages are written whole.
#[test]
fn cuts_prove_what_is_torn_and_never_promise_that_nothing_is() {
    for (personality, torn) in [
        (Personality::Tears(512), Some(512)),
        (Personality::Tears(4096), Some(4096)),
        (Personality::Honest, None),
    ] {
        let cuts = Cuts::new("fdatasync");
        let here = &cuts.here;
        let medium = Medium::new(personality, DRIVE_BYTES, 11);
        let Some(rig) = Rig::new(here, "what cuts prove about torn writes", medium, None) else { return };
        let count = few(4, 50);
        cuts.on(&rig, count);
        let words = ["drive", "atomic", rig.name(), "--prove", "all.cuts"];
        let text = here.run(&words).expect_status(0).stdout;
        here.run(&[&words[..], &["--require", "16KiB", "--json", "a.json"]].concat()).expect_status(1);
        let proof = &here.json("a.json")["proof"];
        assert_eq!((proof["cuts"].as_u64(), proof["torn_bytes"].as_u64()), (Some(count), torn));
        if torn.is_some() {
            assert!(text.contains("NOT UNTORN") && text.contains("cuts of power tore pages"), "{text}");
        } else {
            assert!(text.contains(&format!("No tear in {count} of {count} cuts")), "{text}");
        }
        // Of pieces of 4 KiB a page of 4 KiB is one.
        let page = |bytes: u64| {
            let pages = proof["pages"].as_array().unwrap();
            pages.iter().find(|page| page["page_bytes"] == bytes).unwrap()["torn_cuts"].as_u64().unwrap() > 0
        };
        assert_eq!((page(4096), page(16_384)), (torn == Some(512), torn.is_some()));
        // The same cuts prove nothing of another target.
        std::fs::write(here.path("t.dat"), [0; 4096]).unwrap();
        let other = here.run(&["drive", "atomic", "t.dat", "--prove", "all.cuts"]).expect_status(0).stdout;
        assert!(other.contains("nothing is shown") && other.contains("other targets"), "{other}");
    }
}

/// The disk of a witness was full: half a line was in its log, and the next acknowledgement went on in it.
#[test]
fn a_witness_whose_disk_is_full_refuses_and_continues_when_there_is_room() {
    let here = Workspace::new();
    let place = here.path("small");
    std::fs::create_dir(&place).unwrap();
    let mounted = Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=16m", "tmpfs"])
        .arg(&place)
        .status()
        .is_ok_and(|status| status.success());
    if !mounted {
        skip("a witness whose disk is full", "a tmpfs cannot be mounted");
        return;
    }
    // Unmounted also if the test fails.
    let small = Small(place);
    // Room for some hundred lines; without the ballast, for more than the fastest drive acknowledges here.
    std::fs::write(small.0.join("ballast"), vec![1; (16 << 20) - (24 << 10)]).unwrap();
    let (witness, address) = witness(&here, "small/w.log");
    let write = ["drive", "powerfail", "write", "--witness", &address, "--size", "1M"];
    let full = here.run(&[&write[..], &["--block-size", "512", "data.dat"]].concat()).expect_status(2);
    assert!(full.stderr.contains("No space left"), "{}", full.stderr);
    let log = std::fs::read(small.0.join("w.log")).unwrap();
    assert!(log.ends_with(b"\n"), "half a line stayed");
    let check = ["drive", "powerfail", "check", "data.dat", "--witness-log", "small/w.log"];
    here.run(&check).expect_status(0);
    // Another witness cannot begin a log there, and leaves no half of one.
    let other = ["drive", "powerfail", "witness", "--listen", "127.0.0.1:0", "--log", "small/other.log"];
    let refused = here.run(&other).expect_status(2);
    assert!(refused.stderr.contains("No space left"), "{}", refused.stderr);
    std::fs::remove_file(small.0.join("ballast")).unwrap();
    let more = ["--block-size", "4K", "--duration", "300ms", "data.dat"];
    here.run(&[&write[..], &more].concat()).expect_status(0);
    here.run(&check).expect_status(0);
    witness.signal("INT");
    witness.ended().expect_status(0);
}

/// A small file system, unmounted on drop.
struct Small(PathBuf);

impl Drop for Small {
    fn drop(&mut self) {
        unmount(&self.0);
    }
}

/// A file, no cut: the run is over by itself, and its target is as before to everybody else.
#[test]
fn a_run_without_a_cut_loses_nothing_and_counts_for_nothing() {
    let here = Workspace::new();
    let (witness, address) = witness(&here, "w.log");
    let write = ["drive", "powerfail", "write", "--witness", &address, "--duration", "300ms"];
    let small = ["--size", "4M", "--method", "open_datasync", "data.dat"];
    let done = here.run(&[&write[..], &small].concat()).expect_status(0);
    assert!(done.stdout.contains("the power did not fail"), "{}", done.stdout);
    let check = ["drive", "powerfail", "check", "data.dat", "--witness-log", "w.log", "--json", "o.json"];
    here.run(&check).expect_status(0);
    let report = here.json("o.json");
    assert_eq!((&report["cut"]["is_ended"], &report["verdicts"][0]["cuts"]), (&true.into(), &0.into()));
    // What iostall did not make is not written, and without a witness nothing is.
    std::fs::write(here.path("users.dat"), vec![7; 4 << 20]).unwrap();
    here.run(&[&write[..], &["--size", "4M", "users.dat"]].concat()).expect_status(2);
    assert!(std::fs::read(here.path("users.dat")).unwrap().iter().all(|byte| *byte == 7));
    witness.signal("INT");
    witness.ended().expect_status(0);
    let gone = here.run(&[&write[..], &["--size", "4M", "new.dat"]].concat()).expect_status(2);
    assert!(gone.stderr.contains("hint:") && !here.path("new.dat").exists(), "{}", gone.stderr);
}

/// A writer that is killed is like one whose power failed; a witness that is killed goes on with its log.
#[test]
fn a_witness_survives_its_writers_and_continues_after_its_own_death() {
    let here = Workspace::new();
    let (first, address) = witness(&here, "w.log");
    let write = |address: &str| {
        let words = [
            "drive",
            "powerfail",
            "write",
            "--witness",
            address,
            "--size",
            "4M",
            "--block-size",
            "4K",
            "data.dat",
        ];
        here.start(&words)
    };
    let lines = || std::fs::read_to_string(here.path("w.log")).unwrap().lines().count();
    let mut runs = Vec::new();
    let second = here.run(&["drive", "powerfail", "witness", "--listen", "127.0.0.1:0", "--log", "w.log"]);
    assert!(second.expect_status(2).stderr.contains("another witness"));
    for _ in 0..2 {
        let before = lines();
        let writer = write(&address);
        until("acknowledged writes", || (lines() > before + 20).then_some(()));
        writer.signal("KILL");
        writer.ended();
        let check = ["drive", "powerfail", "check", "data.dat", "--witness-log", "w.log", "--json", "o.json"];
        here.run(&check).expect_status(0);
        runs.push(here.json("o.json")["cut"]["run"]["run"].as_str().unwrap().to_owned());
    }
    assert_ne!(runs[0], runs[1]);
    let mut writer = write(&address);
    let before = lines();
    until("acknowledged writes", || (lines() > before + 20).then_some(()));
    first.signal("KILL");
    first.ended();
    writer.wait_until_ended();
    let ended = writer.ended().expect_status(2);
    assert!(ended.stderr.contains("witness"), "{}", ended.stderr);
    // Half a line, as a witness leaves that loses its own power.
    std::fs::OpenOptions::new()
        .append(true)
        .open(here.path("w.log"))
        .and_then(|mut log| log.write_all(b"0123456789abcdef flush 99999 1:4096:0000"))
        .unwrap();
    let check = ["drive", "powerfail", "check", "data.dat", "--witness-log", "w.log"];
    here.run(&check).expect_status(0);
    let (_third, _) = witness(&here, "w.log");
    here.run(&check).expect_status(0);
}

#[test]
fn a_witness_refuses_garbage_and_files_that_are_no_log() {
    let here = Workspace::new();
    let (witness, address) = witness(&here, "w.log");
    let head = std::fs::read(here.path("w.log")).unwrap();
    let long = vec![b'x'; 100_000];
    for garbage in [
        &b"GET / HTTP/1.1\r\n\r\n"[..],
        b"run {}\n",
        b"flush 1 1:4096:00000000\n",
        b"end\n",
        &[0xff; 64],
        &long,
    ] {
        let mut stream = TcpStream::connect(&address).unwrap();
        // It may close the connection before all of it was sent.
        let _ = stream.write_all(garbage);
        let _ = stream.write_all(b"\n");
        let mut answer = String::new();
        let _ = stream.read_to_string(&mut answer);
        assert!(!answer.contains("ok"), "{answer}");
    }
    assert_eq!(std::fs::read(here.path("w.log")).unwrap(), head);
    std::fs::write(here.path("notes.txt"), "my notes\n").unwrap();
    let words = ["drive", "powerfail", "witness", "--listen", "127.0.0.1:0", "--log", "notes.txt"];
    let refused = here.run(&words).expect_status(2);
    assert!(refused.stderr.contains("no witness's log"), "{}", refused.stderr);
    assert_eq!(std::fs::read_to_string(here.path("notes.txt")).unwrap(), "my notes\n");
    let words = ["drive", "powerfail", "check", "w.log", "--witness-log", "w.log"];
    assert!(here.run(&words).expect_status(2).stderr.contains("has no run"));
    witness.signal("INT");
    witness.ended().expect_status(0);
}
