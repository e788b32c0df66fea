//! Mirrors: the destination becomes like the source, and what is deleted for that.

use std::fs;
use std::os::unix::fs::symlink;

use iostall_measure::{Clock, MonotonicClock};

use crate::copy::{content, names};
use crate::support::Workspace;

/// A source, and a destination with a file too many, an older one and an equal one.
fn prepared() -> Workspace {
    let here = Workspace::new();
    fs::create_dir_all(here.path("data/sub")).unwrap();
    for (name, size) in [("a", 2_000_000), ("sub/b", 2_000), ("same", 10)] {
        fs::write(here.path("data").join(name), content(size)).unwrap();
    }
    here.run(&["copy", "--mirror", "data", "to"]).expect_status(0);
    fs::write(here.path("to/a"), "another").unwrap();
    fs::create_dir_all(here.path("to/gone/deep")).unwrap();
    fs::write(here.path("to/gone/deep/x"), "x").unwrap();
    fs::write(here.path("to/sub/extra"), "x").unwrap();
    symlink("/etc", here.path("to/link")).unwrap();
    here
}

const MIRROR: [&str; 6] = ["copy", "--mirror", "--delete", "to", "--json", "o.json"];

/// The rule of `cp` made a second run copy the tree into the first one.
#[test]
fn a_mirror_is_the_destination_itself_and_only_deletes_what_is_consented_to_by_name() {
    let here = prepared();
    here.run(&["copy", "--mirror", "data", "to"]).expect_status(0);
    assert_eq!(fs::read(here.path("to/a")).unwrap(), content(2_000_000));
    assert_eq!(
        names(&here.path("to")),
        ["a", "gone", "link", "same", "sub"],
        "nothing is deleted without --delete"
    );

    for consent in ["data", ".", "to/sub", "absent"] {
        let ran = here.run(&["copy", "--mirror", "--delete", consent, "data", "to"]).expect_status(2);
        assert!(ran.stderr.contains("is not the destination"), "{}", ran.stderr);
    }
    here.run(&["copy", "--delete", "to", "data/a", "to"]).expect_status(2);
    here.run(&["copy", "--mirror", "--delete", "to", "data/a", "data/same", "to"]).expect_status(2);
    assert_eq!(names(&here.path("to")).len(), 5);

    here.run(&[&MIRROR[..], &["data", "to"]].concat()).expect_status(0);
    assert_eq!(names(&here.path("to")), ["a", "same", "sub"]);
    assert_eq!(names(&here.path("to/sub")), ["b"]);
    assert_eq!(here.json("o.json")["copy"]["counts"]["deleted"], 5);
    assert!(fs::metadata("/etc").unwrap().is_dir());
    here.run(&["verify", "data", "to"]).expect_status(0);
}

#[test]
fn a_dry_run_of_a_mirror_lists_what_would_be_deleted() {
    let here = prepared();
    let ran = here.run(&[&MIRROR[..], &["--dry-run", "data", "to"]].concat()).expect_status(0);
    for line in
        ["delete to/gone/deep/x", "delete to/gone", "delete to/link", "delete to/sub/extra", "replace to/a"]
    {
        assert!(ran.stdout.contains(line), "{line}: {}", ran.stdout);
    }
    assert_eq!(names(&here.path("to")).len(), 5);
}

/// What must never happen: files are gone at both ends.
#[test]
fn nothing_is_deleted_unless_everything_was_copied() {
    let here = prepared();
    // A directory where the source has a file is not replaced if something in it is left out.
    fs::remove_file(here.path("to/same")).unwrap();
    fs::create_dir(here.path("to/same")).unwrap();
    fs::write(here.path("to/same/x.tmp"), "mine").unwrap();
    here.run(&[&MIRROR[..], &["--exclude", "*.tmp", "data", "to"]].concat()).expect_status(1);
    assert!(here.path("to/gone/deep/x").exists() && here.path("to/sub/extra").exists());
    assert_eq!(fs::read(here.path("to/same/x.tmp")).unwrap(), b"mine");
    fs::remove_dir_all(here.path("to/same")).unwrap();

    // A source that is empty is more likely one that is not mounted.
    fs::create_dir(here.path("empty")).unwrap();
    let ran = here.run(&[&MIRROR[..], &["empty", "to"]].concat()).expect_status(2);
    assert!(ran.stderr.contains("mounted"), "{}", ran.stderr);
    assert!(here.path("to/gone/deep/x").exists() && here.path("to/a").exists());

    // The source itself would be extra.
    fs::create_dir_all(here.path("to/source")).unwrap();
    fs::write(here.path("to/source/precious"), "x").unwrap();
    let ran = here.run(&[&MIRROR[..], &["to/source", "to"]].concat()).expect_status(2);
    assert!(ran.stderr.contains("lies in the destination"), "{}", ran.stderr);
    assert!(here.path("to/source/precious").exists() && here.path("to/a").exists());

    // A database is deleted only if it is named.
    fs::create_dir(here.path("to/gone/base")).unwrap();
    fs::write(here.path("to/gone/PG_VERSION"), "15\n").unwrap();
    fs::write(here.path("to/gone/base/16384"), "rows").unwrap();
    let ran = here.run(&[&MIRROR[..], &["data", "to"]].concat()).expect_status(1);
    assert!(ran.stderr.contains("database"), "{}", ran.stderr);
    assert!(here.path("to/gone/base/16384").exists() && here.path("to/sub/extra").exists());
    here.run(&[&MIRROR[..], &["--destroy-database", "to/gone", "data", "to"]].concat()).expect_status(0);
    assert_eq!(names(&here.path("to")), ["a", "same", "sub"]);
}

