//! Moves: sources are removed when the copy was verified, and never before.

use std::fs::{self, File};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::process::Command;

use iostall_measure::{Clock, MonotonicClock};

use crate::copy::{content, names};
use crate::support::{Ran, Workspace, binary, skip};
use crate::unprivileged::{is_root, unprivileged};

/// `cp` and `rm` in one line removed what the copy had not taken along.
#[test]
fn a_move_removes_the_sources_and_the_directories_that_are_then_empty() {
    let here = Workspace::new();
    fs::create_dir_all(here.path("data/sub/empty")).unwrap();
    fs::write(here.path("data/large"), content(3_000_000)).unwrap();
    fs::write(here.path("data/sub/small"), content(100)).unwrap();
    fs::hard_link(here.path("data/large"), here.path("data/again")).unwrap();
    symlink("large", here.path("data/link")).unwrap();
    here.run(&["copy", "--move", "--json", "o.json", "data", "to"]).expect_status(0);
    assert!(!here.path("data").exists());
    assert_eq!(names(&here.path("to")), ["again", "large", "link", "sub"]);
    assert_eq!(fs::read(here.path("to/large")).unwrap(), content(3_000_000));
    let copy = &here.json("o.json")["copy"];
    assert_eq!(copy["settings"]["verify"], "read-back");
    assert_eq!((&copy["counts"]["removed_sources"], &copy["verified_files"]), (&4.into(), &2.into()));

    // What the filters leave out stays, with its directory.
    fs::write(here.path("to/sub/x.tmp"), "x").unwrap();
    here.run(&["copy", "--move", "--exclude", "*.tmp", "to", "back"]).expect_status(0);
    assert_eq!(names(&here.path("to/sub")), ["x.tmp"]);
    assert_eq!(names(&here.path("to")), ["sub"]);
    assert_eq!(names(&here.path("back/sub")), ["empty", "small"]);
}

/// UBCopy's move deleted the source if the target merely existed.
#[test]
fn sources_stay_if_anything_was_not_copied() {
    let here = Workspace::new();
    fs::create_dir_all(here.path("data")).unwrap();
    for name in ["a", "b"] {
        fs::write(here.path("data").join(name), content(5_000)).unwrap();
    }
    fs::create_dir_all(here.path("to/data")).unwrap();
    fs::write(here.path("to/data/b"), "something else").unwrap();
    let ran = here.run(&["copy", "--move", "data", "to"]).expect_status(1);
    assert!(ran.stderr.contains("exists"), "{}", ran.stderr);
    assert_eq!(names(&here.path("data")), ["a", "b"]);
    assert_eq!(fs::read(here.path("to/data/b")).unwrap(), b"something else");

    // The same line with consent finishes it: what is equal was compared once more.
    here.run(&["copy", "--move", "--update", "--dry-run", "data", "to"]).expect_status(0);
    assert_eq!(names(&here.path("data")), ["a", "b"]);
    here.run(&["copy", "--move", "--resume", "--overwrite", "data", "to"]).expect_status(0);
    assert!(!here.path("data").exists());
    assert_eq!(fs::read(here.path("to/data/b")).unwrap(), content(5_000));
}

#[test]
fn the_destination_itself_a_link_and_a_file_in_use_are_not_removed() {
    let here = Workspace::new();
    fs::write(here.path("file"), content(5_000)).unwrap();
    symlink(".", here.path("here")).unwrap();
    for words in [["file", "here/"], ["file", "file"]] {
        here.run(&[&["copy", "--move", "--update"], &words[..]].concat());
        assert_eq!(fs::read(here.path("file")).unwrap(), content(5_000), "{words:?}");
    }
    symlink("file", here.path("link")).unwrap();
    let ran = here.run(&["copy", "--move", "link", "to"]).expect_status(2);
    assert!(ran.stderr.contains("is a link"), "{}", ran.stderr);
    for words in [&["--verify=on-the-fly"][..], &["--symlinks", "follow"]] {
        here.run(&[&["copy", "--move"], words, &["file", "to"]].concat()).expect_status(2);
    }
    assert!(here.path("link").exists() && !here.path("to").exists());

    let writer = File::options().append(true).open(here.path("file")).unwrap();
    let ran = here.run(&["copy", "--move", "file", "to"]).expect_status(1);
    assert!(ran.stderr.contains("open for writing"), "{}", ran.stderr);
    assert!(here.path("file").exists() && here.path("to").exists());
    drop(writer);
    here.run(&["copy", "--move", "--resume", "file", "to"]).expect_status(0);
    assert!(!here.path("file").exists());
}

