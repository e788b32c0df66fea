//! `iostall backup prune --wal`.

use std::fs;

use serde_json::Value;

use super::server::{Programs, Server, place};
use crate::support::Workspace;

/// The story: the archive had the log of two years, and the backups were of two weeks.
#[test]
fn only_the_log_that_no_kept_backup_needs_is_deleted() {
    let Some(programs) = Programs::of(15) else { return };
    let wal = place();
    let wal_name = wal.path().to_str().unwrap();
    let command = format!("{} backup wal archive %p --to {wal_name}", programs.iostall().display());
    let server = Server::archiving(&programs, &command, &[]);
    let here = Workspace::new();
    fs::create_dir(here.path("b")).unwrap();
    server.ask("schema", &[]);
    for (number, name) in [(1, "a"), (2, "b"), (3, "c")] {
        for row in 0..3 {
            server.ask("row", &[("number", &format!("{number}0{row}"))]);
            server.switched();
        }
        let to = format!("b/{name}.iob");
        here.run(&["backup", "create", "--to", &to, &server.url()]).expect_status(0);
    }
    server.switched();
    server.archived_all();
    let files = || {
        let mut names: Vec<String> = fs::read_dir(wal.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    };
    let prune = |rest: &[&str]| {
        let words = ["backup", "prune", "--json", "--keep-last", "2", "--wal", wal_name, "b"];
        let ran = here.run(&[&words[..], rest].concat()).expect_status(0);
        serde_json::from_str::<Value>(&ran.stdout).unwrap()["wal"].take()
    };
    let before = files();
    let list = |name: &str| {
        let ran = here.run(&["backup", "wal", "list", "--json", wal_name, &format!("b/{name}.iob")]);
        let list: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{}", ran.stderr));
        list["sets"][0].clone()
    };
    let start = list("b")["start_lsn"].as_str().unwrap().to_owned();
    let would = prune(&["--dry-run"]);
    assert!(would["files"].as_u64().unwrap() >= 3, "{would}");
    assert_eq!(files(), before);
    let done = prune(&[]);
    assert_eq!((&done["files"], &done["first"]), (&would["files"], &would["first"]), "{done}");
    assert!(here.path("b/b.iob").exists() && !here.path("b/a.iob").exists());
    // Segments have one megabyte: the number of the first one that stays is in the position.
    let low = u64::from_str_radix(start.split_once('/').unwrap().1, 16).unwrap() >> 20;
    let first = format!("0000000100000000{low:08X}.iow");
    let is_segment = |name: &String| name.len() == first.len() && name.starts_with("0000000100");
    let segments: Vec<_> = files().into_iter().filter(is_segment).collect();
    assert_eq!(segments.first(), Some(&first), "{segments:?}");
    for name in ["b", "c"] {
        assert_eq!(list(name)["reaches"][0]["gap"], Value::Null);
    }
    // Nobody can say what an encrypted backup needs, nor what those in other directories do.
    let word = here.secret("pass", "correct horse battery staple\n");
    let secret = ["--passphrase-file", word.to_str().unwrap(), "--to", "b/d.iob"];
    here.run(&[&["backup", "create"][..], &secret, &[&server.url()]].concat()).expect_status(0);
    server.archived_all();
    let before = files();
    let kept = prune(&[]);
    assert!(kept["because"].as_str().unwrap().contains("cannot be read"), "{kept}");
    fs::create_dir(here.path("empty")).unwrap();
    let elsewhere = ["backup", "prune", "--keep-last", "1", "--wal", wal_name, "empty"];
    let said = here.run(&elsewhere).expect_status(0).stdout;
    assert!(said.contains("nothing of the log in"), "{said}");
    assert_eq!(files(), before);
    let text =
        here.run(&["backup", "prune", "--dry-run", "--keep-last", "2", "--wal", "b", "b"]).expect_status(2);
    assert!(text.stderr.contains("is no archive of the log"), "{}", text.stderr);
}