#[test]
fn what_the_filters_leave_out_is_not_deleted_and_links_are_not_followed() {
    let here = prepared();
    fs::create_dir(here.path("outside")).unwrap();
    fs::write(here.path("outside/precious"), "x").unwrap();
    symlink(here.path("outside"), here.path("to/gone/out")).unwrap();
    fs::write(here.path("to/gone/keep.log"), "x").unwrap();
    // What the source has as a link is looked into at neither end.
    symlink("sub", here.path("data/pointer")).unwrap();
    fs::create_dir(here.path("to/pointer")).unwrap();
    fs::write(here.path("to/pointer/inside"), "x").unwrap();
    let words = ["--exclude", "*.log", "--symlinks", "skip", "data", "to"];
    here.run(&[&MIRROR[..], &words].concat()).expect_status(0);
    assert_eq!(names(&here.path("to")), ["a", "gone", "pointer", "same", "sub"]);
    assert_eq!(names(&here.path("to/gone")), ["keep.log"]);
    assert!(here.path("outside/precious").exists() && here.path("to/pointer/inside").exists());
    let ran = here
        .run(&["copy", "--mirror", "--delete", "to", "--json", "to/o.json", "data", "to"])
        .expect_status(2);
    assert!(ran.stderr.contains("deletes"), "{}", ran.stderr);
}

/// A pseudorandom number below `bound`.
fn draw(seed: &mut u64, bound: u64) -> u64 {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*seed >> 33) % bound
}

/// Kills mirrors at random times: nothing is deleted before the source is there as a whole.
#[test]
fn a_mirror_killed_at_any_moment_has_lost_nothing_that_was_not_to_be_deleted() {
    let here = Workspace::new();
    fs::create_dir(here.path("data")).unwrap();
    for number in 0..100_usize {
        fs::write(here.path("data").join(number.to_string()), content(2_000 + number)).unwrap();
    }
    let mirror =
        ["copy", "--no-store", "--mirror", "--delete", "to", "--limit", "10MB/s", "--reflink", "never"];
    let mirror = [&mirror[..], &["data", "to"]].concat();
    let clock = MonotonicClock::new();
    here.run(&mirror).expect_status(0);
    let whole_ns = clock.now_ns();
    for round in 0..20 {
        fs::remove_dir_all(here.path("to")).unwrap();
        fs::create_dir(here.path("to")).unwrap();
        for number in 100..150_usize {
            fs::write(here.path("to").join(number.to_string()), content(500)).unwrap();
        }
        let mut seed = round;
        let clock = MonotonicClock::new();
        let copy = here.start(&mirror);
        clock.sleep_until(draw(&mut seed, whole_ns));
        copy.signal("KILL");
        copy.ended();
        let is_whole = |number: usize| {
            fs::read(here.path("to").join(number.to_string())).map(|found| found == content(2_000 + number))
        };
        let there = (0..100).filter(|number| is_whole(*number).unwrap_or(false)).count();
        assert!((0..100).all(|number| is_whole(number).unwrap_or(true)), "round {round}: half a file");
        let extra = (100..150).filter(|number| here.path("to").join(number.to_string()).exists()).count();
        assert!(extra == 50 || there == 100, "round {round}: {there} copied and {extra} of 50 left");
        assert_eq!(names(&here.path("data")).len(), 100);
        here.run(&mirror).expect_status(0);
        assert_eq!(names(&here.path("to")).len(), 100, "round {round}");
    }
}
