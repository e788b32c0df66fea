//! Which files a copy takes: filters, lists, equal and newer files, and what a dry run says about it.

use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, SystemTime};

use iostall_measure::clock::utc_now;
use serde_json::Value;

use crate::copy::{content, names};
use crate::support::{Ran, Workspace};

/// A tree with files to take and to leave.
fn tree(here: &Workspace) {
    for directory in ["data/deep", "data/cache/deep"] {
        fs::create_dir_all(here.path(directory)).unwrap();
    }
    for (name, size) in [
        ("a.bin", 3_000_000),
        ("a.tmp", 10),
        ("deep/b.bin", 2_000),
        ("deep/b.tmp", 20),
        ("cache/x", 5),
        ("cache/deep/y", 5),
    ] {
        fs::write(here.path("data").join(name), content(size)).unwrap();
    }
}

/// Sets the modification time to so many days ago.
fn age(path: &Path, days: u64) {
    let time = SystemTime::from(utc_now()) - Duration::from_secs(days * 86_400);
    File::options().write(true).open(path).unwrap().set_modified(time).unwrap();
}

/// All files below a directory.
fn files(root: &Path) -> Vec<String> {
    fn walk(root: &Path, at: &Path, found: &mut Vec<String>) {
        for name in names(at) {
            let path = at.join(name);
            if path.is_dir() {
                walk(root, &path, found);
            } else {
                found.push(path.strip_prefix(root).unwrap().display().to_string());
            }
        }
    }
    let mut found = Vec::new();
    walk(root, root, &mut found);
    found.sort();
    found
}

/// Somebody with `rsync --exclude` in the fingers had to name files one by one.
#[test]
fn names_are_left_out_by_the_first_pattern_that_matches() {
    let here = Workspace::new();
    tree(&here);
    let copied = |words: &[&str], to: &str| {
        here.run(&[&["copy", "--json", "o.json"], words, &["data", to]].concat()).expect_status(0);
        files(&here.path(to))
    };
    assert_eq!(copied(&["--exclude", "*.tmp", "--exclude", "cache/"], "one"), ["a.bin", "deep/b.bin"]);
    assert_eq!(here.json("o.json")["copy"]["counts"]["excluded"], 3);
    let kept = ["--include", "a.tmp", "--exclude", "*.tmp", "--exclude", "/cache"];
    assert_eq!(copied(&kept, "two"), ["a.bin", "a.tmp", "deep/b.bin"]);
    assert_eq!(
        copied(&["--include", "*.bin", "--include", "*/", "--exclude", "*"], "three"),
        ["a.bin", "deep/b.bin"]
    );
    let ran = here.run(&["copy", "--include", "*.bin", "data", "four"]).expect_status(2);
    assert!(ran.stderr.contains("--exclude"), "{}", ran.stderr);
    here.run(&["copy", "--exclude", "a[b", "data", "four"]).expect_status(2);
    // Files that are named are chosen too; a directory that is named is what was wanted.
    fs::create_dir(here.path("five")).unwrap();
    here.run(&["copy", "--exclude", "data", "--exclude", "*.tmp", "data", "data/a.tmp", "five"])
        .expect_status(0);
    assert_eq!(
        files(&here.path("five")),
        ["data/a.bin", "data/cache/deep/y", "data/cache/x", "data/deep/b.bin"]
    );
}

#[test]
fn files_are_left_out_by_size_and_age() {
    let here = Workspace::new();
    tree(&here);
    age(&here.path("data/a.tmp"), 30);
    age(&here.path("data/deep/b.bin"), 30);
    let copied = |words: &[&str], to: &str| {
        here.run(&[&["copy"], words, &["data", to]].concat()).expect_status(0);
        files(&here.path(to))
    };
    assert_eq!(
        copied(&["--min-size", "10", "--max-size", "2000"], "one"),
        ["a.tmp", "deep/b.bin", "deep/b.tmp"]
    );
    assert_eq!(copied(&["--older-than", "7d"], "two"), ["a.tmp", "deep/b.bin"]);
    assert_eq!(copied(&["--newer-than", "7d", "--min-size", "6"], "three"), ["a.bin", "deep/b.tmp"]);
    let ran = here.run(&["copy", "--newer-than", "soon", "data", "four"]).expect_status(2);
    assert!(ran.stderr.contains("--newer-than") && ran.stderr.contains("hint:"), "{}", ran.stderr);
}

