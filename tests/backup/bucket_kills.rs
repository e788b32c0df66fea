//! kill -9 in every part of an upload to a bucket.

use std::process::Command;

use super::moto::Store;
use super::store_contract::{self, KillAt};
use super::store_proxy::StopAt;
use super::upload_kills::{kill_at, source};
use crate::support::Workspace;

pub(super) const PARTS: [KillAt; 10] = [
    ("PUT", ".partial", 1, false),
    ("POST", "uploads", 1, false),
    ("POST", "uploads", 2, false),
    ("PUT", "partNumber=1&", 1, false),
    ("PUT", "partNumber=2&", 2, false),
    ("PUT", "partNumber=3&", 1, false),
    ("POST", "?uploadId=", 1, false),
    ("POST", "?uploadId=", 2, false),
    ("PUT", ".manifest", 1, true),
    ("PUT", ".manifest", 2, true),
];

#[test]
fn a_kill_in_any_part_of_an_upload_leaves_no_backup_and_nothing_that_prune_does_not_find() {
    let here = Workspace::new();
    let Some(store) = Store::start(&here) else { return };
    // The note, a part, the end of an upload, and the manifest.
    let parts = store_contract::parts_now(&PARTS, &[0, 4, 7, 8]);
    store_contract::a_kill_leaves_no_backup_and_nothing_that_prune_does_not_find(&here, &store, &parts, 21);
}

/// Somebody else's upload into the same directory was given up by `prune`.
#[test]
fn uploads_of_others_are_neither_listed_nor_removed() {
    let here = Workspace::new();
    source(&here);
    let Some(store) = Store::start(&here) else { return };
    assert_eq!(store.request("POST", "/backups/k/dump?uploads", b"").0, 200);
    let through = |command: &mut Command, port: u16| Store::address(command, port);
    let stop = StopAt { method: "PUT", part: "partNumber=1&", number: 2, is_done: true };
    kill_at(&here, "s3://backups/k", store.port, stop, &through);
    assert_eq!(store.uploads(), 3);
    let prune = ["backup", "prune", "--keep-last", "1", "--abandoned-after", "0", "s3://backups/k"];
    let shown = store.run(&here, &[&prune[..], &["--dry-run"]].concat()).expect_status(0);
    assert!(shown.stdout.contains("its upload was killed"), "{}", shown.stdout);
    assert_eq!(store.uploads(), 3);
    store.run(&here, &prune).expect_status(0);
    assert_eq!(store.uploads(), 1, "that of somebody else");
    let again = store.run(&here, &prune).expect_status(0);
    assert!(!again.stdout.contains("its upload was killed"), "{}", again.stdout);
}
