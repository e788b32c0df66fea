//! Backups, restores and clean-ups at the same time.

use std::fs;

use super::attacks::words_of;
use super::create::{names, shelves};
use crate::copy::content;
use crate::support::{Workspace, until};

fn source(here: &Workspace) {
    shelves(here);
    fs::create_dir(here.path("shop")).unwrap();
    fs::write(here.path("shop/data"), content(12_000_000)).unwrap();
}

fn is_partial(name: &str) -> bool {
    name.starts_with('.') && name.ends_with(".partial")
}

/// The story: two jobs of the same minute backed up to one name. One of them must have it, whole, and the other must say so.
#[test]
fn of_two_backups_to_one_name_one_gets_it_and_the_other_says_that_it_exists() {
    let here = Workspace::new();
    source(&here);
    let create = |limit| {
        ["backup", "create", "--no-store", "--limit", limit, "--to", "b1/k.iob", "--to", "b2/k.iob", "shop"]
    };
    let slow = here.start(&create("3MB/s"));
    until("its stripes", || names(&here.path("b2")).iter().any(|name| is_partial(name)).then_some(()));
    let fast = here.start(&create("100MB/s"));
    let fast = fast.ended().expect_status(0);
    assert!(words_of(&fast).contains("whole and durable"), "{}", fast.stdout);
    let slow = slow.ended().expect_status(2);
    assert!(slow.stderr.contains("k.iob exists") && slow.stderr.contains("hint: "), "{}", slow.stderr);
    for shelf in ["b1", "b2"] {
        assert_eq!(names(&here.path(shelf)), ["k.iob", "k.iob.manifest"]);
    }
    here.run(&["backup", "verify", "b1/k.iob", "b2/k.iob"]).expect_status(0);
}

#[test]
fn a_set_that_is_being_made_is_not_restored_and_not_pruned() {
    let here = Workspace::new();
    source(&here);
    let create = ["backup", "create", "--limit", "3MB/s", "--to", "b1/k.iob", "shop"];
    let running = here.start(&create);
    let partial = until("its stripe", || names(&here.path("b1")).into_iter().find(|name| is_partial(name)));
    for from in [format!("b1/{partial}"), "b1/k.iob".to_owned(), "b1/k.iob.manifest".to_owned()] {
        for line in [&["backup", "restore", &from, "--to", "r"][..], &["backup", "verify", &from]] {
            let ran = here.run(line);
            assert!(matches!(ran.status, Some(1 | 2)), "{from}: {}{}", ran.stdout, ran.stderr);
            assert!(!here.path("r").exists());
        }
    }
    let ran = here.run(&["backup", "prune", "--keep-last", "1", "b1"]).expect_status(0);
    assert!(words_of(&ran).contains("it is being written, or was never completed"), "{}", ran.stdout);
    running.ended().expect_status(0);
    here.run(&["backup", "verify", "b1/k.iob"]).expect_status(0);
}

/// A clean-up takes the set that is being restored: the restore reads on from what it has opened, or says what it lost.
#[test]
fn a_restore_whose_set_is_pruned_meanwhile_is_whole_or_says_that_it_is_not() {
    let here = Workspace::new();
    source(&here);
    for name in ["b1/old.iob", "b1/new.iob"] {
        here.run(&["backup", "create", "--to", name, "shop"]).expect_status(0);
    }
    let restore = ["backup", "restore", "--limit", "3MB/s", "b1/old.iob", "--to", "r"];
    let running = here.start(&restore);
    until("its directory", || {
        names(&here.path("")).iter().any(|name| name.ends_with(".restore")).then_some(())
    });
    here.run(&["backup", "prune", "--keep-last", "1", "b1"]).expect_status(0);
    assert_eq!(names(&here.path("b1")), ["new.iob", "new.iob.manifest"]);
    let ran = running.ended();
    match ran.status {
        Some(0) => drop(here.run(&["verify", "shop", "r"]).expect_status(0)),
        Some(1 | 2) => assert!(!here.path("r").exists(), "{}{}", ran.stdout, ran.stderr),
        other => panic!("{other:?}: {}{}", ran.stdout, ran.stderr),
    }
}
