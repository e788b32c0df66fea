//! `iostall verify`: manifests from iostall and other tools, damage found, exit statuses.

use std::fs::{self, File};
use std::os::unix::fs::FileExt as _;
use std::process::Command;

use crate::copy::content;
use crate::support::{Workspace, skip};

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
