//! A PostgreSQL server of a test's own, Debian's, with a repository that has some days.

use std::net::TcpListener;
use std::os::unix::fs::{MetadataExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use iostall_connect::{Address, Secret};
use iostall_measure::{Clock as _, MonotonicClock};
use iostall_model::{Counter, Counters, Epoch, Kind, Row, Sample, SampleTime, Scope, Subject};
use iostall_store::{History as _, PostgresHistory};
use jiff::{SignedDuration, Timestamp};

use crate::skip;

const PROGRAMS: &str = "/usr/lib/postgresql/15/bin";
/// PostgreSQL does not run as root.
const NOBODY: u32 = 65_534;

/// A running server that trusts everybody on this machine.
pub(crate) struct Postgres {
    _directory: tempfile::TempDir,
    port: u16,
    process: Child,
}

fn program(name: &str) -> Command {
    let mut command = Command::new(Path::new(PROGRAMS).join(name));
    command.current_dir("/").env("LC_ALL", "C");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    if std::fs::metadata("/proc/self").is_ok_and(|metadata| metadata.uid() == 0) {
        command.uid(NOBODY).gid(NOBODY);
    }
    command
}

impl Postgres {
    /// With an empty repository; `None`, with a word about it, if PostgreSQL is not installed.
    pub(crate) fn start() -> Option<Self> {
        if !Path::new(PROGRAMS).join("postgres").exists() {
            skip("the lake", "PostgreSQL 15 is not installed");
            return None;
        }
        let directory = tempfile::tempdir().unwrap();
        let _ = chown(directory.path(), Some(NOBODY), Some(NOBODY));
        let data = directory.path().join("data");
        let mut initdb = program("initdb");
        initdb.args(["-A", "trust", "-U", "postgres", "-N", "-E", "UTF8", "-D"]).arg(&data);
        assert!(initdb.status().unwrap().success(), "initdb");
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut postgres = program("postgres");
        postgres.arg("-D").arg(&data).arg("-k").arg(directory.path()).args(["-p", &port.to_string()]);
        postgres.args(["-c", "listen_addresses=127.0.0.1", "-c", "fsync=off", "-c", "shared_buffers=32MB"]);
        let process = postgres.spawn().unwrap();
        let server = Self { _directory: directory, port, process };
        let clock = MonotonicClock::new();
        let answers = || server.psql("SELECT").is_some();
        let mut tries = 0;
        while !answers() {
            clock.sleep_until(clock.now_ns() + 50_000_000);
            tries += 1;
            assert!(tries < 2000, "the server does not answer");
        }
        PostgresHistory::initialise(&server.address(), &Secret::default()).unwrap();
        Some(server)
    }

    pub(crate) fn url(&self) -> String {
        format!("postgres://postgres@127.0.0.1:{}/postgres", self.port)
    }

    /// How Python's driver is told the same.
    pub(crate) fn python_url(&self) -> String {
        format!(
            "postgresql+psycopg2://postgres@127.0.0.1:{}/postgres?options=-csearch_path%3Diostall",
            self.port
        )
    }

    /// How Java's driver is told the same.
    pub(crate) fn jdbc_url(&self) -> String {
        format!("jdbc:postgresql://127.0.0.1:{}/postgres?currentSchema=iostall", self.port)
    }

    fn address(&self) -> Address {
        self.url().parse().unwrap()
    }

    pub(crate) fn history(&self) -> PostgresHistory {
        PostgresHistory::open(&self.address(), &Secret::default()).unwrap()
    }

    fn psql(&self, sql: &str) -> Option<String> {
        let mut psql = program("psql");
        psql.args(["-X", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-h", "127.0.0.1", "-U", "postgres"]);
        psql.args(["-p", &self.port.to_string(), "-c", sql]).stdout(Stdio::piped());
        let output = psql.output().unwrap();
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }

    /// What a statement prints.
    pub(crate) fn sql(&self, sql: &str) -> String {
        self.psql(sql).unwrap_or_else(|| panic!("{sql}"))
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The day `number` of March.
pub(crate) fn day(number: u8) -> Timestamp {
    format!("2026-03-{number:02}T00:00:00Z").parse().unwrap()
}

/// A sample every ten minutes from `from` on, of a file that is used and one that is not.
pub(crate) fn fill(history: &mut PostgresHistory, source: &str, from: Timestamp, samples: u64) {
    let source = history.source(source).unwrap().id;
    for number in 0..samples {
        let minutes = i64::try_from(number * 10).unwrap();
        let utc = from + SignedDuration::from_mins(minutes) + SignedDuration::from_micros(1234);
        let clock_ns = utc.as_nanosecond().try_into().unwrap();
        let file = |name: &str, uses: u64| Row {
            subject: Subject {
                kind: Kind::SqlServerFile,
                scope: Scope::Database("sales".into()),
                name: format!("{name}.mdf"),
                identity: name.into(),
                volume: Some("E:\\".into()),
            },
            counters: Counters::new()
                .with(Counter::Reads, 1000 + uses * (50 + number % 7))
                .with(Counter::ReadBytes, (1000 + uses * (50 + number % 7)) * 8192)
                .with(Counter::ReadStall, uses * (3 + number % 11))
                .with(Counter::SizeBytes, 1 << 30)
                .with(Counter::Handle, u64::MAX - 5),
            age_ms: Some(number),
        };
        let sample = Sample {
            taken: SampleTime { utc, clock: "boot".into(), clock_ns },
            epoch: Epoch { instance: "one".into(), version: 16, ..Epoch::default() },
            rows: vec![file("used", number * number), file("idle", 0)],
            warnings: Vec::new(),
        };
        history.add_sample(source, sample).unwrap();
    }
}
