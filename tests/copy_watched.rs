//! A copy that takes long: its log, tries after failures, and several large files at once.

use std::fs;

use iostall_transfer::copy::part_path;

use crate::copy::content;
use crate::support::Workspace;

/// What was copied was in the report at the end, and nowhere if the copy was killed.
#[test]
fn a_log_has_a_line_for_each_file_and_is_appended_to() {
    let here = Workspace::new();
    fs::create_dir(here.path("data")).unwrap();
    fs::write(here.path("data/small"), content(100)).unwrap();
    fs::write(here.path("data/large"), content(2_000_000)).unwrap();
    fs::create_dir(here.path("to")).unwrap();
    let copy = ["copy", "--no-store", "--log", "copy.log", "data", "to"];
    here.run(&copy).expect_status(0);
    let log = || fs::read_to_string(here.path("copy.log")).unwrap();
    assert!(log().contains("\tcopied\t100\tto/data/small\n"), "{}", log());
    assert!(log().contains("\tcopied\t2000000\tto/data/large\n"), "{}", log());
    fs::write(here.path("data/new\nname"), "x").unwrap();
    here.run(&copy).expect_status(1);
    assert!(log().contains("\tcopied\t100\t") && log().contains("\tfailed\t0\tdata/large\t"), "{}", log());
    assert!(!log().contains("new\nname"), "a name is one line: {}", log());

    // The guard of all outputs.
    fs::write(here.path("notes"), "precious").unwrap();
    for name in ["notes", "data/small", "to/data/small", "-"] {
        here.run(&["copy", "--no-store", "--overwrite", "--log", name, "data", "to"]).expect_status(2);
    }
    assert_eq!(fs::read(here.path("notes")).unwrap(), b"precious");
    assert_eq!(fs::read(here.path("data/small")).unwrap(), content(100));
}

#[test]
fn the_log_of_a_copy_that_is_killed_has_what_it_had_done() {
    let here = Workspace::new();
    fs::create_dir(here.path("data")).unwrap();
    fs::write(here.path("data/a"), content(1_500_000)).unwrap();
    fs::write(here.path("data/b"), content(3_000_000)).unwrap();
    let words =
        ["copy", "--no-store", "--reflink", "never", "--limit", "1MB/s", "--log", "copy.log", "data", "to"];
    let mut copy = here.start(&words);
    let log = || fs::read_to_string(here.path("copy.log")).unwrap_or_default();
    copy.wait_until("the first file in the log", |_| log().contains("\tto/a\n"));
    copy.signal("KILL");
    copy.ended();
    assert!(log().contains("\tcopied\t1500000\tto/a\n") && !here.path("to/b").exists(), "{}", log());
}

/// One large file after another leaves a network or an array of devices idle.
#[test]
fn several_large_files_are_copied_at_once_if_wanted() {
    let here = Workspace::new();
    fs::create_dir(here.path("data")).unwrap();
    for name in ["a", "b", "c", "d"] {
        fs::write(here.path("data").join(name), content(3_000_000)).unwrap();
    }
    let words = ["copy", "--no-store", "--reflink", "never", "--parallel", "3", "--verify"];
    let mut copy = here.start(&[&words[..], &["--limit", "100KB/s", "data", "slow"]].concat());
    let parts =
        || ["a", "b", "c"].iter().filter(|name| part_path(&here.path("slow").join(name)).exists()).count();
    copy.wait_until("three files at once", |_| parts() == 3);
    assert!(!part_path(&here.path("slow/d")).exists());
    copy.signal("INT");
    copy.ended().expect_status(130);
    here.run(&[&words[..], &["--json", "o.json", "data", "to"]].concat()).expect_status(0);
    let copy = &here.json("o.json")["copy"];
    assert_eq!(
        (&copy["counts"]["files"], &copy["verified_files"], &copy["bytes"]),
        (&4.into(), &4.into(), &12_000_000.into())
    );
    here.run(&["verify", "data", "to"]).expect_status(0);
}

#[test]
fn a_file_that_fails_is_tried_as_often_as_wanted() {
    let here = Workspace::new();
    fs::create_dir(here.path("to")).unwrap();
    // It has no size and some content, so it never looks as it did before it was read.
    let words = ["copy", "--no-store", "--retries", "2", "--retry-wait", "0s", "--log", "copy.log"];
    let ran = here.run(&[&words[..], &["/proc/version", "to"]].concat()).expect_status(2);
    assert!(ran.stderr.contains("its size changed"), "{}", ran.stderr);
    let log = fs::read_to_string(here.path("copy.log")).unwrap();
    assert_eq!((log.matches("\tretry\t").count(), log.matches("\tfailed\t").count()), (2, 3), "{log}");
    here.run(&["copy", "--retries", "2", "--fail-fast", "/proc/version", "to"]).expect_status(2);
}
