//! Servers for tests: 15 from Debian, 18 from npm, in a directory and on a port of their own.

use std::fs;
use std::io::Write as _;
use std::net::TcpListener;
use std::os::unix::fs::{MetadataExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use iostall_connect::{Address, Secret};
use iostall_measure::{Clock as _, MonotonicClock};
use iostall_test_programs::postgres;

/// The account that owns nothing: PostgreSQL does not run as root.
const NOBODY: u32 = 65_534;
const DEBIAN: &str = "/usr/lib/postgresql/15";

pub(super) struct Server {
    directory: tempfile::TempDir,
    home: PathBuf,
    preloaded: Option<&'static str>,
    pub(super) port: u16,
    process: Child,
}

impl Server {
    /// `None`, with a word about it, where this version cannot be had.
    pub(super) fn start(version: u32) -> Option<Self> {
        let Some(home) = postgres(version) else {
            skip(&format!("PostgreSQL {version}"));
            return None;
        };
        Some(Self::start_in(home, None))
    }

    /// Debian's with an extension, which needs its library from the start.
    pub(super) fn start_with(library: &'static str) -> Option<Self> {
        let home = PathBuf::from(DEBIAN);
        if !home.join("lib").join(format!("{library}.so")).exists() {
            skip(&format!("PostgreSQL 15 with {library}"));
            return None;
        }
        Some(Self::start_in(home, Some(library)))
    }

    fn start_in(home: PathBuf, library: Option<&'static str>) -> Self {
        let directory = tempfile::tempdir().unwrap();
        if is_root() {
            chown(directory.path(), Some(NOBODY), Some(NOBODY)).unwrap();
        }
        let mut initdb = command(&home, "initdb");
        initdb
            .args(["-A", "trust", "-U", "postgres", "-N", "-E", "UTF8", "-D"])
            .arg(directory.path().join("data"));
        assert!(initdb.status().unwrap().success(), "initdb");
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let process = run(&home, directory.path(), port, library);
        let server = Self { directory, home, preloaded: library, port, process };
        server.wait();
        server
    }

    pub(super) fn database(&self, name: &str, options: &str) -> Address {
        self.sql("postgres", &format!("CREATE DATABASE {name} {options}"));
        self.address("postgres", name)
    }

    pub(super) fn address(&self, user: &str, database: &str) -> Address {
        format!("postgres://{user}@127.0.0.1:{}/{database}", self.port).parse().unwrap()
    }

    /// Runs statements as an administrator; what they print.
    pub(super) fn sql(&self, database: &str, text: &str) -> String {
        let output = self.psql(database, text);
        assert!(output.status.success(), "{text}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    fn psql(&self, database: &str, text: &str) -> std::process::Output {
        // The packages from npm have no psql.
        let mut psql = command(Path::new(DEBIAN), "psql");
        psql.args([
            "-X",
            "-A",
            "-t",
            "-v",
            "ON_ERROR_STOP=1",
            "-h",
            "127.0.0.1",
            "-U",
            "postgres",
            "-d",
            database,
        ]);
        psql.args(["-p", &self.port.to_string(), "-c", text]).stdout(Stdio::piped()).stderr(Stdio::piped());
        psql.output().unwrap()
    }

    /// Ends it as a power loss does, and starts it again.
    pub(super) fn crash(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
        let clock = MonotonicClock::new();
        // The backends' shared memory may still be there for a while: then it ends by itself.
        for _ in 0..200 {
            self.process = run(&self.home, self.directory.path(), self.port, self.preloaded);
            clock.sleep_until(clock.now_ns() + 300_000_000);
            if self.process.try_wait().unwrap().is_none() {
                break;
            }
        }
        self.wait();
    }

    fn wait(&self) {
        let clock = MonotonicClock::new();
        for _ in 0..600 {
            if self.psql("postgres", "SELECT").status.success() {
                return;
            }
            clock.sleep_until(clock.now_ns() + 50_000_000);
        }
        panic!("the server does not answer");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

pub(super) fn no_password() -> Secret {
    Secret::default()
}

fn skip(what: &str) {
    // To the stream itself, past the test harness, which keeps to itself what a test that passes prints.
    let _ = writeln!(std::io::stderr(), "SKIPPED: repository on {what}: it cannot be had");
}

fn run(home: &Path, directory: &Path, port: u16, library: Option<&str>) -> Child {
    let mut server = command(home, "postgres");
    server.arg("-D").arg(directory.join("data")).arg("-k").arg(directory);
    server.args(["-p", &port.to_string(), "-c", "listen_addresses=127.0.0.1", "-c", "fsync=off"]);
    server.args(["-c", "max_connections=30", "-c", "shared_buffers=16MB"]);
    if let Some(library) = library {
        server.args([
            "-c",
            &format!("shared_preload_libraries={library}"),
            "-c",
            "timescaledb.telemetry_level=off",
        ]);
    }
    server.spawn().unwrap()
}

fn command(home: &Path, program: &str) -> Command {
    let mut command = Command::new(home.join("bin").join(program));
    command.current_dir("/").env("LC_ALL", "C").env("LD_LIBRARY_PATH", home.join("lib"));
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    if is_root() {
        command.uid(NOBODY).gid(NOBODY);
    }
    command
}

fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|metadata| metadata.uid() == 0)
}