#[test]
fn a_list_chooses_files_and_whole_directories_and_what_it_misses_is_said() {
    let here = Workspace::new();
    tree(&here);
    fs::write(here.path("list"), "a.bin\n/cache/\n").unwrap();
    here.run(&["copy", "--files-from", "list", "data", "one"]).expect_status(0);
    assert_eq!(files(&here.path("one")), ["a.bin", "cache/deep/y", "cache/x"]);
    assert!(!here.path("one/deep").exists());

    fs::write(here.path("list"), "deep/b.bin\ndeep/absent\n").unwrap();
    let ran = here.run(&["copy", "--files-from", "list", "data", "two"]).expect_status(1);
    assert!(ran.stderr.contains("deep/absent"), "{}", ran.stderr);
    let found = files(&here.path("two"));
    assert!(
        found.len() == 2 && found[0].starts_with(".unfinished.") && found[1] == "deep/b.bin",
        "{found:?}"
    );

    fs::write(here.path("list"), "../../etc/passwd\n").unwrap();
    here.run(&["copy", "--files-from", "list", "data", "three"]).expect_status(2);
    fs::write(here.path("list"), "a.bin\n").unwrap();
    here.run(&["copy", "--files-from", "list", "data/a.bin", "three"]).expect_status(2);
    assert!(!here.path("three").exists());

    let mut command = here.command(&["copy", "--files-from", "-", "-0", "data", "four"]);
    let mut copy =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    copy.stdin.take().unwrap().write_all(b"deep/b.tmp\0a.tmp\0").unwrap();
    Ran::from(copy.wait_with_output().unwrap()).expect_status(0);
    assert_eq!(files(&here.path("four")), ["a.tmp", "deep/b.tmp"]);
}

/// The number of entries of each action.
fn totals(run: &Value) -> Vec<(String, u64)> {
    let totals = run["copy"]["dry_run"]["totals"].as_array().unwrap();
    let total =
        |total: &Value| (total["action"].as_str().unwrap().to_owned(), total["entries"].as_u64().unwrap());
    totals.iter().map(total).collect()
}

/// Before the first copy onto a production server, everybody wants to see what it would do.
#[test]
fn a_dry_run_says_what_would_be_done_and_makes_nothing() {
    let here = Workspace::new();
    tree(&here);
    fs::create_dir_all(here.path("to/data/deep")).unwrap();
    fs::write(here.path("to/data/a.tmp"), "older").unwrap();
    age(&here.path("to/data/a.tmp"), 3);
    fs::write(here.path("to/data/deep/b.bin"), "newer").unwrap();
    age(&here.path("data/deep/b.bin"), 3);
    let before = files(&here.path("to"));
    let dry = ["copy", "--dry-run", "--update", "--log", "copy.log", "--json", "o.json", "data", "to"];
    let ran = here.run(&dry).expect_status(0);
    assert!(ran.stdout.contains("dry run: copy 4"), "{}", ran.stdout);
    assert!(ran.stdout.contains("replace to/data/a.tmp"), "{}", ran.stdout);
    let expected = [("copy", 4), ("replace", 1), ("create", 2), ("keep-newer", 1)];
    assert_eq!(totals(&here.json("o.json")), expected.map(|(name, count)| (name.to_owned(), count)));
    assert_eq!(files(&here.path("to")), before);
    assert_eq!(names(&here.path(".")), ["data", "o.json", "to"]);
    assert!(!here.path("store.db").exists(), "a dry run is not stored");
    // What cannot be copied is known before.
    let ran = here.run(&["copy", "--dry-run", "data", "to"]).expect_status(1);
    assert!(ran.stderr.contains("exists"), "{}", ran.stderr);
    here.run(&["copy", "--dry-run", "data", "no/such/dir"]).expect_status(2);
    // And the same line without it does what was said.
    here.run(&[&["copy"], &dry[2..]].concat()).expect_status(0);
    let counts = here.json("o.json")["copy"]["counts"].clone();
    assert_eq!((&counts["files"], &counts["newer_there"]), (&5.into(), &1.into()));
    assert_eq!(fs::read(here.path("to/data/deep/b.bin")).unwrap(), b"newer");
}

