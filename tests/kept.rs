//! Results are written whatever happens to the store: a full disk, a read-only one, a lock.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use rusqlite::{Connection, TransactionBehavior};
use serde_json::Value;

use crate::running::Running;
use crate::support::{Ran, Workspace, skip, unmount};

/// A very short load.
const LOAD: [&str; 5] = ["load", "--duration", "200ms", "--warmup", "0"];

/// A small file system, unmounted on drop.
struct Small(PathBuf);

impl Small {
    /// As a tmpfs.
    fn new(here: &Workspace) -> Option<Self> {
        Self::mounted(here, &["-t", "tmpfs", "-o", "size=8m", "tmpfs"])
    }

    /// With blocks smaller than a memory page.
    fn with_small_blocks(here: &Workspace) -> Option<Self> {
        let image = here.path("image");
        fs::File::create(&image).unwrap().set_len(16 << 20).unwrap();
        let made = Command::new("mkfs.ext4").args(["-q", "-F", "-b", "1024"]).arg(&image).status();
        if !made.is_ok_and(|status| status.success()) {
            skip("a store on a full disk", "mkfs.ext4 cannot be run here");
            return None;
        }
        Self::mounted(here, &["-o", "loop", image.to_str().unwrap()])
    }

    fn mounted(here: &Workspace, what: &[&str]) -> Option<Self> {
        let at = here.path("small");
        fs::create_dir_all(&at).unwrap();
        let mounted = Command::new("mount").args(what).arg(&at).status();
        if mounted.is_ok_and(|status| status.success()) {
            return Some(Self(at));
        }
        skip("a store on a full disk", "nothing can be mounted here");
        None
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Leaves only `spare_kib` free.
    fn fill(&self, spare_kib: u64) {
        let mut file = fs::File::create(self.path("filler")).unwrap();
        for length in [4096, 1] {
            while file.write_all(&vec![0; length]).is_ok() {}
        }
        let length = file.metadata().unwrap().len();
        file.set_len(length.saturating_sub(spare_kib << 10)).unwrap();
        file.sync_all().unwrap();
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        unmount(&self.0);
    }
}

/// A workspace with a file to read, and a store on a small file system.
fn with_small_store() -> Option<(Workspace, Small)> {
    let here = Workspace::new();
    fs::write(here.path("t.dat"), vec![7; 4 << 20]).unwrap();
    let small = Small::new(&here)?;
    Some((here, small))
}

#[track_caller]
fn expect_document(path: &Path) {
    let text = fs::read_to_string(path).expect("the document is there");
    let document: Value = serde_json::from_str(&text).expect("the document is JSON");
    assert!(document["schema"].as_str().unwrap().starts_with("iostall-"), "{text}");
}

#[track_caller]
fn expect_warning_of_full_disk(ran: &Ran) {
    let said = &ran.stderr;
    assert!(said.contains("warning: ") && said.contains("disk is full"), "{said}");
    assert!(said.contains("hint: free space") && !said.contains("dmesg"), "{said}");
}

/// With a disk that was full before the run, no run was possible, and the hint was to look for a broken
/// device.
#[test]
fn a_store_on_a_full_disk_is_told_before_the_run_and_keeps_nobody_from_it() {
    let Some((here, small)) = with_small_store() else { return };
    small.fill(0);
    let store = small.path("store.db");
    let store = store.to_str().unwrap();
    fs::write(here.path("from"), vec![1; 100_000]).unwrap();
    let point = ["--interval", "100ms", "--warmup", "0", "--repeats-max", "1"];
    let commands: [(&[&str], &str); 7] = [
        (&[&LOAD[..], &["--json", "o.json", "t.dat"]].concat(), "IOPS"),
        (&["diskspd", "-d1", "-W0", "-b8K", "--json", "o.json", "t.dat"], "Total IO"),
        (&[&["sweep", "--in-flight-max", "1", "--json", "o.json"], &point[..], &["t.dat"]].concat(), "IOPS"),
        (
            &[
                &["matrix", "--read-only", "--sizes", "8K", "--depths", "1", "--json", "o.json"],
                &point[..],
                &["t.dat"],
            ]
            .concat(),
            "IO",
        ),
        (&["copy", "--manifest", "list.xxh3", "--json", "o.json", "from", "to"], "copied"),
        (&["write", "--size", "8M", "--methods", "buffered", "--json", "o.json", "w.dat"], "buffered"),
        (&["verify", "--json", "o.json", "list.xxh3"], "1 file"),
    ];
    for (words, text) in commands {
        let _ = fs::remove_file(here.path("o.json"));
        let ran = here.run(&[&["--store", store], words].concat()).expect_status(0);
        assert!(ran.stdout.contains(text), "{words:?}: {}", ran.stdout);
        assert!(!ran.stdout.contains("stored as run"), "{}", ran.stdout);
        expect_warning_of_full_disk(&ran);
        expect_document(&here.path("o.json"));
    }
    let names = fs::read_dir(here.path(".")).unwrap().map(|entry| entry.unwrap().file_name());
    let left: Vec<_> = names.filter(|name| name.to_string_lossy().starts_with("iostall-")).collect();
    assert!(left.is_empty(), "who was told before is not given files that nobody asked for: {left:?}");
    fs::write(here.path("u.dat"), vec![7; 4 << 20]).unwrap();
    let fresh = ["compare", "--fresh", "1", "--duration", "200ms", "--warmup", "0", "t.dat", "u.dat"];
    let ran = here.run(&[&["--store", store], &fresh[..]].concat()).expect_status(0);
    expect_warning_of_full_disk(&ran);
    // Commands that only read the store fail without it.
    let ran = here.run(&["--store", store, "runs"]).expect_status(2);
    assert!(ran.stderr.contains("disk is full") && ran.stderr.contains("hint: free space"), "{}", ran.stderr);
}

/// In the most common case, the load itself filled the store's disk: text, JSON and CSV of the finished run
/// were lost.
#[test]
fn a_disk_that_fills_up_during_the_run_costs_no_result() {
    let Some((here, small)) = with_small_store() else { return };
    let store = small.path("store.db");
    let long = ["--store", store.to_str().unwrap(), "load", "--duration", "1h", "--warmup", "0"];
    let outputs = ["--json", "o.json", "--csv", "o.csv", "--html", "o.html"];
    for outputs in [&outputs[..], &[]] {
        let mut program = here.start(&[&long[..], outputs, &["t.dat"]].concat());
        program.wait_until("its workers", Running::is_loading);
        small.fill(0);
        program.signal("INT");
        // The exit status is the run's.
        let ran = program.ended().expect_status(130);
        assert!(ran.stdout.contains("IOPS"), "{}", ran.stdout);
        expect_warning_of_full_disk(&ran);
        fs::remove_file(small.path("filler")).unwrap();
        if outputs.is_empty() {
            // Nobody requested the document, which would otherwise be lost with the store.
            let names = fs::read_dir(here.path(".")).unwrap().map(|entry| entry.unwrap().path());
            let saved: Vec<PathBuf> =
                names.filter(|path| path.to_string_lossy().contains("/iostall-load-")).collect();
            assert_eq!(saved.len(), 1, "{saved:?}");
            expect_document(&saved[0]);
            assert!(ran.stderr.contains(saved[0].file_name().unwrap().to_str().unwrap()), "{}", ran.stderr);
        } else {
            expect_document(&here.path("o.json"));
            assert!(fs::read_to_string(here.path("o.csv")).unwrap().starts_with("span,"));
            assert!(fs::read_to_string(here.path("o.html")).unwrap().contains("</html>"));
        }
    }
}

/// SQLite maps its log index into memory. With blocks smaller than a page, a nearly full disk caused a SIGBUS
/// while storing, and the run was lost without a message.
#[test]
fn a_nearly_full_disk_ends_no_process() {
    let here = Workspace::new();
    fs::write(here.path("t.dat"), vec![7; 1 << 20]).unwrap();
    let Some(small) = Small::with_small_blocks(&here) else { return };
    let store = small.path("store.db");
    let words = [
        "--store",
        store.to_str().unwrap(),
        "load",
        "--duration",
        "20ms",
        "--warmup",
        "0",
        "--quiet",
        "t.dat",
    ];
    here.run(&words).expect_status(0);
    for spare_kib in (2..60).step_by(2).chain([100, 400, 1600]) {
        small.fill(spare_kib);
        let ran = here.run(&words);
        assert_eq!(ran.status, Some(0), "with {spare_kib} KiB left: {}{}", ran.stdout, ran.stderr);
        fs::remove_file(small.path("filler")).unwrap();
    }
}

/// With a store on a file system that became read-only after an error, no run was possible.
#[test]
fn a_store_that_cannot_be_written_is_a_warning() {
    let Some((here, small)) = with_small_store() else { return };
    let store = small.path("store.db");
    let store = store.to_str().unwrap();
    let words = [&["--store", store], &LOAD[..], &["--json", "o.json", "t.dat"]].concat();
    here.run(&words).expect_status(0);
    let remounted = Command::new("mount").args(["-o", "remount,ro"]).arg(&small.0).status();
    assert!(remounted.is_ok_and(|status| status.success()), "a tmpfs can be made read-only");
    let ran = here.run(&words).expect_status(0);
    assert!(ran.stderr.contains("warning: ") && ran.stderr.contains("--json FILE"), "{}", ran.stderr);
    assert!(ran.stdout.contains("IOPS"), "{}", ran.stdout);
    expect_document(&here.path("o.json"));
    here.run(&["--store", store, "runs"]).expect_status(2);
    // A file that is not a store is a user error, better reported before an hour of load than after it.
    let ran = here.run(&[&["--store", "t.dat"], &LOAD[..], &["t.dat"]].concat()).expect_status(2);
    assert!(ran.stderr.contains("is not an iostall store") && ran.stdout.is_empty(), "{}", ran.stderr);
}

/// While another process locked the store for a minute, the finished run was nowhere to be seen.
#[test]
fn outputs_come_before_a_locked_store_is_waited_for() {
    let here = Workspace::new();
    fs::write(here.path("t.dat"), vec![7; 4 << 20]).unwrap();
    here.run(&[&LOAD[..], &["t.dat"]].concat()).expect_status(0);
    let mut other = Connection::open(here.path("store.db")).unwrap();
    let lock = other.transaction_with_behavior(TransactionBehavior::Immediate).unwrap();
    let mut program = here.start(&[&LOAD[..], &["--json", "o.json", "t.dat"]].concat());
    program.wait_until("the document", |_| here.path("o.json").exists());
    assert!(!program.has_ended());
    drop(lock);
    let ran = program.ended().expect_status(0);
    assert!(ran.stdout.contains("stored as run #2"), "{}", ran.stdout);
}

/// One output on a full device prevented the others, including DiskSpd's report, and the run had to be
/// repeated.
#[test]
fn an_output_that_fails_keeps_the_others_and_the_text() {
    let here = Workspace::new();
    fs::write(here.path("t.dat"), vec![7; 4 << 20]).unwrap();
    let made = Command::new("mknod").arg(here.path("full")).args(["c", "1", "7"]).status();
    if !made.is_ok_and(|status| status.success()) {
        return skip("an output on a full device", "mknod is not allowed here");
    }
    let outputs = ["--json", "full", "--csv", "o.csv", "--html", "o.html", "t.dat"];
    let ran = here.run(&[&LOAD[..], &outputs].concat()).expect_status(2);
    assert!(ran.stderr.contains("cannot write --json full"), "{}", ran.stderr);
    assert!(ran.stderr.contains("hint: the run itself is stored"), "{}", ran.stderr);
    assert!(ran.stdout.contains("stored as run #1"), "{}", ran.stdout);
    assert!(here.path("o.csv").exists() && here.path("o.html").exists());

    let ran = here.run(&["diskspd", "-d1", "-W0", "-b8K", "--json", "full", "t.dat"]).expect_status(1);
    assert!(ran.stdout.contains("Total IO"), "{}", ran.stdout);
    assert!(ran.stderr.contains("cannot write --json full"), "{}", ran.stderr);

    let mut command = here.command(&[&LOAD[..], &["--json", "o.json", "t.dat"]].concat());
    let full = fs::OpenOptions::new().write(true).open(here.path("full")).unwrap();
    let output = command.stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", String::from_utf8_lossy(&output.stderr));
    expect_document(&here.path("o.json"));
    assert!(here.run(&["runs", "show", "last"]).expect_status(0).stdout.contains("IOPS"));
}
