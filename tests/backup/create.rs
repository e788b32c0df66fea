//! Backups of files and trees, restored and compared.

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Stdio;

use crate::copy::content;
use crate::copy_media::Volume;
use crate::support::{Workspace, until};

/// Large and small files, holes, links and empty directories.
pub(super) fn tree(at: &Path) {
    fs::create_dir_all(at.join("base/16384")).unwrap();
    fs::create_dir(at.join("empty directory")).unwrap();
    fs::write(at.join("large.mdf"), content(9_000_001)).unwrap();
    fs::write(at.join("empty"), "").unwrap();
    for number in 0..50_usize {
        fs::write(at.join("base/16384").join(format!("{number}")), content(number * 777)).unwrap();
    }
    let sparse = File::create(at.join("sparse")).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&sparse, &content(5_000), 20 << 20).unwrap();
    symlink("base/16384", at.join("link")).unwrap();
}

/// What is in a directory.
pub(super) fn names(at: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(at).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Three directories for stripes.
pub(super) fn shelves(here: &Workspace) {
    for name in ["b1", "b2", "b3"] {
        fs::create_dir(here.path(name)).unwrap();
    }
}

const THREE: [&str; 6] = ["--to", "b1/shop.iob", "--to", "b2/shop.iob", "--to", "b3/shop.iob"];

/// The story: nobody could tell which files made a backup, and whether all of them were there.
#[test]
fn a_tree_on_three_stripes_is_one_set_with_its_manifest_beside_each() {
    let here = Workspace::new();
    shelves(&here);
    tree(&here.path("shop"));
    let create = [&["backup", "create"][..], &THREE, &["--json", "b.json", "shop"]].concat();
    let ran = here.run(&create).expect_status(0);
    let whole = ran.stdout.replace("\n  ", " ");
    for words in [
        "processed ",
        " seconds (",
        " MB/sec)",
        "; compressed ",
        "; source ",
        ", compressed ",
        ", written ",
        "whole and durable: ",
    ] {
        assert!(whole.contains(words), "{words}: {}", ran.stdout);
    }
    let run = here.json("b.json");
    let backup = &run["backup"];
    let stripes = backup["stripes"].as_array().unwrap();
    assert_eq!(stripes.len(), 3);
    // Each figure is that of the files and of the clock.
    let number = |value: &serde_json::Value| value.as_u64().unwrap();
    let elapsed_ns = number(&backup["elapsed_ns"]);
    let mut stored_bytes = 0;
    for stripe in stripes {
        let length = fs::metadata(here.path(stripe["path"].as_str().unwrap())).unwrap().len();
        assert_eq!(number(&stripe["bytes"]), length, "{stripe}");
        assert!((1..=elapsed_ns).contains(&number(&stripe["busy_ns"])), "{stripe}");
        stored_bytes += length;
    }
    assert_eq!(number(&backup["stored_bytes"]), stored_bytes);
    assert!((1..stored_bytes).contains(&number(&backup["compressed_bytes"])), "{backup}");
    let said: Vec<&str> = whole.split_whitespace().collect();
    let after = |word: &str| {
        let at = said.iter().position(|said| *said == word).unwrap() + 1;
        said[at].trim_start_matches('(').parse::<f64>().unwrap()
    };
    assert!((after("processed") - number(&backup["bytes"]) as f64).abs() < 0.5, "{whole}");
    let rate = after("processed") / 1_048_576.0 / (elapsed_ns as f64 / 1e9);
    assert!((after("seconds") / rate - 1.0).abs() < 0.01, "{} is not {rate}", after("seconds"));
    assert_eq!(names(&here.path("b1")), ["shop.iob", "shop.iob.manifest"]);
    let listed = here.run(&["backup", "list", "--json", "b1", "b2", "b3"]).expect_status(0);
    let listed: serde_json::Value = serde_json::from_str(&listed.stdout).unwrap();
    assert_eq!((&listed[0]["set"], &listed[0]["state"]), (&run["backup"]["set"], &"complete".into()));
    assert_eq!(listed[0]["run"], 1);
}

#[test]
fn standard_input_is_a_source() {
    let here = Workspace::new();
    shelves(&here);
    fs::write(here.path("dump.sql"), content(3_000_000)).unwrap();
    let mut create = here.command(&["backup", "create", "--to", "b1/dump.iob", "--json", "b.json", "-"]);
    let input = File::open(here.path("dump.sql")).unwrap();
    assert!(create.stdin(Stdio::from(input)).status().unwrap().success());
    assert_eq!(here.json("b.json")["backup"]["bytes"], 3_000_000);
}

#[test]
fn an_encrypted_backup_shows_no_name_and_a_wrong_recipient_is_refused() {
    let here = Workspace::new();
    shelves(&here);
    tree(&here.path("shop"));
    here.secret("right", "correct horse battery staple\n");
    let create =
        ["backup", "create", "--to", "b1/s.iob", "--passphrase-file", "right", "--compress", "none", "shop"];
    here.run(&create).expect_status(0);
    for file in ["b1/s.iob", "b1/s.iob.manifest"] {
        let stored = fs::read(here.path(file)).unwrap();
        assert!(!stored.windows(10).any(|window| window == b"base/16384"), "{file}: names are not readable");
    }
    let open = ["backup", "list", "--json", "b1", "--passphrase-file", "right"];
    let listed: serde_json::Value = serde_json::from_str(&here.run(&open).expect_status(0).stdout).unwrap();
    assert!(listed[0]["source"].as_str().is_some_and(|source| source.ends_with("shop")), "{listed}");
    let ran = here
        .run(&["backup", "create", "--to", "b2/s.iob", "--encrypt-to", "age1nonsense", "shop"])
        .expect_status(2);
    assert!(ran.stderr.contains("age-keygen"), "{}", ran.stderr);
    assert_eq!(names(&here.path("b2")), [""; 0]);
}

/// How fast can it be read? Nothing is written, and there is nothing to restore.
#[test]
fn to_null_measures_and_leaves_nothing() {
    let here = Workspace::new();
    fs::create_dir(here.path("work")).unwrap();
    tree(&here.path("work/shop"));
    let ran =
        here.run(&["backup", "create", "--to", "null:", "--compress", "none", "work/shop"]).expect_status(0);
    let said = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("to null, so nothing was kept"), "{}", ran.stdout);
    assert!(!ran.stdout.contains("compressed"), "{}", ran.stdout);
    assert_eq!(names(&here.path("work")), ["shop"]);
    let ran = here.run(&["backup", "create", "--to", "null:", "--to", "s.iob", "work/shop"]).expect_status(2);
    assert!(ran.stderr.contains("one stripe of several") && ran.stderr.contains("hint: "), "{}", ran.stderr);
    let list = here.run(&["backup", "list", "--json"]).expect_status(0);
    assert_eq!(list.stdout.trim(), "[]");
}

