//! `iostall collect note`: what was done, beside what was sampled.

use serde_json::Value;

use crate::support::Workspace;

#[test]
fn a_note_is_shown_where_its_time_is_reported() {
    let here = Workspace::new();
    here.run(&["collect", "run", "--interval", "1s", "--duration", "2s", "linux:"]).expect_status(0);
    let hostile = "<b>deploy</b> 42";
    for _ in 0..2 {
        here.run(&["collect", "note", "--source", "linux:", hostile]).expect_status(0);
    }
    here.run(&["collect", "note", "--at", "2026-01-01", "long ago"]).expect_status(0);
    here.run(&["collect", "once", "linux:"]).expect_status(0);
    let ran =
        here.run(&["report", "server", "--json", "report.json", "--html", "report.html"]).expect_status(0);
    assert!(ran.stdout.contains(hostile) && !ran.stdout.contains("long ago"), "{}", ran.stdout);
    let report: Value = here.json("report.json");
    assert_eq!(report["sources"][0]["notes"][0]["text"], hostile);
    let page = std::fs::read_to_string(here.path("report.html")).unwrap();
    assert!(page.contains("&lt;b&gt;deploy&lt;/b&gt; 42") && !page.contains("<b>deploy"), "escaped");
    assert!(page.contains("\"annotations\""), "a line at its time");
}

#[test]
fn notes_have_a_kind_and_a_length_and_are_listed_and_removed() {
    let here = Workspace::new();
    here.run(&["collect", "run", "--interval", "1s", "--duration", "2s", "linux:"]).expect_status(0);
    let long = [
        "collect", "note", "--kind", "failover", "--source", "linux:", "--at", "1h", "--end", "now", "to db2",
    ];
    here.run(&long).expect_status(0);
    here.run(&["collect", "note", "--kind", "deploy", "release 7"]).expect_status(0);
    let listed = |arguments: &[&str]| {
        let ran = here.run(&[&["collect", "notes", "--json"], arguments].concat()).expect_status(0);
        serde_json::from_str::<Value>(&ran.stdout).unwrap().as_array().unwrap().clone()
    };
    let all = listed(&[]);
    let kinds: Vec<_> = all.iter().map(|note| note["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["failover", "deploy"]);
    assert_eq!((all[0]["source"].as_str(), all[1]["source"].as_str()), (Some("linux:"), None));
    assert!(all[0]["end"].is_string() && all[1].get("end").is_none(), "{all:?}");
    assert_eq!(listed(&["--kind", "deploy"]).len(), 1);
    assert_eq!(listed(&["--since", "30m"]).len(), 2, "the failover was not over");
    assert_eq!(listed(&["--until", "2h"]).len(), 0);
    assert_eq!(listed(&["--source", "postgres"]).len(), 1, "one is about all sources");
    let text = here.run(&["collect", "notes"]).expect_status(0).stdout;
    assert!(text.contains("to db2") && text.contains("deploy"), "{text}");

    here.run(&["report", "server", "--json", "report.json", "--html", "report.html"]).expect_status(0);
    let notes = here.json("report.json")["sources"][0]["notes"].clone();
    assert_eq!(notes.as_array().unwrap().len(), 2, "{notes}");
    let page = std::fs::read_to_string(here.path("report.html")).unwrap();
    assert!(page.contains("failover") && page.contains("release 7"));

    let number = all[0]["number"].to_string();
    here.run(&["collect", "notes", "--remove", &number]).expect_status(0);
    let ran = here.run(&["collect", "notes", "--remove", &number]).expect_status(2);
    assert!(ran.stderr.contains("there is no note"), "{}", ran.stderr);
    assert_eq!(listed(&[]).len(), 1);
}

/// A load test of one's own was seen in the stall, and taken for a fault.
#[test]
fn a_run_of_iostall_itself_is_noted() {
    let here = Workspace::new();
    let collector = here.start(&["collect", "run", "--interval", "1s", "--duration", "4s", "linux:"]);
    here.run(&["load", "--size", "16MiB", "--warmup", "0", "--duration", "1s", "file.dat"]).expect_status(0);
    drop(collector.ended());
    here.run(&["report", "server", "--json", "report.json"]).expect_status(0);
    let notes = here.json("report.json")["sources"][0]["notes"].clone();
    assert_eq!(notes[0]["kind"], "run", "{notes}");
    assert!(notes[0]["text"].as_str().unwrap().starts_with("load"), "{notes}");
}

#[test]
fn a_note_that_nobody_could_find_again_is_refused() {
    let here = Workspace::new();
    let ran = here.run(&["collect", "note", "--source", "postgres://db1", "deploy"]).expect_status(2);
    assert!(ran.stderr.contains("there is no source \"postgres://db1\""), "{}", ran.stderr);
    let ran = here.run(&["collect", "note", "--at", "1h", "--end", "2h", "deploy"]).expect_status(2);
    assert!(ran.stderr.contains("before it begins"), "{}", ran.stderr);
    for text in ["", " ", "two\nlines", "\x1b[31mred", &"x".repeat(201)] {
        let ran = here.run(&["collect", "note", text]).expect_status(2);
        assert!(ran.stderr.contains("a note is one line") && !ran.stderr.contains('\x1b'), "{}", ran.stderr);
    }
}

/// A restart with other settings, such as after an update of the kernel, is when most of them change.
#[test]
fn a_changed_setting_of_the_host_is_noted_and_an_unchanged_one_is_not() {
    let here = Workspace::new();
    let sample =
        || here.run(&["collect", "run", "--interval", "1s", "--duration", "2s", "linux:"]).expect_status(0);
    sample();
    sample();
    let report = || {
        here.run(&["report", "server", "--json", "report.json"]).expect_status(0);
        here.json("report.json")["sources"][0]["notes"].clone()
    };
    assert_eq!(report(), Value::Null, "nothing has changed");
    let store = rusqlite::Connection::open(here.path("store.db")).unwrap();
    assert_eq!(store.execute(include_str!("sql/older_settings.sql"), []).unwrap(), 1);
    sample();
    let text = report()[0]["text"].as_str().unwrap().to_owned();
    assert!(text.starts_with("vm.swappiness: 7 → "), "{text}");
}
