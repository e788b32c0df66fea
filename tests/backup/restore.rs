//! Backups restored and checked.

use std::fs::{self, File};
use std::process::Stdio;

use super::create::{names, shelves, tree};
use crate::copy::content;
use crate::support::Workspace;

const THREE: [&str; 6] = ["--to", "b1/shop.iob", "--to", "b2/shop.iob", "--to", "b3/shop.iob"];

/// The story: nobody had ever restored one.
#[test]
fn a_tree_on_three_stripes_is_verified_and_restored_as_it_was() {
    let here = Workspace::new();
    shelves(&here);
    tree(&here.path("shop"));
    let create = [&["backup", "create"][..], &THREE, &["--json", "b.json", "shop"]].concat();
    here.run(&create).expect_status(0);
    let run = here.json("b.json");
    assert_eq!(run["backup"]["stripes"].as_array().unwrap().len(), 3);
    let set = run["backup"]["set"].as_str().unwrap().to_owned();
    assert_eq!(names(&here.path("b1")), ["shop.iob", "shop.iob.manifest"]);

    // Any of its files leads to the set.
    for from in ["b1/shop.iob.manifest", "b1/shop.iob"] {
        let ran = here
            .run(&["backup", "verify", "--expect", &set, from, "b2/shop.iob", "b3/shop.iob"])
            .expect_status(0);
        assert!(ran.stdout.replace("\n  ", " ").contains("the backup is whole"), "{}", ran.stdout);
    }
    let restore = ["backup", "restore", "b1/shop.iob", "b2/shop.iob", "b3/shop.iob", "--to", "restored"];
    let ran = here.run(&restore).expect_status(0);
    assert!(ran.stdout.replace("\n  ", " ").contains("restored is whole and durable"), "{}", ran.stdout);
    here.run(&["verify", "shop", "restored"]).expect_status(0);
    // What is there is never replaced.
    let ran = here.run(&restore).expect_status(2);
    assert!(ran.stderr.contains("hint: "), "{}", ran.stderr);
    here.run(&["verify", "shop", "restored"]).expect_status(0);
}

#[test]
fn standard_input_is_a_source_and_one_file_comes_back_alone() {
    let here = Workspace::new();
    shelves(&here);
    fs::write(here.path("dump.sql"), content(3_000_000)).unwrap();
    let mut create = here.command(&["backup", "create", "--to", "b1/dump.iob", "-"]);
    let input = File::open(here.path("dump.sql")).unwrap();
    let status = create.stdin(Stdio::from(input)).status().unwrap();
    assert!(status.success());
    here.run(&["backup", "restore", "b1/dump.iob", "--to", "back.sql"]).expect_status(0);
    assert_eq!(fs::read(here.path("back.sql")).unwrap(), content(3_000_000));

    tree(&here.path("shop"));
    here.run(&["backup", "create", "--to", "b2/shop.iob", "shop"]).expect_status(0);
    let only =
        ["backup", "restore", "b2/shop.iob", "--to", "seven", "--only", "base/16384/7", "--json", "r.json"];
    here.run(&only).expect_status(0);
    assert!(here.path("seven").exists());
    // What was read is said, not what there is: the rate of a stripe was that of the whole file.
    let restore = &here.json("r.json")["restore"];
    let stripe = &restore["stripes"][0];
    let number = |value: &serde_json::Value| value.as_u64().unwrap();
    assert_eq!(number(&stripe["bytes"]), number(&restore["stored_bytes"]), "{restore}");
    assert!(
        number(&stripe["bytes"]) < fs::metadata(here.path("b2/shop.iob")).unwrap().len() / 2,
        "{restore}"
    );
    assert!((1..=number(&restore["elapsed_ns"])).contains(&number(&stripe["busy_ns"])), "{restore}");
}

#[test]
fn an_encrypted_backup_opens_with_its_passphrase_and_with_no_other() {
    let here = Workspace::new();
    shelves(&here);
    tree(&here.path("shop"));
    here.secret("right", "correct horse battery staple\n");
    here.secret("wrong", "Tr0ub4dor&3\n");
    let create = ["backup", "create", "--to", "b1/s.iob", "--passphrase-file", "right", "shop"];
    here.run(&create).expect_status(0);
    let stored = fs::read(here.path("b1/s.iob")).unwrap();
    assert!(!stored.windows(16).any(|window| window == b"base/16384/4" as &[u8]), "names are not readable");
    for key in [&["--passphrase-file", "wrong"][..], &[]] {
        let line = [&["backup", "restore", "b1/s.iob", "--to", "r"], key].concat();
        let ran = here.run(&line).expect_status(2);
        assert!(ran.stderr.contains("hint: ") && !here.path("r").exists(), "{}", ran.stderr);
    }
    here.run(&["backup", "restore", "b1/s.iob", "--to", "r", "--passphrase-file", "right"]).expect_status(0);
    here.run(&["verify", "shop", "r"]).expect_status(0);
    let ran = here
        .run(&["backup", "create", "--to", "b2/s.iob", "--encrypt-to", "age1nonsense", "shop"])
        .expect_status(2);
    assert!(ran.stderr.contains("age-keygen"), "{}", ran.stderr);
    assert_eq!(names(&here.path("b2")), [""; 0]);
}