#[test]
fn what_is_there_is_refused_and_so_is_what_makes_no_sense() {
    let here = Workspace::new();
    shelves(&here);
    fs::write(here.path("data"), content(100_000)).unwrap();
    fs::write(here.path("b1/taken.iob"), "mine").unwrap();
    for (options, words) in [
        ("--to b1/taken.iob data", "taken.iob"),
        ("--to b1/a.iob --to b1/a.iob data", "a.iob"),
        ("--to b1/a.iob absent", "absent"),
        ("--to nowhere/a.iob data", "nowhere"),
        ("--to b1/a.iob --compress gzip data", "zstd:LEVEL"),
        ("--to b1/a.iob --frame 3M data", "power of two"),
        ("--to b1/a.iob --frame 4M --transfer 1M data", "transfer"),
        ("--to b1/a.iob --limit 200 data", "MB/s"),
        ("--to b1/a.iob ftp://host/x", "no source of a backup"),
        ("data", "--to"),
    ] {
        let line: Vec<&str> = ["backup", "create"].into_iter().chain(options.split(' ')).collect();
        let ran = here.run(&line).expect_status(2);
        assert!(ran.stderr.contains(words), "{options}: {}", ran.stderr);
        assert_eq!(names(&here.path("b1")), ["taken.iob"], "{options}");
    }
    assert_eq!(fs::read(here.path("b1/taken.iob")).unwrap(), b"mine");
}

