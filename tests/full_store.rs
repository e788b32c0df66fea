//! A collector whose disk is temporarily full.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::fleet_centre::Centre;
use crate::support::{Workspace, skip, unmount};

/// A small tmpfs, unmounted on drop.
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
        unmount(&self.0);
    }
}

/// Writes until the file system is full.
fn fill(path: &Path) {
    let mut file = fs::File::create(path).unwrap();
    while file.write_all(&[0; 4096]).is_ok() {}
    while file.write_all(&[0]).is_ok() {}
}

/// A full disk ended the collector, which was found dead in the morning, long after space had been freed.
#[test]
fn a_collector_outlives_a_full_disk_and_what_it_lost_is_a_gap() {
    let workspace = Workspace::new();
    let Some(small) = Small::new(&workspace.path("small")) else {
        return skip("a full disk", "no tmpfs can be mounted here");
    };
    let store = small.0.join("store.db");
    let store = store.to_str().unwrap();
    let mut collector = workspace.start(&["--store", store, "collect", "run", "--interval", "1s", "linux:"]);
    collector.wait_until("an interval", |_| {
        workspace.run(&["--store", store, "report", "server"]).status == Some(0)
    });
    fill(&small.0.join("filler"));
    collector.wait_for("disk is full");
    fs::remove_file(small.0.join("filler")).unwrap();
    collector.wait_for("store.db can be written again");
    collector.signal("INT");
    let ran = collector.ended().expect_status(0);
    assert!(ran.stderr.contains("hint: free space on its file system"), "{}", ran.stderr);
    let report = workspace.run(&["--store", store, "report", "server", "--json", "-"]).expect_status(0);
    assert!(report.stdout.contains("the sample could not be stored"), "{}", report.stdout);
}

/// A server whose disk was full could not even send, which would have let it delete.
#[test]
fn what_is_in_a_store_on_a_full_disk_is_sent() {
    let workspace = Workspace::new();
    let Some(small) = Small::new(&workspace.path("small")) else {
        return skip("a full disk", "no tmpfs can be mounted here");
    };
    let Some(centre) = Centre::start() else { return };
    let server = centre.member("db1");
    let (from, store) = (server.path("store.db"), small.0.join("store.db"));
    // As it is when nobody has it open.
    server.run(&["runs"]).expect_status(0);
    fs::copy(&from, &store).unwrap();
    fs::copy(server.path("store.db.fleet"), small.0.join("store.db.fleet")).unwrap();
    fill(&small.0.join("filler"));
    let line = ["--store", store.to_str().unwrap(), "fleet", "send", &centre.address()];
    for _ in 0..2 {
        let ran = server.run(&line).expect_status(0);
        assert!(ran.stderr.contains("disk of the store is full"), "{}", ran.stderr);
        assert!(centre.counts().starts_with("1|1|1|"), "{}", centre.counts());
    }
}
