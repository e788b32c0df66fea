//! `iostall verify`: manifests from iostall and other tools, damage found, exit statuses.

use std::fs::{self, File};
use std::os::unix::fs::FileExt as _;
use std::process::Command;

use crate::copy::content;
use crate::support::{Ran, Workspace, skip};

#[test]
fn a_manifest_of_a_copy_is_checked_later_and_finds_what_changed() {
    let here = Workspace::new();
    fs::write(here.path("from"), content(5_000_000)).unwrap();
    here.run(&["copy", "--verify", "--manifest", "m.json", "from", "to"]).expect_status(0);
    here.run(&["verify", "m.json"]).expect_status(0);
    File::options().write(true).open(here.path("to")).unwrap().write_all_at(b"!", 3_200_000).unwrap();
    let ran = here.run(&["verify", "--json", "o.json", "m.json"]).expect_status(1);
    assert!(ran.stdout.contains("DIFFERENT to: first differs between bytes 3145728 and"), "{}", ran.stdout);
    assert_eq!(here.json("o.json")["verify"]["mismatches"][0]["first_offset"], 3_145_728);
    fs::remove_file(here.path("to")).unwrap();
    let ran = here.run(&["verify", "m.json"]).expect_status(1);
    assert!(ran.stdout.contains("cannot find to"), "{}", ran.stdout);
}

#[test]
fn lists_are_exchanged_with_md5sum_and_sha256sum() {
    // UBCopy hashed only the last, short block, so its MD5 never matched another tool's.
    let here = Workspace::new();
    fs::write(here.path("from"), content(2_345_678)).unwrap();
    for (hash, tool) in [("md5", "md5sum"), ("sha256", "sha256sum")] {
        let list = format!("list.{hash}");
        here.run(&["copy", "--overwrite", "--hash", hash, "--manifest", &list, "from", "to"])
            .expect_status(0);
        match Command::new(tool).arg("-c").arg(&list).current_dir(here.path(".")).output() {
            Ok(checked) => assert!(checked.status.success(), "{tool}: {checked:?}"),
            Err(error) => skip(tool, &error.to_string()),
        }
        here.run(&["verify", &list]).expect_status(0);
        if let Ok(made) = Command::new(tool).arg("to").current_dir(here.path(".")).output() {
            fs::write(here.path("theirs"), made.stdout).unwrap();
            here.run(&["verify", "--hash", hash, "theirs"]).expect_status(0);
        }
    }
    let ran = here.run(&["verify", "theirs"]).expect_status(2);
    assert!(ran.stderr.contains("blake3 or sha256") && ran.stderr.contains("--hash"), "{}", ran.stderr);
}

#[test]
fn every_checksum_makes_a_list_that_verifies() {
    let here = Workspace::new();
    fs::write(here.path("from"), content(1_300_000)).unwrap();
    for hash in ["xxh3", "blake3", "crc32c"] {
        let list = format!("list.{hash}");
        here.run(&["copy", "--overwrite", "--verify", "--hash", hash, "--manifest", &list, "from", "to"])
            .expect_status(0);
        here.run(&["verify", &list]).expect_status(0);
    }
}

#[test]
fn what_is_no_manifest_is_refused() {
    let here = Workspace::new();
    fs::write(here.path("junk"), "hello\n").unwrap();
    let ran = here.run(&["verify", "junk"]).expect_status(2);
    assert!(ran.stderr.contains("junk") && ran.stderr.contains("line 1"), "{}", ran.stderr);
    let ran = here.run(&["verify", "absent"]).expect_status(2);
    assert!(ran.stderr.contains("hint:") && ran.stderr.contains("--manifest"), "{}", ran.stderr);
}

/// A list with relative names was of use only in the directory where it was made, and `md5sum -z`, a pipe and
/// a second tree were refused.
#[test]
fn a_list_is_checked_below_another_directory_from_a_pipe_and_with_zero_bytes() {
    let here = Workspace::new();
    for root in ["one", "restored"] {
        fs::create_dir_all(here.path(root).join("sub")).unwrap();
        fs::write(here.path(root).join("sub/a\nb"), content(5_000)).unwrap();
    }
    fs::write(here.path("restored/extra"), "x").unwrap();
    here.run(&["copy", "--resume", "--manifest", "m.json", "one/sub", "one/copy"]).expect_status(0);
    fs::rename(here.path("one/copy"), here.path("restored/one")).unwrap();
    let mut made = Command::new("md5sum");
    let Ok(made) = made.args(["-z", "sub/a\nb"]).current_dir(here.path("one")).output() else {
        return skip("md5sum -z", "there is no md5sum");
    };
    fs::write(here.path("list.md5"), &made.stdout).unwrap();
    let verify = |words: &[&str]| here.run(&[&["verify", "--json", "o.json"], words].concat());
    verify(&["list.md5"]).expect_status(1);
    verify(&["--root", "one", "list.md5"]).expect_status(0);
    verify(&["--root", "restored", "list.md5"]).expect_status(0);
    let ran = verify(&["--root", "restored", "--extra", "list.md5"]).expect_status(1);
    assert!(ran.stdout.contains("EXTRA restored/extra"), "{}", ran.stdout);
    assert_eq!(here.json("o.json")["verify"]["extra"].as_array().unwrap().len(), 2);
    verify(&["--extra", "list.md5"]).expect_status(2);

    let file = File::open(here.path("list.md5")).unwrap();
    let piped = here
        .shell("cat list.md5 | \"$0\" verify --hash md5 --root one -")
        .arg(crate::support::binary())
        .output();
    Ran::from(piped.unwrap()).expect_status(0);
    let mut command = here.command(&["verify", "--hash", "md5", "--root", "one", "-"]);
    Ran::from(command.stdin(file).output().unwrap()).expect_status(0);
}

#[test]
fn two_trees_are_compared_and_what_differs_is_named() {
    let here = Workspace::new();
    fs::create_dir_all(here.path("data/sub")).unwrap();
    fs::write(here.path("data/sub/a"), content(3_000_000)).unwrap();
    fs::write(here.path("data/b"), content(10)).unwrap();
    here.run(&["copy", "data", "to"]).expect_status(0);
    let ran = here.run(&["verify", "data", "to"]).expect_status(0);
    assert!(ran.stdout.contains("2 of 2 files"), "{}", ran.stdout);
    File::options().write(true).open(here.path("to/sub/a")).unwrap().write_all_at(b"!", 2_000_003).unwrap();
    fs::write(here.path("to/extra"), "x").unwrap();
    fs::remove_file(here.path("to/b")).unwrap();
    let ran = here.run(&["verify", "--json", "o.json", "data", "to"]).expect_status(1);
    for words in ["EXTRA to/extra", "DIFFERENT to/b: is not there", "first at byte 2000003"] {
        assert!(ran.stdout.contains(words), "{words}: {}", ran.stdout);
    }
    here.run(&["verify", "data", "absent"]).expect_status(2);
    here.run(&["verify", "data"]).expect_status(2);
}