/// What SQL Server prints WITH STATS = 25.
#[test]
fn stats_print_a_line_after_every_so_many_percent() {
    let here = Workspace::new();
    shelves(&here);
    fs::write(here.path("data"), content(8_000_000)).unwrap();
    let ran = here.run(&["backup", "create", "--stats", "25", "--to", "b1/a.iob", "data"]).expect_status(0);
    let lines: Vec<&str> = ran.stderr.lines().filter(|line| line.contains(" percent processed.")).collect();
    assert!(lines.last().is_some_and(|last| last.starts_with("100 percent processed.")), "{}", ran.stderr);
}

/// The story: Ctrl-C in the middle of the night, and in the morning a file of the right name lay there.
#[test]
fn an_interrupted_backup_leaves_nothing_that_looks_whole() {
    let here = Workspace::new();
    shelves(&here);
    fs::write(here.path("data"), content(40_000_000)).unwrap();
    let create =
        here.start(&["backup", "create", "--limit", "2MB/s", "--to", "b1/a.iob", "--to", "b2/a.iob", "data"]);
    until("an unfinished stripe", || {
        names(&here.path("b1")).iter().any(|name| name.ends_with(".partial")).then_some(())
    });
    create.signal("INT");
    let ran = create.ended().expect_status(130);
    assert!(ran.stdout.contains("NOT COMPLETED"), "{}{}", ran.stdout, ran.stderr);
    assert_eq!((names(&here.path("b1")), names(&here.path("b2"))), (Vec::new(), Vec::new()));
    // The same line again is all there is to do.
    here.run(&["backup", "create", "--to", "b1/a.iob", "--to", "b2/a.iob", "data"]).expect_status(0);
}

/// The story: Ctrl-C while a database of 80 GB was copied beside the stripes, and the half copy filled the disk until somebody found it.
#[test]
fn an_interrupted_copy_of_a_database_leaves_nothing() {
    let here = Workspace::new();
    shelves(&here);
    let database = rusqlite::Connection::open(here.path("shop.db")).unwrap();
    database.pragma_update(None, "user_version", 7).unwrap();
    // Another program keeps it locked, so the copy waits.
    database.execute_batch("BEGIN EXCLUSIVE").unwrap();
    let mut create = here.start(&["backup", "create", "--to", "b1/shop.iob", "sqlite:shop.db"]);
    create.wait_until("the copy", |_| names(&here.path("b1")).iter().any(|name| name.contains(".iostall-")));
    create.signal("INT");
    let ran = create.ended().expect_status(130);
    assert_eq!(names(&here.path("b1")), [""; 0], "{}", ran.stderr);
    database.execute_batch("COMMIT").unwrap();
    here.run(&["backup", "create", "--to", "b1/shop.iob", "sqlite:shop.db"]).expect_status(0);
}

#[test]
fn a_full_disk_leaves_nothing_that_looks_whole() {
    let here = Workspace::new();
    let Some(volume) = Volume::new(&here, "ext4", 512, 24) else { return };
    fs::write(here.path("data"), content(60_000_000)).unwrap();
    let stripe = volume.mounted_at.join("a.iob");
    // It may shrink, so it is tried; it does not.
    let line = ["backup", "create", "--to", stripe.to_str().unwrap(), "data"];
    let ran = here.run(&line).expect_status(2);
    assert!(ran.stderr.contains("a.iob") || ran.stderr.contains("No space"), "{}", ran.stderr);
    assert!(
        !names(&volume.mounted_at).iter().any(|name| name.contains("a.iob")),
        "{:?}",
        names(&volume.mounted_at)
    );
}
