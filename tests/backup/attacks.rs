//! Backups that something happened to: it is named, the exit status says so, and nothing is restored that looks whole.

use std::fs;
use std::path::{Path, PathBuf};

use super::create::{names, shelves};
use crate::copy::content;
use crate::support::{Ran, Workspace};

const BLOCK: usize = 4096;
const THREE: [&str; 3] = ["b1/shop.iob", "b2/shop.iob", "b3/shop.iob"];

/// A file in frames of its own and small ones that share a frame.
fn source(here: &Workspace) {
    fs::create_dir_all(here.path("shop")).unwrap();
    fs::write(here.path("shop/large.mdf"), content(700_000)).unwrap();
    for number in 0..5_usize {
        fs::write(here.path(&format!("shop/small{number}")), content(100 + number)).unwrap();
    }
}

/// Backs `shop` up onto stripes of this name, one on each of `shelves` shelves; returns the id of the set.
pub(super) fn made(here: &Workspace, name: &str, shelves: usize) -> String {
    let stripes: Vec<String> = (1..=shelves).map(|shelf| format!("b{shelf}/{name}")).collect();
    let to = stripes.iter().flat_map(|stripe| ["--to", stripe]);
    let start = ["backup", "create", "--frame", "64K", "--transfer", "64K", "--json", "made.json"];
    let line: Vec<&str> = start.into_iter().chain(to).chain(["shop"]).collect();
    here.run(&line).expect_status(0);
    here.json("made.json")["backup"]["set"].as_str().unwrap().to_owned()
}

