//! `iostall backup restore tune`: settings of restores, found by trying them.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::Value;

use super::create::{names, shelves, tree};
use super::tune::printed;
use crate::copy::content;
use crate::support::{Workspace, binary, until};

/// The shortest budget, and what makes a search short.
const SHORT: [&str; 6] = ["backup", "restore", "tune", "--budget", "5s", "--to"];

/// A backup of a tree on two stripes, and a directory for trials with something in it.
fn case() -> Workspace {
    let here = Workspace::new();
    shelves(&here);
    tree(&here.path("shop"));
    fs::create_dir(here.path("scratch")).unwrap();
    fs::write(here.path("scratch/mine"), "mine").unwrap();
    here.run(&["backup", "create", "--to", "b1/my shop.iob", "--to", "b2/shop.iob", "shop"]).expect_status(0);
    here
}

fn words(value: &Value) -> Vec<&str> {
    value.as_array().unwrap().iter().map(|one| one.as_str().unwrap()).collect()
}

/// The story: the night of the restore was spent on finding out whether more threads would make it faster.
#[test]
fn a_search_prints_a_line_that_restores_and_leaves_nothing_else() {
    let here = case();
    let sets = ["b1/my shop.iob", "b2/shop.iob"];
    // A machine with other work needs more than five seconds until the defaults have their turn.
    let tune = ["backup", "restore", "tune", "--budget", "12s", "--to"];
    let line = [&tune[..], &["scratch", "--json", "t.json"], &sets].concat();
    let ran = here.run(&line).expect_status(0);
    assert!(ran.stderr.contains("takes 12s: ") && ran.stderr.contains("below --to"), "{}", ran.stderr);
    assert!(ran.stderr.contains("the stripes alone: "), "{}", ran.stderr);
    assert_eq!(names(&here.path("scratch")), ["mine"]);
    let run = here.json("t.json");
    let tuned = &run["backup-tune"];
    assert_eq!((&run["interrupted"], &tuned["targets"][0]), (&false.into(), &"scratch".into()));
    assert_eq!(tuned["restore"]["set"].as_str().unwrap().len(), 32);
    let parts: Vec<&str> =
        tuned["alone"].as_array().unwrap().iter().map(|one| one["part"].as_str().unwrap()).collect();
    assert_eq!(parts, ["source", "cpu", "target"]);
    assert!(tuned["alone"].as_array().unwrap().iter().all(|one| one["bytes_per_s"].as_f64() > Some(0.0)));
    let tried = tuned["tried"].as_array().unwrap();
    assert!(tried.iter().any(|one| one["is_default"] == true && one["depth"] == 8), "{tuned}");
    assert_eq!(tried.iter().filter(|one| one["is_best"] == true).count(), 1, "{tuned}");
    let most = tuned["memory_bytes_max"].as_u64().unwrap();
    assert!(tried.iter().all(|one| one["memory_bytes"].as_u64().unwrap() <= most), "{tuned}");
    assert!(tried.iter().all(|one| one["bytes_per_s"].as_f64() > Some(0.0)), "{tuned}");

    fs::create_dir(here.path("bin")).unwrap();
    symlink(binary(), here.path("bin/iostall")).unwrap();
    let made = here.shell(&format!("PATH=\"$PWD/bin:$PATH\"\n{}", printed(&ran))).output().unwrap();
    assert!(made.status.success(), "{}\n{}", printed(&ran), String::from_utf8_lossy(&made.stderr));
    let restored = names(&here.path("scratch")).into_iter().find(|name| name.starts_with("restored-"));
    here.run(&["verify", "shop", &format!("scratch/{}", restored.unwrap())]).expect_status(0);

    let shown = here.run(&["runs", "show", "2", "--csv", "t.csv"]).expect_status(0);
    assert_eq!(printed(&shown), printed(&ran));
    let csv = fs::read_to_string(here.path("t.csv")).unwrap();
    assert!(csv.lines().next().unwrap().ends_with(",depth,workers"), "{csv}");
    here.run(&["runs", "show", "2", "--html", "t.html"]).expect_status(0);
    assert!(fs::read_to_string(here.path("t.html")).unwrap().contains("read, not decoded"));
}

/// What the user has chosen is not a question, and does what it says. An encrypted set is opened with its key.
#[test]
fn what_was_given_is_kept_in_the_line_and_a_restore_has_it() {
    let here = Workspace::new();
    shelves(&here);
    fs::write(here.path("data"), content(9_000_000)).unwrap();
    fs::create_dir(here.path("scratch")).unwrap();
    here.secret("pass", "correct horse\n");
    let create = ["backup", "create", "--passphrase-file", "pass", "--frame", "256K", "--to", "tune", "data"];
    here.run(&create).expect_status(0);
    let given = ["--depth", "3", "--transfer", "1M", "--workers", "2"];
    let key = ["--passphrase-file", "pass"];
    // A set whose name is that of the verb.
    let line = [&SHORT[..], &["scratch", "./tune"], &given, &key, &["--json", "t.json"]].concat();
    let ran = here.run(&line).expect_status(0);
    assert!(ran.stdout.contains("every setting was given"), "{}", ran.stdout);
    let tuned = here.json("t.json")["backup-tune"].take();
    let command = words(&tuned["command"]);
    let to = command.iter().find(|word| word.starts_with("scratch/restored-")).unwrap();
    let expected = [&["iostall", "backup", "restore", "./tune", "--to", to][..], &given, &key].concat();
    assert_eq!(command, expected);
    assert_eq!(names(&here.path("scratch")), [""; 0]);

    for set in ["./tune", "tune.manifest"] {
        let line = [&["backup", "restore", set, "--to", "again", "--json", "r.json"][..], &given, &key];
        here.run(&line.concat()).expect_status(0);
        let restore = here.json("r.json")["restore"].take();
        assert_eq!(
            (&restore["reads_max"], &restore["worker_count"], &restore["transfer_bytes"]),
            (&3.into(), &2.into(), &(1 << 20).into())
        );
        assert_eq!(fs::read(here.path("again")).unwrap(), content(9_000_000));
        fs::remove_file(here.path("again")).unwrap();
    }
    // Less than a frame is a frame.
    let line = ["backup", "restore", "./tune", "--to", "again", "--transfer", "64K", "--json", "r.json"];
    here.run(&[&line[..], &key].concat()).expect_status(0);
    assert_eq!(here.json("r.json")["restore"]["transfer_bytes"], 256 << 10);
}

