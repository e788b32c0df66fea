//! Increments end to end: created, restored, checked, listed, pruned, and killed.

use std::fs;

use serde_json::Value;

use super::attacks::words_of;
use super::create::{names, shelves, tree};
use crate::copy::content;
use crate::copy_crash::{killed, timed};
use crate::support::{Ran, Workspace};

const TO: [&str; 2] = ["b1", "b2"];

/// Backs up `shop` as `name` on both shelves, with more words.
fn create(here: &Workspace, name: &str, more: &[&str]) -> Ran {
    let stripes = TO.map(|shelf| format!("{shelf}/{name}.iob"));
    let line = ["backup", "create", "--frame", "64K", "--to", &stripes[0], "--to", &stripes[1]];
    here.run(&[&line[..], more, &["shop"]].concat())
}

fn restored(here: &Workspace, name: &str, more: &[&str]) -> Ran {
    let from = TO.map(|shelf| format!("{shelf}/{name}.iob"));
    let to = format!("restored-{name}");
    here.run(&[&["backup", "restore", &from[0], &from[1], "--to", &to][..], more].concat())
}

fn listed(here: &Workspace, more: &[&str]) -> Vec<Value> {
    let ran = here.run(&[&["backup", "list", "--json"][..], more].concat()).expect_status(0);
    serde_json::from_str(&ran.stdout).unwrap()
}

/// One night: a page of a large file, a new file, one that is gone, one with another name, one that grew.
fn change(here: &Workspace, night: usize) {
    let large = fs::OpenOptions::new().write(true).open(here.path("shop/large.mdf")).unwrap();
    let at = (night * 1_234_567) as u64;
    std::os::unix::fs::FileExt::write_all_at(&large, &content(8192), at).unwrap();
    let file = |name: usize| here.path(&format!("shop/base/16384/{name}"));
    fs::write(file(1000 + night), content(night * 100_000)).unwrap();
    fs::remove_file(file(night)).unwrap();
    fs::rename(file(10 + night), file(2000 + night)).unwrap();
    let mut grown = fs::read(file(20)).unwrap();
    grown.extend(content(30_000));
    fs::write(file(20), grown).unwrap();
}

/// A whole backup every night did not fit, so there was one a week.
#[test]
fn a_week_of_increments_comes_back_on_every_day_and_takes_little_room() {
    let here = Workspace::new();
    shelves(&here);
    tree(&here.path("shop"));
    create(&here, "0", &[]).expect_status(0);
    for night in 1..=5 {
        change(&here, night);
        // The newest one that is there.
        let name = night.to_string();
        let json = format!("{night}.json");
        create(&here, &name, &["--base", "b1", "--base", "b2", "--json", &json]).expect_status(0);
        let backup = &here.json(&json)["backup"];
        assert_eq!(backup["bases"].as_array().unwrap().len(), night, "{backup}");
        let of = |key: &str| backup[key].as_u64().unwrap();
        assert!(of("bytes") - of("base_bytes") < 1_200_000 && of("bytes") > 9_000_000, "{backup}");
        restored(&here, &name, &[]).expect_status(0);
        here.run(&["verify", "shop", &format!("restored-{night}")]).expect_status(0);
        let ran = here.run(&["backup", "verify", &format!("b1/{night}.iob.manifest")]).expect_status(0);
        let said = words_of(&ran);
        assert!(said.contains("the backup is whole") && said.contains("that it is based on"), "{said}");
        here.run(&["backup", "verify", "--headers", &format!("b1/{night}.iob")]).expect_status(0);
    }
    let all = listed(&here, &TO);
    assert_eq!(all.len(), 6);
    assert!(all.windows(2).all(|pair| pair[1]["base"] == pair[0]["set"]), "{all:?}");
    assert_eq!(all[0].get("base"), None);
    let shown = words_of(&here.run(&["backup", "list", "b1", "b2"]).expect_status(0));
    assert!(shown.contains(&all[4]["set"].as_str().unwrap()[..8]), "{shown}");
    // Only a part of it, from whichever set has it.
    let only = ["backup", "restore", "b1/5.iob.manifest", "--to", "large", "--only", "large.mdf"];
    here.run(&only).expect_status(0);
    assert_eq!(fs::read(here.path("large")).unwrap(), fs::read(here.path("shop/large.mdf")).unwrap());
}