/// `DAMAGED` lines and notes may be broken into lines of the terminal's width.
pub(super) fn words_of(ran: &Ran) -> String {
    format!("{} {}", ran.stdout, ran.stderr).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Verifies and restores the set of `b1/shop.iob.manifest`: both must say no with `words`, and nothing may have its name.
#[track_caller]
fn assert_named(here: &Workspace, words: &[&str], what: &str) {
    let before = names(&here.path(""));
    for line in [
        &["backup", "verify", "b1/shop.iob.manifest"][..],
        &["backup", "restore", "b1/shop.iob.manifest", "--to", "restored"],
    ] {
        let ran = here.run(line);
        assert_eq!(ran.status, Some(1), "{what}, {}: {}{}", line[1], ran.stdout, ran.stderr);
        let said = words_of(&ran);
        assert!(words.iter().all(|words| said.contains(words)), "{what}, {}: {said}", line[1]);
    }
    assert_eq!(names(&here.path("")), before, "{what}: something was left");
}

fn three(here: &Workspace) -> [PathBuf; 3] {
    shelves(here);
    source(here);
    made(here, "shop.iob", 3);
    THREE.map(|name| here.path(name))
}

/// The story: an operator tidied up the disks by hand, and put two stripes back under each other's names.
#[test]
fn a_stripe_that_is_missing_or_of_another_set_or_exchanged_is_named() {
    let here = Workspace::new();
    let stripes = three(&here);
    let other = made(&here, "other.iob", 3);
    for (number, path) in (1..).zip(&stripes) {
        let whole = fs::read(path).unwrap();
        fs::remove_file(path).unwrap();
        assert_named(&here, &[&format!("stripe {number},"), "the stripe is missing"], "removed");
        fs::copy(here.path(&format!("b{number}/other.iob")), path).unwrap();
        assert_named(
            &here,
            &[&format!("stripe {number},"), "a stripe of another set", &other],
            "of another set",
        );
        fs::write(path, "a letter").unwrap();
        assert_named(&here, &[&format!("stripe {number},")], "not a stripe");
        fs::write(path, &whole).unwrap();
    }
    let [one, two] = [fs::read(&stripes[0]).unwrap(), fs::read(&stripes[1]).unwrap()];
    fs::write(&stripes[0], &two).unwrap();
    fs::write(&stripes[1], &one).unwrap();
    assert_named(
        &here,
        &["this is stripe 2, and stripe 1 should have this name: they were exchanged"],
        "exchanged",
    );

    // Whoever names all stripes may call them what they like; it is said where each was found.
    fs::rename(&stripes[2], here.path("b3/renamed.iob")).unwrap();
    let all = ["b1/shop.iob", "b2/shop.iob", "b3/renamed.iob"];
    let restore = [&["backup", "restore"][..], &all, &["--to", "restored"]].concat();
    let ran = here.run(&restore).expect_status(0);
    let said = words_of(&ran);
    assert!(
        said.contains("stripe 3 was found in b3/renamed.iob; its name in the manifest is shop.iob"),
        "{said}"
    );
    here.run(&["verify", "shop", "restored"]).expect_status(0);
}

/// The blocks in which frames begin: those of data, bundles, entries, the index and the end.
fn frames(stripe: &[u8]) -> Vec<usize> {
    (0..stripe.len()).step_by(BLOCK).filter(|at| stripe[*at..].starts_with(b"IOSF")).collect()
}

#[test]
fn a_stripe_that_is_cut_off_at_any_frame_is_named() {
    let here = Workspace::new();
    let stripes = three(&here);
    for (number, path) in (1..).zip(&stripes) {
        let whole = fs::read(path).unwrap();
        let begins = frames(&whole);
        assert!(begins.len() >= 2, "an index and an end: {begins:?}");
        for end in begins.into_iter().chain([0, 1, BLOCK, whole.len() - 1]) {
            fs::write(path, &whole[..end]).unwrap();
            assert_named(
                &here,
                &[&format!("stripe {number},")],
                &format!("stripe {number} cut off at {end}"),
            );
        }
        fs::write(path, [&whole[..], &[0; BLOCK]].concat()).unwrap();
        assert_named(&here, &["something was added"], "grown");
        fs::write(path, &whole).unwrap();
    }
    here.run(&["backup", "verify", "b1/shop.iob.manifest"]).expect_status(0);
}

/// One byte of each part of a stripe: its header, each frame's header, content and padding; and of the manifest.
#[test]
fn a_flipped_byte_is_named_with_stripe_frame_place_and_file() {
    let here = Workspace::new();
    let stripes = three(&here);
    let set = here.json("made.json")["backup"]["set"].as_str().unwrap().to_owned();
    let mut named = 0;
    let copies = ["b2/shop.iob.manifest", "b3/shop.iob.manifest"];
    for copy in &copies {
        fs::remove_file(here.path(copy)).unwrap();
    }
    for (number, path) in (1..).zip(&stripes) {
        let whole = fs::read(path).unwrap();
        let begins = frames(&whole);
        let places = begins.iter().flat_map(|begin| [begin + 70, begin + 200, begin + BLOCK - 1]);
        for at in places.chain([9, BLOCK - 2]) {
            flip(path, &whole, at);
            assert_named(&here, &[&format!("stripe {number},")], &format!("byte {at} of stripe {number}"));
        }
        // Frames of kind 1 hold a part of one file.
        if let Some(begin) = begins.iter().find(|begin| whole[**begin + 4] == 1) {
            flip(path, &whole, begin + 200);
            let at = format!("at byte {begin}");
            let stripe = format!("DAMAGED stripe {number}, ");
            let words =
                [stripe.as_str(), at.as_str(), "shop.iob, frame ", "holds large.mdf, bytes ", "checksum"];
            let line = ["backup", "verify", "--json", "v.json", "b1/shop.iob.manifest"];
            let said = words_of(&here.run(&line).expect_status(1));
            assert!(words.iter().all(|words| said.contains(words)), "{words:?}: {said}");
            assert_eq!(here.json("v.json")["backup-verify"]["set"], set.as_str());
            named += 1;
        }
        fs::write(path, &whole).unwrap();
    }
    assert!(named > 0, "no stripe has a frame of the large file");
    let manifest = here.path("b1/shop.iob.manifest");
    let whole = fs::read(&manifest).unwrap();
    for at in [3, 20, 60, 127, 128, whole.len() / 2, whole.len() - 33, whole.len() - 1] {
        flip(&manifest, &whole, at);
        assert_named(&here, &["manifest"], &format!("byte {at} of the manifest"));
    }
}

fn flip(path: &Path, whole: &[u8], at: usize) {
    let mut flipped = whole.to_vec();
    flipped[at] ^= 0x20;
    fs::write(path, flipped).unwrap();
}

/// The story: the set of last month was put in the place of yesterday's. It was whole, so nobody noticed.
#[test]
fn an_older_set_offered_as_the_newest_is_named_by_the_store_or_by_expect() {
    let here = Workspace::new();
    shelves(&here);
    source(&here);
    let old = made(&here, "shop.iob", 1);
    let verify = ["backup", "verify", "b1/shop.iob"];
    let said = words_of(&here.run(&verify).expect_status(0));
    assert!(said.contains("the store knows no newer one of its source"), "{said}");
    fs::create_dir(here.path("kept")).unwrap();
    for name in ["shop.iob", "shop.iob.manifest"] {
        fs::rename(here.path("b1").join(name), here.path("kept").join(name)).unwrap();
    }
    let new = made(&here, "shop.iob", 1);
    for name in ["shop.iob", "shop.iob.manifest"] {
        fs::copy(here.path("kept").join(name), here.path("b1").join(name)).unwrap();
    }
    // The old one is whole, and a check of all that are kept says so.
    let ran = here.run(&[&verify[..], &["--json", "v.json"]].concat()).expect_status(0);
    let said = words_of(&ran);
    assert!(said.contains("NOT THE NEWEST: run #") && said.contains(&new), "{said}");
    assert_eq!(here.json("v.json")["backup-verify"]["newest"]["older"]["set"], new.as_str());
    // An older one may be what is wanted.
    here.run(&[&verify[..], &["--expect", &old]].concat()).expect_status(0);
    let said = words_of(&here.run(&[&verify[..], &["--expect", &new]].concat()).expect_status(1));
    assert!(said.contains(&format!("NOT THE EXPECTED SET: this is set {old}")), "{said}");

    let restore = ["backup", "restore", "b1/shop.iob", "--to"];
    let said = words_of(&here.run(&[&restore[..], &["no", "--expect", &new]].concat()).expect_status(1));
    assert!(said.contains("NOT THE EXPECTED SET") && said.contains("nothing was written"), "{said}");
    assert!(!here.path("no").exists());
    let said = words_of(&here.run(&[&restore[..], &["older"]].concat()).expect_status(0));
    assert!(said.contains("this is not the newest backup: run #") && said.contains(&new), "{said}");
    let ran = here.run(&[&restore[..], &["asked", "--expect", &old]].concat()).expect_status(0);
    assert!(!words_of(&ran).contains("not the newest"), "{}{}", ran.stdout, ran.stderr);

    // A store that has seen nothing cannot tell, and that is said.
    let elsewhere = ["--store", "other.db", "backup", "verify", "b1/shop.iob"];
    let said = words_of(&here.run(&elsewhere).expect_status(0));
    assert!(said.contains("whether it is the newest cannot be told from it"), "{said}");
}

/// What was wrong when a backup was made is said again to whoever relies on it.
#[test]
fn warnings_of_a_rebuilt_manifest_are_shown_by_verify_and_restore() {
    let here = Workspace::new();
    shelves(&here);
    source(&here);
    made(&here, "shop.iob", 2);
    for shelf in ["b1", "b2"] {
        fs::remove_file(here.path(shelf).join("shop.iob.manifest")).unwrap();
    }
    here.run(&["backup", "rebuild", "b1/shop.iob", "b2/shop.iob"]).expect_status(0);
    for line in [
        &["backup", "verify", "b1/shop.iob", "b2/shop.iob"][..],
        &["backup", "restore", "b1/shop.iob", "b2/shop.iob", "--to", "restored"],
    ] {
        let said = words_of(&here.run(line).expect_status(0));
        assert!(said.contains("when it was made: the manifest was made again from the stripes"), "{said}");
    }
}
