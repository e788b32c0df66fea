//! A collector whose disk is full for a while.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use iostall_measure::{Clock, MonotonicClock};

use crate::support::{Ran, Workspace, signal, skip};

/// A small file system in memory, unmounted when the value goes.
struct Small(PathBuf);

impl Small {
    fn new(at: &Path) -> Option<Self> {
        fs::create_dir_all(at).unwrap();
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", "size=4m", "tmpfs"]).arg(at).output();
        mounted.is_ok_and(|output| output.status.success()).then(|| Self(at.to_owned()))
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

/// Writes until there is no room.
fn fill(path: &Path) {
    let mut file = fs::File::create(path).unwrap();
    while file.write_all(&[0; 4096]).is_ok() {}
    while file.write_all(&[0]).is_ok() {}
}

fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let clock = MonotonicClock::new();
    for _ in 0..1_200 {
        if is_so() {
            return;
        }
        clock.sleep_until(clock.now_ns() + 50_000_000);
    }
    panic!("{what} did not come")
}

/// A full disk ended the collector: it was found dead in the morning, long after there was room again.
#[test]
fn a_collector_outlives_a_full_disk_and_what_it_lost_is_a_gap() {
    let workspace = Workspace::new();
    let Some(small) = Small::new(&workspace.path("small")) else {
        return skip("a full disk", "no tmpfs can be mounted here");
    };
    let store = small.0.join("store.db");
    let (store, said) = (store.to_str().unwrap(), workspace.path("said"));
    let child = workspace
        .command(&["--store", store, "collect", "run", "--interval", "1s", "linux:"])
        .stderr(fs::File::create(&said).unwrap())
        .spawn()
        .unwrap();
    let has_said = |text: &str| fs::read_to_string(&said).unwrap().contains(text);
    let samples = || workspace.run(&["--store", store, "report", "server"]).status == Some(0);
    until("an interval", samples);
    fill(&small.0.join("filler"));
    until("the trouble", || has_said("disk is full"));
    fs::remove_file(small.0.join("filler")).unwrap();
    until("the end of the trouble", || has_said("store.db can be written again"));
    signal(&child, "INT");
    Ran::from(child.wait_with_output().unwrap()).expect_status(0);
    assert!(has_said("hint: make room on its file system"), "{}", fs::read_to_string(&said).unwrap());
    let report = workspace.run(&["--store", store, "report", "server", "--json", "-"]).expect_status(0);
    assert!(report.stdout.contains("the sample could not be stored"), "{}", report.stdout);
}