#[test]
fn what_cannot_be_tuned_is_refused_and_nothing_that_is_there_is_touched() {
    let here = case();
    fs::write(here.path("data"), "").unwrap();
    here.run(&["backup", "create", "--to", "b3/empty.iob", "data"]).expect_status(0);
    let set = ["b1/my shop.iob", "b2/shop.iob"];
    for (sets, options, said) in [
        (&set[..], "--to absent", "absent"),
        (&set[..], "--to data", "data"),
        (&set[..], "", "--to"),
        (&set[..], "--to scratch --memory 1M", "--memory allows more"),
        (&set[..], "--to scratch --budget 1s", "5s to 24h"),
        (&["absent"][..], "--to scratch", "absent"),
        (&["shop/large.mdf"][..], "--to scratch", "neither a manifest nor a stripe"),
        (&["b3/empty.iob"][..], "--to scratch", "nothing to read"),
        (&[][..], "--to scratch", "SET"),
    ] {
        let line: Vec<&str> =
            ["backup", "restore", "tune"].into_iter().chain(options.split_whitespace()).collect();
        let ran = here.run(&[&line, sets].concat()).expect_status(2);
        assert!(ran.stderr.contains(said), "{options}: {}", ran.stderr);
        assert_eq!(names(&here.path("scratch")), ["mine"], "{options}");
    }
    // What `tune` does not have is not taken for it, and what restore needs is still asked for.
    for (line, said) in [
        ("backup restore tune --to scratch --only large.mdf b1/shop.iob", "--only"),
        ("backup restore b1/shop.iob", "--to"),
        ("backup restore --to scratch/x", "SET"),
    ] {
        let ran = here.run(&line.split(' ').collect::<Vec<_>>()).expect_status(2);
        assert!(ran.stderr.contains(said), "{line}: {}", ran.stderr);
    }
    // A bad byte ends the search: its rates would be those of another set.
    let path = here.path("b2/shop.iob");
    let mut bytes = fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    for at in (middle..bytes.len() - 8192).step_by(4096) {
        bytes[at] ^= 1;
    }
    fs::write(&path, bytes).unwrap();
    let ran = here.run(&[&SHORT[..], &["scratch"], &set].concat()).expect_status(2);
    assert!(ran.stderr.contains("shop.iob: "), "{}", ran.stderr);
    assert_eq!(names(&here.path("scratch")), ["mine"]);
}

/// The story: a search was stopped, and left a gigabyte in the directory that the database was to be restored to.
#[test]
fn an_interrupted_search_keeps_what_it_measured_and_leaves_nothing_and_a_killed_one_what_the_next_removes() {
    let here = case();
    let set = ["b1/my shop.iob", "b2/shop.iob"];
    let line = [
        "backup", "restore", "tune", "--budget", "1h", "--depth", "1", "--to", "scratch", "--json", "t.json",
    ];
    let begun = || {
        let mut tune = here.start(&[&line[..], &set].concat());
        tune.wait_for("scratch alone: ");
        until("a trial that writes", || {
            names(&here.path("scratch")).iter().any(|name| name.ends_with(".restore")).then_some(())
        });
        tune
    };
    let tune = begun();
    tune.signal("INT");
    let ran = tune.ended().expect_status(130);
    assert!(ran.stdout.contains("INTERRUPTED") && ran.stdout.contains("NOT DECIDED"), "{}", ran.stdout);
    assert_eq!(names(&here.path("scratch")), ["mine"]);
    let run = here.json("t.json");
    assert_eq!(
        (&run["interrupted"], run["backup-tune"]["alone"].as_array().unwrap().len()),
        (&true.into(), 3)
    );
    // Two at once would measure each other.
    let tune = begun();
    until("a trial in the way of another", || {
        let ran = here.run(&[&SHORT[..], &["scratch"], &set].concat());
        ran.stderr.contains("another restore is writing to").then_some(())
    });
    tune.signal("KILL");
    tune.ended();
    let given = ["--depth", "8", "--transfer", "1M", "--workers", "1"];
    here.run(&[&SHORT[..], &["scratch"], &given, &set].concat()).expect_status(0);
    assert_eq!(names(&here.path("scratch")), ["mine"]);
}
