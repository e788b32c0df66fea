//! Backups of real PostgreSQL servers: what is restored starts, is whole, and holds every committed transaction.

mod increments;
mod load;
mod made;
mod oracle;
mod programs_of_18;
mod protocol;
mod replication;
mod restored;
mod server_increments;
#[path = "."]
mod servers {
    #[path = "../../../collect/tests/watch/servers/postgres.rs"]
    #[allow(dead_code, reason = "sources of samples use more of it")]
    pub(crate) mod postgres;
    #[path = "../../../collect/tests/watch/servers/process.rs"]
    #[allow(dead_code, reason = "sources of samples use more of it")]
    mod process;

    pub(crate) use process::*;
}
mod statements;
mod traps;
mod versions;

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use iostall_connect::Secret;
use iostall_model::backup::Through;
use iostall_session::backup::postgres::{PostgresBackupError, PostgresRequest, prepare};
use iostall_transfer::backup::create::PreparedSource;

use restored::restore;
use servers::postgres::Postgres;
use servers::{directory, skip};
use statements::{sql, sql_with};

fn prepared(port: u16) -> Result<PreparedSource, PostgresBackupError> {
    prepare(&request(port), &Arc::default())
}

fn request(port: u16) -> PostgresRequest {
    PostgresRequest {
        address: format!("postgres://postgres@127.0.0.1:{port}/postgres?tls=off").parse().unwrap(),
        password: Secret::default(),
        limit: Duration::from_secs(600),
        fast_checkpoint: true,
        through: Some(Through::Files),
        base: None,
    }
}

/// A place for a restore below a directory of its own.
fn place() -> tempfile::TempDir {
    let place = directory();
    fs::create_dir(place.path().join("data")).unwrap();
    servers::chown_to_nobody(&place.path().join("data"));
    place
}

/// Starts a server on what was restored below `place`.
fn started(place: tempfile::TempDir, version: u32, settings: &[&str]) -> Postgres {
    let mut server = Postgres::of(place, version, settings).unwrap();
    server.resume();
    server
}

/// Checks the content of the database with the server's own means, and that transfers up to `committed` are there.
fn check(server: &Postgres, version: u32, committed: u64) {
    let there = sql_with("committed", &[("last", &committed)]);
    assert_eq!(server.number(&there), committed, "transactions are missing");
    assert_eq!(server.number(sql("balances")), 0);
    assert_eq!(server.number(sql("gaps")), 0, "a transaction is there without one before it");
    server.sql(sql("amcheck"));
    server.sql(sql("check_indexes"));
    if version >= 14 {
        assert_eq!(server.number(sql("check_heaps")), 0, "verify_heapam found damage");
    }
}

/// Checks every page of a cluster that is down, where there is the tool for its version.
fn check_pages(server: &Postgres, version: u32) {
    let mut tool = match version {
        15 => server.tool("pg_checksums"),
        18 => match programs_of_18::program("pg_checksums") {
            Some(program) => Command::new(program),
            None => return skip("pg_checksums 18: it cannot be had"),
        },
        _ => return,
    };
    tool.arg("--check").arg("-D").arg(server.data());
    servers::made(&mut tool);
}

/// Waits for what a query returns.
fn wait_until(server: &Postgres, query: &str, expected: u64) {
    servers::until(query, || (server.number(query) == expected).then_some(()));
}

/// Someone removed the label, as the server's own hint suggests for a crashed server: the copy started at a later point of the
/// log than its files were of, and lost data without a word.
#[test]
fn without_its_label_a_copy_does_not_start() {
    let Some(server) = Postgres::start(15, None) else { return skip("PostgreSQL 15: it is not installed") };
    server.sql(sql("schema"));
    let place = place();
    restore(prepared(server.port).unwrap(), &place.path().join("data"), || {}, || {});
    let copy = Postgres::of(place, 15, &[]).unwrap();
    let label = copy.data().join("backup_label");
    let kept = fs::read(&label).unwrap();
    fs::remove_file(&label).unwrap();
    let mut postgres = copy.tool("postgres");
    postgres.arg("-D").arg(copy.data()).arg("-k").arg(copy.data()).args(["-p", &copy.port.to_string()]);
    let output = postgres.stderr(Stdio::piped()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        !output.status.success() && said.contains("could not locate a valid checkpoint record"),
        "{said}"
    );
    // With the label it does: nothing was lost by the attempt.
    fs::write(&label, kept).unwrap();
    servers::chown_to_nobody(&label);
    let mut copy = copy;
    copy.resume();
    assert_eq!(copy.number(sql("accounts")), 30_000);
}

/// A backup that broke off left the server in backup mode, and its log grew until the disk was full.
#[test]
fn a_backup_that_is_dropped_leaves_the_server_as_it_was() {
    let Some(server) = Postgres::start(15, None) else { return skip("PostgreSQL 15: it is not installed") };
    let source = prepared(server.port).unwrap();
    assert_eq!(server.number(sql("temporary_slots")), 1);
    drop(source);
    wait_until(&server, sql("slots"), 0);
    wait_until(&server, sql("sessions"), 0);
    assert!(!server.data().join("backup_label").exists());
}

fn has_files(directory: &Path) -> bool {
    directory.is_dir() && fs::read_dir(directory).unwrap().next().is_some()
}
