//! `iostall collect run` against a PostgreSQL server that refuses the login: the server's log shows how often
//! it tries.

use std::net::TcpListener;
use std::os::unix::fs::{MetadataExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::support::{Ran, Workspace, skip, until};

/// Debian's path.
const PROGRAMS: &str = "/usr/lib/postgresql/15/bin";
/// PostgreSQL does not run as root.
const NOBODY: u32 = 65_534;

/// A server that requires passwords and logs to a file.
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

impl Postgres {
    /// `None` if PostgreSQL is not installed.
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
        let listen = |directory| Self::listen(directory, &data);
        // If another process takes the port first, the server exits and another port is tried.
        let mut directory = Some(directory);
        let server = until("PostgreSQL", || match listen(directory.take()?) {
            Ok(server) => Some(server),
            Err(again) => {
                directory = Some(again);
                None
            }
        });
        Some(server)
    }

    /// Starts the server on a port that was free a moment ago; returns the directory if the server exited.
    fn listen(directory: tempfile::TempDir, data: &Path) -> Result<Self, tempfile::TempDir> {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let log = std::fs::File::create(directory.path().join("log")).unwrap();
        let mut postgres = program("postgres");
        postgres.arg("-D").arg(data).arg("-k").arg(directory.path()).args(["-p", &port.to_string()]);
        postgres.args(["-c", "listen_addresses=127.0.0.1", "-c", "fsync=off", "-c", "autovacuum=off"]);
        let mut process = postgres.stderr(log).spawn().unwrap();
        let path = directory.path().join("log");
        let is_ready = until("PostgreSQL", || {
            let has_ended = process.try_wait().unwrap().is_some();
            let log = std::fs::read_to_string(&path).unwrap_or_default();
            let is_ready = log.contains("ready to accept connections");
            (is_ready || has_ended).then_some(is_ready)
        });
        if is_ready { Ok(Self { directory, port, process }) } else { Err(directory) }
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.directory.path().join("log")).unwrap_or_default()
    }

    /// How often the log contains `words`.
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

/// Writes a password to a file.
fn password(workspace: &Workspace, word: &str) -> PathBuf {
    workspace.secret("password", word)
}

/// Missed samples in the store. Without numbers, a report shows at least these.
fn missed_samples(workspace: &Workspace) -> u64 {
    let ran = workspace.run(&["report", "server"]);
    let words: Vec<&str> = ran.stderr.split_whitespace().collect();
    let count = |three: &[&str]| match three {
        [count, "missed", "sample" | "samples"] => count.parse::<u64>().ok(),
        _ => None,
    };
    words.windows(3).filter_map(count).sum()
}

/// Runs a collector until it has missed `ticks` samples and `is_enough` is true; returns its output.
fn refused_for(workspace: &Workspace, url: &str, ticks: u64, is_enough: impl Fn() -> bool) -> Ran {
    let mut collector = workspace.start(&["collect", "run", "--interval", "1s", url]);
    collector.wait_until("the gaps", |_| is_enough() && missed_samples(workspace) >= ticks);
    collector.signal("INT");
    collector.ended().expect_status(0)
}

/// Attempts are made at ticks 0, 1, 3, 7, 15 and so on; a machine that was asleep makes fewer.
fn tries_at_most(ticks: u64) -> usize {
    usize::try_from((ticks + 1).ilog2()).unwrap() + 1
}

/// A wrong password was tried at every tick, which locked accounts within seconds.
#[test]
fn a_refused_login_is_tried_less_and_less_often_and_every_tick_is_a_gap() {
    let Some(server) = Postgres::start() else {
        return skip("refused logins", "PostgreSQL 15 is not installed");
    };
    let workspace = Workspace::new();
    let refused = || server.logged("password authentication failed for user \"mon\"");
    let url = server.url("postgres", &password(&workspace, "wrong"));
    let ran = refused_for(&workspace, &url, 8, || refused() >= 2);
    let tries = refused();
    let ticks = missed_samples(&workspace);
    assert!((2..=tries_at_most(ticks)).contains(&tries), "{tries} tries in {ticks} ticks:\n{}", server.log());
    assert!(ran.stderr.contains("refused the login \"mon\""), "{}", ran.stderr);
    assert_eq!(ran.stderr.matches("; next try at ").count(), tries, "each pause is told: {}", ran.stderr);

    let workspace = Workspace::new();
    let url = server.url("nowhere", &password(&workspace, "right"));
    let ran = refused_for(&workspace, &url, 5, || true);
    let tries = server.logged("database \"nowhere\" does not exist");
    let ticks = missed_samples(&workspace);
    assert!((1..=tries_at_most(ticks)).contains(&tries), "{tries} tries in {ticks} ticks:\n{}", server.log());
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
    let collector = workspace.start(&["collect", "run", "--interval", "1s", &url]);
    until("a refusal", || (server.logged("password authentication failed") > 1).then_some(()));
    server.sql("ALTER ROLE other PASSWORD 'later'");
    until("a sample", || {
        let ran = workspace.run(&["report", "server", "--json", "-"]);
        let json: Value = serde_json::from_str(&ran.stdout).ok()?;
        (!json["groups"].as_array()?.is_empty()).then_some(())
    });
    collector.signal("INT");
    let ran = collector.ended().expect_status(0);
    assert!(ran.stderr.contains("answers again at "), "{}", ran.stderr);
}
