//! What is taken for older and newer backups of one thing, and what is not.

use std::fs;
use std::process::Command;

use serde_json::Value;

use super::create::{names, shelves};
use crate::copy::content;
use crate::support::Workspace;

fn piped(here: &Workspace, text: &str, to: &str, rest: &str) {
    let line = format!("printf {text} | \"$IOSTALL\" backup create --no-store --to {to} {rest} -");
    let mut shell = here.shell(&line);
    let ran = shell.env("IOSTALL", crate::support::binary()).output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
}

fn pruned(here: &Workspace, rest: &[&str]) -> Vec<String> {
    let line = [&["backup", "prune", "--json", "--keep-last", "1"], rest].concat();
    let document: Value = serde_json::from_str(&here.run(&line).expect_status(0).stdout).unwrap();
    let sets = document["backups"].as_array().unwrap().iter();
    sets.map(|one| one["action"].as_str().unwrap().to_owned()).collect()
}

/// The story: the dumps of two databases came through standard input. To prune they were one source, and the only backup of the first
/// one was deleted for the second.
#[test]
fn streams_are_compared_by_their_name_and_never_without_one() {
    let here = Workspace::new();
    shelves(&here);
    piped(&here, "one", "b1/shop.iob", "");
    piped(&here, "two", "b1/crm.iob", "");
    assert_eq!(pruned(&here, &["b1"]), ["leave", "leave"]);
    for (text, name, to) in [("one", "shop", "s1"), ("two", "crm", "c1"), ("three", "shop", "s2")] {
        piped(&here, text, &format!("b2/{to}.iob"), &format!("--name {name}"));
    }
    assert_eq!(pruned(&here, &["b2"]), ["delete", "keep", "keep"]);
    assert_eq!(names(&here.path("b2")), ["c1.iob", "c1.iob.manifest", "s2.iob", "s2.iob.manifest"]);
    let ran = here.run(&["backup", "create", "--to", "b3/x.iob", "--name", "x", "b1"]).expect_status(2);
    assert!(ran.stderr.contains("--name"), "{}", ran.stderr);
}

/// The story: `data` of two directories was backed up by jobs that change into them first. Prune deleted the only backup of one, and the
/// increment of the other was made on it.
#[test]
fn directories_are_compared_by_where_they_are_and_not_by_how_they_were_named() {
    let here = Workspace::new();
    shelves(&here);
    for place in ["a", "b"] {
        fs::create_dir_all(here.path(place).join("data")).unwrap();
        fs::write(here.path(place).join("data/file"), content(100_000)).unwrap();
    }
    let create = |inside: &str, to: &str, rest: &[&str]| {
        let to = format!("../b1/{to}.iob");
        let mut command: Command = here.command(&[&["backup", "create", "--to", &to], rest].concat());
        let ran = command.current_dir(here.path(inside)).output().unwrap();
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    };
    create("a", "a1", &["data"]);
    create("b", "b1", &["data"]);
    assert_eq!(pruned(&here, &["--dry-run", "b1"]), ["keep", "keep"]);
    let line = ["backup", "prune", "--json", "--dry-run", "--keep-last", "1", "b1"];
    let one_source = |ran: &str| serde_json::from_str::<Value>(ran).unwrap()["one_source"].clone();
    assert_eq!(one_source(&here.run(&line).expect_status(0).stdout), Value::Null);
    // The same directory by another name, compared with its own.
    let whole = here.path("a/data").display().to_string();
    create("b", "a2", &["--base", "../b1", "--json", "../made.json", &whole]);
    let made = here.json("made.json");
    // Which names were taken for one is there for a program, too.
    let named = one_source(&here.run(&line).expect_status(0).stdout);
    assert_eq!(named[0]["names"].as_array().map(Vec::len), Some(2), "{named}");
    let listed = here.run(&["backup", "list", "--json", "b1"]).expect_status(0);
    let listed: Value = serde_json::from_str(&listed.stdout).unwrap();
    assert_eq!(made["backup"]["bases"][0], listed[0]["set"], "{listed}");
    let ran = here.run(&["backup", "verify", "b1/a1.iob", "--json", "v.json"]).expect_status(0);
    assert!(here.json("v.json")["backup-verify"]["newest"]["older"].is_object(), "{}", ran.stdout);
}

/// The story: bases and increments have a directory each. Prune of the first deleted the base of an increment in the second.
#[test]
fn a_base_stays_while_its_increment_is_in_a_directory_that_was_not_named() {
    let here = Workspace::new();
    shelves(&here);
    fs::write(here.path("data"), content(300_000)).unwrap();
    here.run(&["backup", "create", "--to", "b1/whole.iob", "data"]).expect_status(0);
    here.run(&["backup", "create", "--to", "b2/more.iob", "--base", "b1", "data"]).expect_status(0);
    here.run(&["backup", "create", "--to", "b1/newer.iob", "data"]).expect_status(0);
    assert_eq!(pruned(&here, &["b1"]), ["keep", "keep"]);
    let listed = here.run(&["backup", "list", "--json", "b2"]).expect_status(0).stdout;
    let listed: Value = serde_json::from_str(&listed).unwrap();
    let line = ["backup", "prune", "--json", "--dry-run", "--keep-last", "1", "b1"];
    let document: Value = serde_json::from_str(&here.run(&line).expect_status(0).stdout).unwrap();
    let kept = &document["backups"][0];
    assert_eq!(kept["reasons"][0]["base-of"], listed[0]["set"], "{kept}");
    // A disk that is not mounted says nothing of what is on it.
    fs::rename(here.path("b2"), here.path("away")).unwrap();
    assert_eq!(pruned(&here, &["--dry-run", "b1"]), ["keep", "keep"]);
    fs::rename(here.path("away"), here.path("b2")).unwrap();
    fs::write(here.path("b2/other"), "").unwrap();
    for file in ["more.iob", "more.iob.manifest"] {
        fs::remove_file(here.path("b2").join(file)).unwrap();
    }
    assert_eq!(pruned(&here, &["b1"]), ["delete", "keep"]);
}

/// The story: a dangling link, or a pipe, that ended with `.manifest` lay beside the stripe, and the restore failed or waited.
#[test]
fn what_lies_beside_a_stripe_does_not_stop_its_restore() {
    let here = Workspace::new();
    shelves(&here);
    fs::write(here.path("data"), content(100_000)).unwrap();
    here.run(&["backup", "create", "--to", "b1/m2.iob", "data"]).expect_status(0);
    std::os::unix::fs::symlink("nowhere", here.path("b1/a.manifest")).unwrap();
    assert!(Command::new("mkfifo").arg(here.path("b1/b.manifest")).status().unwrap().success());
    fs::create_dir(here.path("b1/c.manifest")).unwrap();
    here.run(&["backup", "restore", "b1/m2.iob", "--to", "whole"]).expect_status(0);
    assert_eq!(fs::read(here.path("whole")).unwrap(), content(100_000));
}

/// The story: a backup for one key was made each night with `-q`, and nobody heard that the only key opens it.
#[test]
fn quiet_prints_the_result_in_one_line_and_no_caution_is_silent() {
    let here = Workspace::new();
    shelves(&here);
    fs::write(here.path("data"), content(100_000)).unwrap();
    let key = "age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p";
    let ran = here.run(&["backup", "create", "-q", "--to", "b1/x.iob", "--encrypt-to", key, "data"]);
    let ran = ran.expect_status(0);
    assert_eq!(ran.stdout.lines().count(), 1, "{}", ran.stdout);
    assert!(ran.stderr.contains("one key"), "{}", ran.stderr);
}