#[test]
fn two_increments_on_one_base_come_back_without_each_other() {
    let here = Workspace::new();
    shelves(&here);
    tree(&here.path("shop"));
    create(&here, "whole", &[]).expect_status(0);
    change(&here, 1);
    create(&here, "one", &["--base", "b1/whole.iob.manifest"]).expect_status(0);
    change(&here, 2);
    create(&here, "two", &["--base", "b1/whole.iob", "--base", "b2/whole.iob"]).expect_status(0);
    for file in ["b1/one.iob", "b2/one.iob", "b1/one.iob.manifest", "b2/one.iob.manifest"] {
        fs::remove_file(here.path(file)).unwrap();
    }
    restored(&here, "two", &[]).expect_status(0);
    here.run(&["verify", "shop", "restored-two"]).expect_status(0);
}

/// The tapes with Sunday's backup were in the safe, and the restore of Wednesday's had run for two hours before it noticed.
#[test]
fn a_base_that_is_not_there_is_named_before_anything_is_restored_and_found_where_it_is_said_to_be() {
    let here = Workspace::new();
    shelves(&here);
    tree(&here.path("shop"));
    create(&here, "whole", &["--json", "w.json"]).expect_status(0);
    let base = here.json("w.json")["backup"]["set"].as_str().unwrap().to_owned();
    change(&here, 1);
    create(&here, "increment", &["--base", "b1"]).expect_status(0);
    fs::create_dir(here.path("safe")).unwrap();
    let moved = ["b1/whole.iob", "b2/whole.iob", "b1/whole.iob.manifest", "b2/whole.iob.manifest"];
    for (number, file) in (0..).zip(moved) {
        let name = ["whole.iob", "stripe-2.iob", "whole.iob.manifest", "again.manifest"][number];
        fs::rename(here.path(file), here.path("safe").join(name)).unwrap();
    }
    let ran = restored(&here, "increment", &[]).expect_status(1);
    let said = words_of(&ran);
    assert!(said.contains(&base) && said.contains("is missing") && said.contains("--base"), "{said}");
    assert!(!here.path("restored-increment").exists());
    let verify = ["backup", "verify", "b1/increment.iob.manifest"];
    let said = words_of(&here.run(&[&verify[..], &["--json", "v.json"]].concat()).expect_status(1));
    assert!(said.contains(&base) && !said.contains("DAMAGED"), "{said}");
    let damage = here.json("v.json")["backup-verify"]["damage"].clone();
    assert!(damage.as_array().unwrap().iter().all(|one| one["is_missing"] == true), "{damage}");
    let all = listed(&here, &TO);
    assert!(all[0]["wrong"].as_str().unwrap().contains("is not whole here"), "{all:?}");
    here.run(&[&verify[..], &["--base", "safe"]].concat()).expect_status(0);
    restored(&here, "increment", &["--base", "safe"]).expect_status(0);
    here.run(&["verify", "shop", "restored-increment"]).expect_status(0);
    here.run(&["backup", "drill", "b1", "b2", "--base", "safe", "--scratch", "."]).expect_status(0);
}

#[test]
fn what_cannot_be_the_base_is_refused_in_words() {
    let here = Workspace::new();
    shelves(&here);
    tree(&here.path("shop"));
    let refused = |more: &[&str], words: &str| {
        let ran = create(&here, "new", more).expect_status(2);
        assert!(words_of(&ran).contains(words), "{words}: {}", ran.stderr);
        assert!(!here.path("b1/new.iob").exists());
    };
    refused(&["--base", "b1"], "no whole backup of ");
    refused(&["--base", "b3/nothing"], "the base b3/nothing is not there");
    refused(&["--base", "b3/nothing"], "hint: name the manifest");
    create(&here, "whole", &[]).expect_status(0);
    refused(&["--base", "b1/whole.iob.manifest", "--frame", "1M"], "");
    refused(&["--base", "b1/whole.iob.manifest", "--base", "b2"], "b2 is a directory, and b1/whole");
    fs::rename(here.path("b2/whole.iob"), here.path("b2/lost")).unwrap();
    refused(&["--base", "b1/whole.iob.manifest"], "the stripe is missing");
    fs::rename(here.path("b2/lost"), here.path("b2/whole.iob")).unwrap();
    // Another source has no base there, but a base that is named is taken.
    fs::create_dir(here.path("other")).unwrap();
    fs::write(here.path("other/large.mdf"), content(9_000_001)).unwrap();
    let other = ["backup", "create", "--to", "b3/other.iob", "--base"];
    here.run(&[&other[..], &["b1", "other"]].concat()).expect_status(2);
    here.run(&[&other[..], &["b1/whole.iob.manifest", "--json", "o.json", "other"]].concat())
        .expect_status(0);
    assert_eq!(here.json("o.json")["backup"]["base_bytes"], 9_000_001);
}