/// A nightly copy failed with "exists", or copied everything again.
#[test]
fn an_update_copies_what_is_missing_or_older_and_nothing_else() {
    let here = Workspace::new();
    tree(&here);
    let update = ["copy", "--update", "--json", "o.json", "data", "to"];
    fs::create_dir(here.path("to")).unwrap();
    here.run(&update).expect_status(0);
    let counted = || here.json("o.json")["copy"]["counts"].clone();
    assert_eq!(counted()["files"], 6);
    let ran = here.run(&update).expect_status(0);
    assert_eq!((counted()["files"].as_u64(), counted()["already_there"].as_u64()), (Some(0), Some(6)));
    assert!(!ran.stdout.contains("earlier try"), "{}", ran.stdout);
    fs::write(here.path("data/a.bin"), content(3_000_001)).unwrap();
    fs::write(here.path("to/data/a.tmp"), "changed there").unwrap();
    age(&here.path("data/a.tmp"), 1);
    here.run(&update).expect_status(0);
    assert_eq!((counted()["files"].as_u64(), counted()["newer_there"].as_u64()), (Some(1), Some(1)));
    assert_eq!(fs::read(here.path("to/data/a.bin")).unwrap(), content(3_000_001));
    assert_eq!(fs::read(here.path("to/data/a.tmp")).unwrap(), b"changed there");
}

#[test]
fn with_checksum_the_content_decides_and_times_do_not() {
    let here = Workspace::new();
    tree(&here);
    here.run(&["copy", "data", "to"]).expect_status(0);
    for name in files(&here.path("data")) {
        age(&here.path("data").join(name), 10);
    }
    let mut changed = content(3_000_000);
    changed[2_900_000] ^= 1;
    fs::write(here.path("to/a.bin"), &changed).unwrap();
    age(&here.path("to/a.bin"), 10);
    let checksum = |words: &[&str]| {
        let sources: Vec<PathBuf> = ["a.bin", "a.tmp"].map(|name| here.path("data").join(name)).to_vec();
        let sources: Vec<&str> = sources.iter().map(|path| path.to_str().unwrap()).collect();
        here.run(&[&["copy", "--checksum", "--json", "o.json"], words, &sources, &["to"]].concat())
    };
    let ran = checksum(&[]).expect_status(1);
    assert!(ran.stderr.contains("a.bin exists") && !ran.stderr.contains("a.tmp"), "{}", ran.stderr);
    assert_eq!(fs::read(here.path("to/a.bin")).unwrap(), changed);
    checksum(&["--overwrite"]).expect_status(0);
    let counts = here.json("o.json")["copy"]["counts"].clone();
    assert_eq!((counts["files"].as_u64(), counts["already_there"].as_u64()), (Some(1), Some(1)));
    assert_eq!(fs::read(here.path("to/a.bin")).unwrap(), content(3_000_000));
}

/// A listed name below a link to a directory was not copied, and the exit status was 0.
#[test]
fn a_listed_name_that_the_copy_does_not_come_to_is_a_failure() {
    let here = Workspace::new();
    fs::create_dir_all(here.path("t/real")).unwrap();
    fs::create_dir_all(here.path("t/left-out")).unwrap();
    for name in ["t/real/f", "t/left-out/g"] {
        fs::write(here.path(name), "1").unwrap();
    }
    symlink("real", here.path("t/lnk")).unwrap();
    let list = |names: &str| fs::write(here.path("list"), names).unwrap();
    list("lnk/f\n");
    let words = ["copy", "--files-from", "list", "t", "o"];
    let ran = here.run(&words).expect_status(2);
    assert!(ran.stderr.contains("t/lnk/f") && ran.stderr.contains("--symlinks follow"), "{}", ran.stderr);
    list("lnk/f\nreal\nreal/f\nleft-out/g\n");
    let words = ["copy", "--files-from", "list", "--exclude", "left-out", "--json", "o.json", "t", "p"];
    here.run(&words).expect_status(1);
    assert_eq!(here.json("o.json")["copy"]["not_copied"].as_array().unwrap().len(), 2);
    assert!(here.path("p/real/f").exists());
    here.run(&["copy", "--files-from", "list", "--symlinks", "follow", "t", "q"]).expect_status(0);
    assert!(here.path("q/lnk/f").exists() && here.path("q/left-out/g").exists());
}

/// "0 B in 0 files copied", exit status 0, did not say that nothing had been selected.
#[test]
fn a_selection_of_nothing_is_said() {
    let here = Workspace::new();
    fs::create_dir_all(here.path("t/a")).unwrap();
    fs::write(here.path("t/a/f"), "1").unwrap();
    let ran = here.run(&["copy", "-q", "--exclude", "*", "t", "o"]).expect_status(0);
    assert!(ran.stderr.contains("nothing was selected"), "{}", ran.stderr);
    let ran = here.run(&["copy", "-q", "--include", "a/***", "--exclude", "*", "t", "p"]).expect_status(0);
    assert!(ran.stderr.is_empty() && here.path("p/a/f").exists(), "{}", ran.stderr);
}
