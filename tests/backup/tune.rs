//! `iostall backup tune`: settings found by trying them.

use std::fs;
use std::os::unix::fs::symlink;

use super::create::{names, shelves, tree};
use crate::copy::content;
use crate::support::{Ran, Workspace, binary, until};

/// The shortest budget, and what makes a search short.
const SHORT: [&str; 4] = ["backup", "tune", "--budget", "5s"];

/// The command line in a report, as a person would mark it with the mouse.
pub(super) fn printed(ran: &Ran) -> String {
    let is_command = |line: &str| line.starts_with("  iostall backup ");
    let lines = ran.stdout.lines().skip_while(|line| !is_command(line));
    let mut text = String::new();
    for line in lines {
        text.push_str(line);
        text.push('\n');
        if !line.ends_with('\\') {
            break;
        }
    }
    text
}

/// The story: three evenings of changing BUFFERCOUNT and the number of files by hand, each try noted on paper.
#[test]
fn a_search_prints_a_line_that_works_as_it_stands_and_leaves_nothing_else() {
    let here = Workspace::new();
    shelves(&here);
    tree(&here.path("the shop's data"));
    let to = ["--to", "b1/my shop.iob", "--to", "b2/shop.iob"];
    // A machine with other work needs more than five seconds for all that is looked for below.
    let tune = ["backup", "tune", "--budget", "12s", "--json", "t.json"];
    let ran = here.run(&[&tune[..], &to, &["the shop's data"]].concat()).expect_status(0);
    assert!(ran.stderr.contains("takes 12s: "), "the estimate comes first: {}", ran.stderr);
    assert!(ran.stderr.contains("beside the stripes, and removes it"), "{}", ran.stderr);
    assert_eq!((names(&here.path("b1")), names(&here.path("b2"))), (Vec::new(), Vec::new()));

    let run = here.json("t.json");
    let tuned = &run["backup-tune"];
    assert_eq!((&run["interrupted"], &tuned["targets"][1]), (&false.into(), &"b2/shop.iob".into()));
    let parts: Vec<&str> =
        tuned["alone"].as_array().unwrap().iter().map(|one| one["part"].as_str().unwrap()).collect();
    assert_eq!(parts, ["source", "cpu", "cpu", "cpu", "cpu", "target", "target", "targets"]);
    let tried = tuned["tried"].as_array().unwrap();
    assert!(tried.iter().any(|one| one["is_default"] == true), "{tuned}");
    assert_eq!(tried.iter().filter(|one| one["is_best"] == true).count(), 1, "{tuned}");
    let most = tuned["memory_bytes_max"].as_u64().unwrap();
    assert!(tried.iter().all(|one| one["memory_bytes"].as_u64().unwrap() <= most), "{tuned}");

    fs::create_dir(here.path("bin")).unwrap();
    symlink(binary(), here.path("bin/iostall")).unwrap();
    let made = here.shell(&format!("PATH=\"$PWD/bin:$PATH\"\n{}", printed(&ran))).output().unwrap();
    assert!(made.status.success(), "{}\n{}", printed(&ran), String::from_utf8_lossy(&made.stderr));
    let stripes = ["b1/my shop.iob", "b2/shop.iob"];
    let written: Vec<&str> = stripes.into_iter().filter(|name| here.path(name).exists()).collect();
    here.run(&[&["backup", "verify"][..], &written].concat()).expect_status(0);
    here.run(&[&["backup", "restore", "--to", "again"][..], &written].concat()).expect_status(0);
    here.run(&["verify", "the shop's data", "again"]).expect_status(0);

    let listed = here.run(&["runs"]).expect_status(0);
    assert!(listed.stdout.contains("backup-tune"), "{}", listed.stdout);
    let shown = here.run(&["runs", "show", "1"]).expect_status(0);
    assert_eq!(printed(&shown), printed(&ran));
    here.run(&["runs", "show", "1", "--html", "t.html"]).expect_status(0);
    assert!(fs::read_to_string(here.path("t.html")).unwrap().contains("Each part alone"));
}

