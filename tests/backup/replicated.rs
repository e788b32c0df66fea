//! Backups of a PostgreSQL that sends its files.

use std::fs;

use super::attacks::words_of;
use super::create::shelves;
use crate::postgres::Postgres;
use crate::support::{Workspace, skip};

/// The story: the server was in a container, and its data directory was nowhere on the machine that had room for the backup.
#[test]
fn a_server_whose_files_are_elsewhere_sends_them_and_the_report_says_so() {
    let here = Workspace::new();
    let Some(server) = Postgres::made_with(&["-k"]) else {
        return skip("backups through replication", "PostgreSQL 15 is not installed");
    };
    shelves(&here);
    server.sql(include_str!("../sql/backup_relation.sql"));
    let relation = server.value(include_str!("../sql/backup_relation_file.sql"));
    let relation = relation.lines().last().unwrap().to_owned();
    let url = server.url("postgres", &here.secret("password", "right\n"));
    let create = |name: &'static str, options: &[&'static str]| {
        let mut arguments = vec!["backup", "create", "--to", name];
        arguments.extend(options);
        arguments.push(&url);
        here.run(&arguments)
    };
    let ran = create("b1/sent.iob", &["--through", "replication", "--json", "b.json"]).expect_status(0);
    assert!(words_of(&ran).contains("through replication"), "{}", ran.stdout);
    let run = here.json("b.json");
    assert_eq!(run["backup"]["through"], "replication");
    assert!(run["backup"]["pages_checked"].as_u64().unwrap() > 18, "{run}");
    here.run(&["backup", "verify", "b1/sent.iob"]).expect_status(0);
    let ran = create("b1/read.iob", &["--through", "files"]).expect_status(0);
    assert!(words_of(&ran).contains("through files"), "{}", ran.stdout);
    create("b1/no.iob", &["--through", "magic"]).expect_status(2);
    for name in ["sent", "read"] {
        let stripe = format!("b1/{name}.iob");
        here.run(&["backup", "restore", &stripe, "--to", name]).expect_status(0);
    }
    // The same files, whichever way they took.
    let file = |name: &str, path: &str| fs::read(here.path(name).join(path));
    assert_eq!(file("sent", &relation).unwrap(), file("read", &relation).unwrap());
    for there in
        ["PG_VERSION", "backup_label", "global/pg_control", "postgresql.conf", "pg_wal/archive_status"]
    {
        let is_there = |name: &str| here.path(name).join(there).exists();
        assert!(is_there("sent") && is_there("read"), "{there}");
    }
    assert!(!here.path("sent/postmaster.pid").exists());
}
