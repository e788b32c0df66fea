//! Backups, restores and clean-ups that are killed: nothing looks whole that is not, and the next run says how to go on.

use std::fs;

use super::attacks::words_of;
use super::create::{names, shelves};
use crate::copy::content;
use crate::copy_crash::{draw, killed, timed};
use crate::support::{Ran, Workspace};

/// How many of each are killed; more with `IOSTALL_TEST_KILLS`, as `./check --long` sets it.
const KILLS: u64 = 6;
const CREATE: [&str; 3] = ["backup", "create", "--no-store"];
const TARGETS: [&str; 4] = ["--to", "b1/k.iob", "--to", "b2/k.iob"];

fn kills() -> u64 {
    std::env::var("IOSTALL_TEST_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(KILLS)
}

fn source(here: &Workspace) {
    shelves(here);
    fs::create_dir_all(here.path("shop/base/1")).unwrap();
    for number in 0..30_usize {
        fs::write(here.path(&format!("shop/base/1/{number}")), content(number * number * 900)).unwrap();
    }
    for name in ["a", "m", "z"] {
        fs::write(here.path("shop").join(name), content(70_000)).unwrap();
    }
}

/// Starts `line` and kills it: at any moment of `whole_ns`, or, every second time, as soon as there is a name that `appears`.
fn kill(here: &Workspace, line: &[&str], whole_ns: u64, seed: u64, appears: impl Fn() -> bool) {
    let mut state = seed;
    if seed.is_multiple_of(2) {
        return killed(here, line, whole_ns + whole_ns / 8, &mut state);
    }
    let mut running = here.start(line);
    while !appears() && !running.has_ended() {
        std::hint::spin_loop();
    }
    // Not always at once.
    for _ in 0..draw(&mut state, 20_000) {
        std::hint::spin_loop();
    }
    if !running.has_ended() {
        running.signal("KILL");
    }
    running.ended();
}

fn there(here: &Workspace, directory: &str, is_it: impl Fn(&str) -> bool) -> bool {
    fs::read_dir(here.path(directory))
        .is_ok_and(|entries| entries.flatten().any(|entry| entry.file_name().to_str().is_some_and(&is_it)))
}

#[track_caller]
fn assert_whole(here: &Workspace, place: &str, kill: u64) {
    let ran = here.run(&["verify", "--no-store", "shop", place]);
    assert_eq!(ran.status, Some(0), "kill {kill}: {place} has its name and is not whole: {}", words_of(&ran));
}

/// What there is on both shelves goes.
fn clear(here: &Workspace) {
    for shelf in ["b1", "b2"] {
        for name in names(&here.path(shelf)) {
            fs::remove_file(here.path(shelf).join(name)).unwrap();
        }
    }
}

/// The power went while the nightly backup was made. In the morning the same line was typed again.
#[test]
fn a_backup_that_is_killed_is_whole_or_none_and_the_next_one_says_how_to_go_on() {
    let here = Workspace::new();
    source(&here);
    let create = [&CREATE[..], &TARGETS, &["shop"]].concat();
    let whole_ns = timed(&here, &create);
    let begins: [&dyn Fn() -> bool; 4] = [
        &|| there(&here, "b2", |name| name.ends_with(".partial")),
        &|| there(&here, "b1", |name| name == "k.iob"),
        &|| there(&here, "b2", |name| name == "k.iob"),
        &|| there(&here, "b2", |name| name.contains("manifest")),
    ];
    for seed in 0..kills() {
        clear(&here);
        let at = usize::try_from(seed / 2 % 4).unwrap();
        kill(&here, &create, whole_ns, seed, begins[at]);
        let verify = ["backup", "verify", "--no-store", "b1/k.iob", "b2/k.iob"];
        let is_complete = here.path("b1/k.iob.manifest").exists();
        if is_complete {
            here.run(&verify).expect_status(0);
        }
        let again = here.run(&create);
        match again.status {
            Some(0) => assert!(!is_complete, "kill {seed}: it replaced a whole one"),
            Some(2) => go_on(&here, &again, is_complete, seed),
            other => panic!("kill {seed}: {other:?}: {}", words_of(&again)),
        }
        here.run(&verify).expect_status(0);
        assert_eq!(names(&here.path("b1")), ["k.iob", "k.iob.manifest"], "kill {seed}");
        assert_eq!(names(&here.path("b2")), ["k.iob", "k.iob.manifest"], "kill {seed}");
    }
}

/// Does what the refusal of the next backup says.
fn go_on(here: &Workspace, refused: &Ran, is_complete: bool, seed: u64) {
    if is_complete {
        assert!(
            refused.stderr.contains("name a new file for each stripe"),
            "kill {seed}: {}",
            refused.stderr
        );
        return;
    }
    assert!(refused.stderr.contains("iostall backup rebuild"), "kill {seed}: {}", refused.stderr);
    // It was killed between its names: all stripes may have theirs.
    let rebuilt = here.run(&["backup", "rebuild", "b1/k.iob", "b2/k.iob"]);
    if rebuilt.status != Some(0) {
        assert_eq!(rebuilt.status, Some(2), "kill {seed}: {}", rebuilt.stderr);
        clear(here);
        let create = [&CREATE[..], &TARGETS, &["shop"]].concat();
        here.run(&create).expect_status(0);
    }
}

#[test]
fn a_restore_that_is_killed_is_whole_or_none_and_the_next_one_goes_on() {
    let here = Workspace::new();
    source(&here);
    here.run(&[&CREATE[..], &TARGETS, &["shop"]].concat()).expect_status(0);
    let restore = ["backup", "restore", "--no-store", "b1/k.iob", "b2/k.iob", "--to", "r"];
    let whole_ns = timed(&here, &restore);
    let begins: [&dyn Fn() -> bool; 3] =
        [&|| there(&here, "", |name| name.ends_with(".restore")), &|| here.path("r").exists(), &|| {
            there(&here, "r", |name| name == "a")
        }];
    for seed in 0..kills() {
        let _ = fs::remove_dir_all(here.path("r"));
        // To a new name, into an empty directory, and in place of an older one.
        let way = seed / 2 % 3;
        if way > 0 {
            fs::create_dir(here.path("r")).unwrap();
        }
        if way == 2 {
            fs::write(here.path("r/old"), "old").unwrap();
        }
        let line = if way == 2 { [&restore[..], &["--overwrite", "r"]].concat() } else { restore.to_vec() };
        let at = usize::try_from(seed / 6 % 3).unwrap();
        kill(&here, &line, whole_ns, seed, begins[at]);
        let is_marked = there(&here, "r", |name| name.ends_with(".restore"));
        let is_old = here.path("r/old").exists();
        if here.path("r/a").exists() && !is_marked {
            assert_whole(&here, "r", seed);
        }
        let again = here.run(&line);
        if again.status != Some(0) {
            let said = &again.stderr;
            assert!(again.status == Some(2) && said.contains("add --overwrite r"), "kill {seed}: {said}");
            assert!(!is_old, "kill {seed}: it was named with --overwrite");
            here.run(&[&restore[..], &["--overwrite", "r"]].concat()).expect_status(0);
        }
        assert_whole(&here, "r", seed);
        let left: Vec<String> =
            names(&here.path("")).into_iter().filter(|name| name.starts_with('.')).collect();
        assert!(left.is_empty(), "kill {seed}: {left:?}");
    }
}

#[test]
fn a_prune_that_is_killed_leaves_whole_backups_or_none_and_the_next_one_goes_on() {
    let here = Workspace::new();
    shelves(&here);
    fs::create_dir(here.path("shop")).unwrap();
    fs::write(here.path("shop/data"), content(300_000)).unwrap();
    let make = |name: &str| {
        let [one, two] = ["b1", "b2"].map(|shelf| format!("{shelf}/{name}.iob"));
        here.run(&[&CREATE[..], &["--to", &one, "--to", &two, "shop"]].concat()).expect_status(0);
    };
    let prune = ["backup", "prune", "--keep-last", "1", "b1", "b2"];
    for name in ["first", "second", "kept"] {
        make(name);
    }
    let whole_ns = timed(&here, &prune);
    let begins: [&dyn Fn() -> bool; 3] = [
        &|| there(&here, "b1", |name| name.ends_with(".removed")),
        &|| there(&here, "b2", |name| name.ends_with(".removed")),
        &|| !here.path("b1/first.iob").exists(),
    ];
    for seed in 0..kills() {
        clear(&here);
        for name in ["first", "second", "kept"] {
            make(name);
        }
        let at = usize::try_from(seed / 2 % 3).unwrap();
        kill(&here, &prune, whole_ns, seed, begins[at]);
        let listed = here.run(&["backup", "list", "--json", "b1", "b2"]).expect_status(0);
        let listed: serde_json::Value = serde_json::from_str(&listed.stdout).unwrap();
        for set in listed.as_array().unwrap() {
            let state = set["state"].as_str().unwrap();
            assert!(["complete", "being-deleted"].contains(&state), "kill {seed}: {set}");
        }
        for name in ["first", "second", "kept"] {
            let manifest = format!("b1/{name}.iob.manifest");
            if here.path(&manifest).exists() {
                here.run(&["backup", "verify", "--no-store", &manifest, &format!("b2/{name}.iob")])
                    .expect_status(0);
            }
        }
        here.run(&prune).expect_status(0);
        for shelf in ["b1", "b2"] {
            assert_eq!(names(&here.path(shelf)), ["kept.iob", "kept.iob.manifest"], "kill {seed}");
        }
    }
}