/// What the user has chosen is not a question.
#[test]
fn what_was_given_is_kept_and_in_the_line() {
    let here = Workspace::new();
    shelves(&here);
    fs::write(here.path("data"), content(3_000_000)).unwrap();
    let kept =
        ["--compress", "lz4", "--frame", "256K", "--transfer", "1M", "--buffers", "12", "--workers", "1"];
    let line = [&SHORT[..], &["--to", "b1/a.iob"], &kept, &["--json", "t.json", "data"]].concat();
    let ran = here.run(&line).expect_status(0);
    assert!(ran.stdout.contains("every setting was given"), "{}", ran.stdout);
    let words = [&["iostall", "backup", "create", "--to", "b1/a.iob"][..], &kept, &["data"]].concat();
    assert_eq!(here.json("t.json")["backup-tune"]["command"], serde_json::json!(words));
    assert_eq!(printed(&ran).trim(), words.join(" "));

    // Without targets, and encrypted: the CPU does as much as for a backup.
    here.secret("pass", "correct horse\n");
    let null =
        ["--compress", "zstd:1", "--passphrase-file", "pass", "--to", "null:", "--json", "n.json", "data"];
    here.run(&[&SHORT[..], &null].concat()).expect_status(0);
    let tuned = here.json("n.json")["backup-tune"].take();
    let command: Vec<&str> =
        tuned["command"].as_array().unwrap().iter().map(|word| word.as_str().unwrap()).collect();
    assert!(command.windows(2).any(|two| two == ["--to", "null:"]), "{command:?}");
    assert!(command.windows(2).any(|two| two == ["--passphrase-file", "pass"]), "{command:?}");
    assert!(command.windows(2).any(|two| two == ["--compress", "zstd:1"]), "{command:?}");
    assert_eq!(tuned["trial_bytes_max"], 0);
    assert_eq!(names(&here.path("b1")), [""; 0]);
}

#[test]
fn what_cannot_be_tuned_is_refused_and_nothing_that_is_there_is_touched() {
    let here = Workspace::new();
    shelves(&here);
    fs::write(here.path("data"), content(100_000)).unwrap();
    fs::write(here.path("empty"), "").unwrap();
    fs::write(here.path("b1/taken.iob"), "mine").unwrap();
    for (options, words) in [
        ("--to b1/taken.iob data", "taken.iob exists"),
        ("--to b1/a.iob --to b1/a.iob data", "a.iob"),
        ("--to b1/a.iob -", "only once"),
        ("--to b1/a.iob postgres://backup@localhost", "data directory"),
        ("--to b1/a.iob sqlite:shop.db", "data directory"),
        ("--to b1/a.iob absent", "absent"),
        ("--to b1/a.iob empty", "nothing to read"),
        ("--to b1/a.iob --memory 1M data", "--memory allows more"),
        ("--to b1/a.iob --budget 1s data", "5s to 24h"),
        ("--to b1/a.iob --to null: data", "one stripe of several"),
        ("--to nowhere/a.iob data", "nowhere"),
        ("data", "--to"),
    ] {
        let line: Vec<&str> = ["backup", "tune"].into_iter().chain(options.split(' ')).collect();
        let ran = here.run(&line).expect_status(2);
        assert!(ran.stderr.contains(words), "{options}: {}", ran.stderr);
        assert_eq!(names(&here.path("b1")), ["taken.iob"], "{options}");
    }
    assert_eq!(fs::read(here.path("b1/taken.iob")).unwrap(), b"mine");
}

/// The story: a search that was stopped after an hour had told nothing, and left a gigabyte beside the backups.
#[test]
fn an_interrupted_search_keeps_what_it_measured_and_leaves_nothing() {
    let here = Workspace::new();
    shelves(&here);
    fs::write(here.path("data"), content(5_000_000)).unwrap();
    let line = ["backup", "tune", "--budget", "1h", "--compress", "none", "--to", "b1/a.iob"];
    let mut tune = here.start(&[&line[..], &["--json", "t.json", "data"]].concat());
    tune.wait_for("the source alone: ");
    until("a trial that writes", || {
        names(&here.path("b1")).iter().any(|name| name.ends_with(".partial")).then_some(())
    });
    tune.signal("INT");
    let ran = tune.ended().expect_status(130);
    assert!(ran.stdout.contains("INTERRUPTED") && ran.stdout.contains("NOT DECIDED"), "{}", ran.stdout);
    assert_eq!(names(&here.path("b1")), [""; 0]);
    let run = here.json("t.json");
    assert_eq!(
        (&run["interrupted"], &run["backup-tune"]["alone"][0]["part"]),
        (&true.into(), &"source".into())
    );
    let listed = here.run(&["runs"]).expect_status(0);
    assert!(listed.stdout.contains("interrupted"), "{}", listed.stdout);
}