/// Sunday's backup was older than the rule, and went; all of the week's increments were lost with it.
#[test]
fn prune_keeps_what_a_kept_increment_is_based_on() {
    let here = Workspace::new();
    shelves(&here);
    tree(&here.path("shop"));
    for name in ["old", "base"] {
        create(&here, name, &[]).expect_status(0);
    }
    change(&here, 1);
    create(&here, "one", &["--base", "b1/base.iob.manifest"]).expect_status(0);
    change(&here, 2);
    create(&here, "two", &["--base", "b1"]).expect_status(0);
    let prune = ["backup", "prune", "--keep-last", "1", "b1", "b2"];
    let said = words_of(&here.run(&prune).expect_status(0));
    assert!(said.contains("is based on it"), "{said}");
    let kept =
        ["base.iob", "base.iob.manifest", "one.iob", "one.iob.manifest", "two.iob", "two.iob.manifest"];
    assert_eq!(names(&here.path("b1")), kept);
    restored(&here, "two", &[]).expect_status(0);
    here.run(&["verify", "shop", "restored-two"]).expect_status(0);
    // When a whole one follows that is as well proven, all of them go.
    create(&here, "next", &[]).expect_status(0);
    here.run(&["backup", "verify", "b1/next.iob.manifest"]).expect_status(0);
    here.run(&prune).expect_status(0);
    assert_eq!(names(&here.path("b1")), ["next.iob", "next.iob.manifest"]);
}

#[test]
fn a_chain_that_is_encrypted_needs_one_passphrase_and_is_pruned_without_it() {
    let here = Workspace::new();
    shelves(&here);
    tree(&here.path("shop"));
    here.secret("right", "correct horse battery staple\n");
    let key = ["--passphrase-file", "right"];
    create(&here, "whole", &key).expect_status(0);
    change(&here, 1);
    let base = ["--base", "b1/whole.iob.manifest"];
    create(&here, "plain", &base).expect_status(2);
    create(&here, "increment", &[&base[..], &key].concat()).expect_status(0);
    create(&here, "again", &[&["--base", "b1", "--base", "b2"][..], &key].concat()).expect_status(0);
    restored(&here, "again", &key).expect_status(0);
    here.run(&["verify", "shop", "restored-again"]).expect_status(0);
    let prune = ["backup", "prune", "--keep-last", "1", "b1", "b2"];
    here.run(&prune).expect_status(0);
    let verify = [&["backup", "verify", "b1/again.iob.manifest"][..], &key].concat();
    here.run(&verify).expect_status(0);
    let without = ["backup", "verify", "--without-key", "b1/again.iob", "b2/again.iob"];
    here.run(&without).expect_status(0);
}

#[test]
fn an_increment_that_is_killed_is_whole_or_none() {
    let here = Workspace::new();
    shelves(&here);
    tree(&here.path("shop"));
    create(&here, "whole", &[]).expect_status(0);
    change(&here, 1);
    let line =
        ["backup", "create", "--no-store", "--to", "b1/k.iob", "--to", "b2/k.iob", "--base", "b1/whole.iob"];
    let line = [&line[..], &["--base", "b2/whole.iob", "shop"]].concat();
    let whole_ns = timed(&here, &line);
    let clear = || {
        for shelf in TO {
            for name in names(&here.path(shelf)) {
                if !name.starts_with("whole") {
                    fs::remove_file(here.path(shelf).join(name)).unwrap();
                }
            }
        }
    };
    for seed in 0..8_u64 {
        clear();
        let mut state = seed;
        killed(&here, &line, whole_ns + whole_ns / 8, &mut state);
        let verify = ["backup", "verify", "--no-store", "b1/k.iob", "b2/k.iob"];
        if here.path("b1/k.iob.manifest").exists() {
            here.run(&verify).expect_status(0);
        } else {
            let ran = here.run(&["backup", "restore", "--no-store", "b1/k.iob", "--to", "r"]);
            assert_ne!(ran.status, Some(0), "kill {seed}");
            assert!(!here.path("r").exists());
        }
    }
}

#[test]
fn a_lost_manifest_of_an_increment_is_made_again() {
    let here = Workspace::new();
    shelves(&here);
    tree(&here.path("shop"));
    create(&here, "whole", &[]).expect_status(0);
    change(&here, 1);
    create(&here, "increment", &["--base", "b1"]).expect_status(0);
    for shelf in TO {
        fs::remove_file(here.path(shelf).join("increment.iob.manifest")).unwrap();
    }
    here.run(&["backup", "rebuild", "b1/increment.iob", "b2/increment.iob"]).expect_status(0);
    restored(&here, "increment", &[]).expect_status(0);
    here.run(&["verify", "shop", "restored-increment"]).expect_status(0);
}
