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
fn a_note_that_nobody_could_find_again_is_refused() {
    let here = Workspace::new();
    let ran = here.run(&["collect", "note", "--source", "postgres://db1", "deploy"]).expect_status(2);
    assert!(ran.stderr.contains("there is no source \"postgres://db1\""), "{}", ran.stderr);
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
    assert!(text.starts_with("setting changed: vm.swappiness: 7 → "), "{text}");
}
