//! `iostall collect run` against a PostgreSQL that does not let it in: how often it tries, by the server's own log.

use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::{MetadataExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use iostall_measure::{Clock, MonotonicClock};
use serde_json::Value;

use crate::support::{Ran, Workspace, signal, skip};

/// Debian's.
const PROGRAMS: &str = "/usr/lib/postgresql/15/bin";
/// The account that owns nothing: PostgreSQL does not run as root.
const NOBODY: u32 = 65_534;
/// The interval of the collector is a second: far more beats than are waited for.
const LOOKS_MAX: u32 = 1_200;

/// A server that wants passwords, and logs to a file.
struct Postgres {
    directory: tempfile::TempDir,
    port: u16,
    process: Child,
}

fn program(name: &str) -> Command {
    let mut command = Command::new(Path::new(PROGRAMS).join(name));
    command
        .current_dir("/")
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    if is_root() {
        command.uid(NOBODY).gid(NOBODY);
    }
    command
}

fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|metadata| metadata.uid() == 0)
}

/// Looks until there is something to see.
fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let clock = MonotonicClock::new();
    for _ in 0..LOOKS_MAX {
        if let Some(seen) = look() {
            return seen;
        }
        clock.sleep_until(clock.now_ns() + 50_000_000);
    }
    panic!("{what} did not come")
}

impl Postgres {
    /// `None` where PostgreSQL is not installed.
    fn start() -> Option<Self> {
        if !Path::new(PROGRAMS).join("postgres").exists() {
            return None;
        }
        let directory = tempfile::tempdir().unwrap();
        let (data, word) = (directory.path().join("data"), directory.path().join("word"));
        std::fs::write(&word, "right\n").unwrap();
        if is_root() {
            for path in [directory.path(), &word] {
                chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
            }
        }
        let pwfile = format!("--pwfile={}", word.display());
        let made = program("initdb")
            .args(["-A", "scram-sha-256", "-U", "mon", "-N", &pwfile, "-D"])
            .arg(&data)
            .status();
        assert!(made.unwrap().success(), "initdb");
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let log = std::fs::File::create(directory.path().join("log")).unwrap();
        let mut postgres = program("postgres");
        postgres.arg("-D").arg(&data).arg("-k").arg(directory.path()).args(["-p", &port.to_string()]);
        postgres.args(["-c", "listen_addresses=127.0.0.1", "-c", "fsync=off", "-c", "autovacuum=off"]);
        let process = postgres.stderr(log).spawn().unwrap();
        let server = Self { directory, port, process };
        until("PostgreSQL", || server.log().contains("ready to accept connections").then_some(()));
        assert!(TcpStream::connect(("127.0.0.1", port)).is_ok());
        Some(server)
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.directory.path().join("log")).unwrap_or_default()
    }

    /// How often the server wrote this down.
    fn logged(&self, words: &str) -> usize {
        self.log().matches(words).count()
    }

    fn url(&self, database: &str, password: &Path) -> String {
        format!("postgres://mon@127.0.0.1:{}/{database}?password-file={}", self.port, password.display())
    }

    fn sql(&self, text: &str) {
        let mut psql = program("psql");
        psql.args([
            "-h",
            "127.0.0.1",
            "-p",
            &self.port.to_string(),
            "-U",
            "mon",
            "-d",
            "postgres",
            "-c",
            text,
        ]);
        assert!(psql.env("PGPASSWORD", "right").status().unwrap().success(), "{text}");
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Writes a password into a file.
fn password(workspace: &Workspace, word: &str) -> PathBuf {
    let path = workspace.path("password");
    std::fs::write(&path, word).unwrap();
    path
}

/// How many beats without a sample the store has: with no number to show, a report says at least that.
fn beats_without(workspace: &Workspace) -> u64 {
    let ran = workspace.run(&["report", "server"]);
    let told = ran.stderr.split("no sample at ").skip(1);
    told.filter_map(|rest| match rest.split_once(" beats from ") {
        Some((beats, _)) if !beats.contains(' ') => beats.parse().ok(),
        _ => Some(1),
    })
    .sum()
}

/// Lets a collector run until it has had `beats` beats without a sample, and gives what it said.
fn refused_for(workspace: &Workspace, url: &str, beats: u64) -> Ran {
    let child = workspace.start(&["collect", "run", "--interval", "1s", url]);
    until("the gaps", || (beats_without(workspace) >= beats).then_some(()));
    signal(&child, "INT");
    Ran::from(child.wait_with_output().unwrap()).expect_status(0)
}

/// Tries are at the beats 0, 1, 3, 7, 15 and so on: those that a machine slept through only make them fewer.
fn tries_at_most(beats: u64) -> usize {
    usize::try_from((beats + 1).ilog2()).unwrap() + 1
}

/// A wrong password was tried at every beat: an account that locks after some failures was locked within seconds.
#[test]
fn a_refused_login_is_tried_less_and_less_often_and_every_beat_is_a_gap() {
    let Some(server) = Postgres::start() else {
        return skip("refused logins", "PostgreSQL 15 is not installed");
    };
    let workspace = Workspace::new();
    let ran = refused_for(&workspace, &server.url("postgres", &password(&workspace, "wrong")), 8);
    let tries = server.logged("password authentication failed for user \"mon\"");
    let beats = beats_without(&workspace);
    assert!((2..=tries_at_most(beats)).contains(&tries), "{tries} tries in {beats} beats:\n{}", server.log());
    assert!(ran.stderr.contains("refused the login \"mon\""), "{}", ran.stderr);
    assert_eq!(ran.stderr.matches("; next try at ").count(), tries, "each pause is told: {}", ran.stderr);

    let workspace = Workspace::new();
    let ran = refused_for(&workspace, &server.url("nowhere", &password(&workspace, "right")), 5);
    let tries = server.logged("database \"nowhere\" does not exist");
    let beats = beats_without(&workspace);
    assert!((1..=tries_at_most(beats)).contains(&tries), "{tries} tries in {beats} beats:\n{}", server.log());
    assert!(ran.stderr.contains("database \"nowhere\" does not exist; next try at "), "{}", ran.stderr);
}

#[test]
fn a_login_that_is_let_in_again_is_sampled_again() {
    let Some(server) = Postgres::start() else {
        return skip("a login that is let in again", "PostgreSQL 15 is not installed");
    };
    server.sql("CREATE ROLE other LOGIN PASSWORD 'right'");
    let workspace = Workspace::new();
    let url = server.url("postgres", &password(&workspace, "later")).replace("mon@", "other@");
    let child = workspace.start(&["collect", "run", "--interval", "1s", &url]);
    until("a refusal", || (server.logged("password authentication failed") > 1).then_some(()));
    server.sql("ALTER ROLE other PASSWORD 'later'");
    until("a sample", || {
        let ran = workspace.run(&["report", "server", "--json", "-"]);
        let json: Value = serde_json::from_str(&ran.stdout).ok()?;
        (!json["groups"].as_array()?.is_empty()).then_some(())
    });
    signal(&child, "INT");
    let ran = Ran::from(child.wait_with_output().unwrap()).expect_status(0);
    assert!(ran.stderr.contains("answers again at "), "{}", ran.stderr);
}