/// A file that was newer at the destination, and a pipe, stayed in the source without a word and with status 0: whoever took the
/// source for moved removed the only pipe, and the other version.
#[test]
fn what_a_move_leaves_behind_is_named_and_the_status_says_so() {
    let here = Workspace::new();
    for name in ["data", "to/data"] {
        fs::create_dir_all(here.path(name)).unwrap();
    }
    for name in ["data/file", "data/newer", "to/data/newer"] {
        fs::write(here.path(name), name).unwrap();
    }
    let old = std::time::UNIX_EPOCH;
    File::options().write(true).open(here.path("data/newer")).unwrap().set_modified(old).unwrap();
    assert!(Command::new("mkfifo").arg(here.path("data/pipe")).status().unwrap().success());
    let words = ["copy", "--move", "--update", "--json", "o.json", "data", "to"];
    here.run(&words).expect_status(1);
    assert_eq!(names(&here.path("data")), ["newer", "pipe"]);
    assert_eq!(fs::read(here.path("to/data/newer")).unwrap(), b"to/data/newer");
    let stays = here.json("o.json")["copy"]["not_copied"].clone();
    let stays: Vec<_> = stays.as_array().unwrap().iter().map(|one| (&one["what"], &one["path"])).collect();
    assert_eq!(stays, [(&"removed".into(), &"data/newer".into()), (&"removed".into(), &"data/pipe".into())]);

    // What is then asked for is moved.
    fs::remove_file(here.path("data/newer")).unwrap();
    here.run(&[&words[..], &["--specials", "keep"]].concat()).expect_status(0);
    assert!(!here.path("data").exists());
    assert_eq!(names(&here.path("to/data")), ["file", "newer", "pipe"]);
}

/// The owner was lost, the source removed, and with `-q` nothing said.
#[test]
fn the_sources_stay_where_the_copies_have_lost_their_owner() {
    let here = Workspace::new();
    if !is_root() {
        return skip("a move by another account", "this is not root");
    }
    fs::create_dir_all(here.path("in/data")).unwrap();
    fs::write(here.path("in/data/of-root"), content(5_000)).unwrap();
    let given =
        Command::new("chown").arg("65534:65534").args([here.path("in"), here.path("in/data")]).status();
    assert!(given.unwrap().success());
    fs::set_permissions(here.path("."), fs::Permissions::from_mode(0o755)).unwrap();
    // The second time everything is equal by size and time, and what is lost is found by looking.
    for _ in 0..2 {
        let mut command = unprivileged(&binary());
        command.args(["copy", "-q", "--no-store", "--move", "data", "to"]).current_dir(here.path("in"));
        let ran = Ran::from(command.output().unwrap()).expect_status(1);
        assert!(ran.stderr.contains("owner"), "{}", ran.stderr);
        assert!(here.path("in/data/of-root").exists());
        assert_eq!(fs::read(here.path("in/to/of-root")).unwrap(), content(5_000));
    }
}

/// A pseudorandom number below `bound`.
fn draw(seed: &mut u64, bound: u64) -> u64 {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*seed >> 33) % bound
}

/// Whatever the moment, every file is whole at one end at least, and never half at the other.
#[test]
fn a_move_killed_at_any_moment_has_every_file_whole_at_one_end() {
    let here = Workspace::new();
    let sizes: Vec<usize> = (0..60).map(|number| 2_000 + number).chain([2_000_000, 3_000_000]).collect();
    let mut whole_ns = None;
    for round in 0..25 {
        fs::create_dir(here.path("data")).unwrap();
        for (number, size) in sizes.iter().enumerate() {
            fs::write(here.path("data").join(number.to_string()), content(*size)).unwrap();
        }
        let words = [
            "copy",
            "--no-store",
            "--move",
            "--resume",
            "--limit",
            "60MB/s",
            "--reflink",
            "never",
            "data",
            "to",
        ];
        let clock = MonotonicClock::new();
        let Some(whole_ns) = whole_ns else {
            here.run(&words).expect_status(0);
            whole_ns = Some(clock.now_ns());
            fs::remove_dir_all(here.path("to")).unwrap();
            continue;
        };
        let mut seed = round;
        let copy = here.start(&words);
        clock.sleep_until(draw(&mut seed, whole_ns));
        copy.signal("KILL");
        copy.ended();
        for (number, size) in sizes.iter().enumerate() {
            let read = |root: &str| fs::read(here.path(root).join(number.to_string())).ok();
            let (from, to) = (read("data"), read("to"));
            assert!(from.is_some() || to.is_some(), "round {round}: file {number} is lost");
            for found in [from, to].into_iter().flatten() {
                assert!(found == content(*size), "round {round}: file {number} is not whole");
            }
        }
        if here.path("data").exists() {
            here.run(&words).expect_status(0);
        }
        assert!(!here.path("data").exists(), "round {round}");
        let mut moved = names(&here.path("to"));
        // The mark of a tree whose last source was just gone when the process was killed.
        moved.retain(|name| !name.starts_with(".unfinished."));
        assert_eq!(moved.len(), sizes.len(), "round {round}");
        fs::remove_dir_all(here.path("to")).unwrap();
    }
}
