//! A PostgreSQL server of some version that archives its log with the program under test.

use std::fs::{self, File};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use iostall_test_programs::postgres;
use tempfile::TempDir;

use super::super::moto::Store;
use crate::support::{binary, copy_binary_to, skip, until};
use crate::unprivileged::{give, unprivileged};

const DEBIAN: &str = "/usr/lib/postgresql/15";
const ALL: &str = include_str!("../../sql/points.sql");

/// The statement called `name`, with values for what begins with `$`.
pub(super) fn sql(name: &str, values: &[(&str, &str)]) -> String {
    let named = ALL.split("-- name: ").find_map(|one| one.strip_prefix(name)?.strip_prefix('\n'));
    let text = named.unwrap_or_else(|| panic!("no statement is called {name}")).trim_end().to_owned();
    values.iter().fold(text, |text, (variable, value)| text.replace(&format!("${variable}"), value))
}

/// A directory that the account of the servers owns and everybody may enter.
pub(super) fn place() -> TempDir {
    let place = tempfile::tempdir().unwrap();
    fs::set_permissions(place.path(), fs::Permissions::from_mode(0o755)).unwrap();
    give(place.path());
    place
}

/// What all servers of a test share: their programs, iostall's among them.
pub(super) struct Programs {
    home: PathBuf,
    directory: TempDir,
    /// The port of an object store that all of them may use.
    pub(super) store: Option<u16>,
}

impl Programs {
    /// `None`, and a word about it, where this version cannot be had.
    pub(super) fn of(version: u32) -> Option<Self> {
        let Some(home) = postgres(version) else {
            skip(&format!("points in time of PostgreSQL {version}"), "it cannot be had");
            return None;
        };
        let directory = place();
        let iostall = directory.path().join("iostall");
        let word = directory.path().join("word");
        fs::write(&word, "the servers trust everybody\n").unwrap();
        fs::set_permissions(&word, fs::Permissions::from_mode(0o600)).unwrap();
        give(&word);
        if fs::hard_link(binary(), &iostall).is_err() {
            copy_binary_to(&iostall);
        }
        Some(Self { home, directory, store: None })
    }

    /// The program under test, where the account of the servers may run it.
    pub(super) fn iostall(&self) -> PathBuf {
        self.directory.path().join("iostall")
    }

    /// Where the server's programs are.
    pub(super) fn bin(&self) -> PathBuf {
        self.home.join("bin")
    }

    /// `program` under the account without rights.
    pub(super) fn command(&self, program: &Path) -> Command {
        let mut command = unprivileged(program);
        command.current_dir("/").env("LC_ALL", "C").env("LD_LIBRARY_PATH", self.home.join("lib"));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        if let Some(port) = self.store {
            Store::address(&mut command, port);
        }
        command
    }

    /// Makes a new cluster in `data` below `place`, with segments of one megabyte.
    pub(super) fn make(&self, place: &Path) {
        let mut initdb = self.command(&self.bin().join("initdb"));
        initdb.args(["-A", "trust", "-U", "postgres", "-N", "--wal-segsize=1", "--data-checksums", "-D"]);
        let made = initdb.arg(place.join("data")).status().unwrap();
        assert!(made.success(), "initdb");
    }
}

/// A running server.
pub(super) struct Server<'a> {
    programs: &'a Programs,
    pub(super) place: TempDir,
    port: u16,
    process: Child,
}

impl<'a> Server<'a> {
    /// On the cluster in `data` below `place`, once it answers; `Err` with its log if it ends before.
    pub(super) fn on(programs: &'a Programs, place: TempDir, settings: &[&str]) -> Result<Self, String> {
        Self::at(programs, place, settings, None)
    }

    /// The same on a port of the caller's choice.
    fn at(
        programs: &'a Programs,
        place: TempDir,
        settings: &[&str],
        port: Option<u16>,
    ) -> Result<Self, String> {
        let log = place.path().join("log");
        let any = || TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let (port, mut process) = until("PostgreSQL", || {
            let port = port.unwrap_or_else(any);
            let mut postgres = programs.command(&programs.bin().join("postgres"));
            postgres.arg("-D").arg(place.path().join("data")).arg("-k").arg(place.path());
            postgres.args(["-p", &port.to_string()]);
            for setting in [&["listen_addresses=127.0.0.1", "fsync=off", "autovacuum=off"], settings].concat()
            {
                postgres.args(["-c", setting]);
            }
            let mut process = postgres.stderr(File::create(&log).unwrap()).spawn().unwrap();
            let is_taken = until("PostgreSQL", || {
                let said = fs::read_to_string(&log).unwrap_or_default();
                let has_ended = process.try_wait().unwrap().is_some();
                let listens = said.contains("listening on Unix socket");
                (has_ended || listens).then(|| has_ended && said.contains("Address already in use"))
            });
            (!is_taken).then_some((port, process))
        });
        let is_up = until("PostgreSQL", || {
            let said = fs::read_to_string(&log).unwrap_or_default();
            let has_ended = process.try_wait().unwrap().is_some();
            let is_ready = said.contains("ready to accept");
            (is_ready || has_ended).then_some(is_ready && !has_ended)
        });
        if is_up {
            return Ok(Self { programs, place, port, process });
        }
        Err(fs::read_to_string(&log).unwrap_or_default())
    }

    /// A new cluster that archives its log to `archive`.
    pub(super) fn archiving(programs: &'a Programs, archive: &str, settings: &[&str]) -> Self {
        let place = place();
        programs.make(place.path());
        let command = format!("archive_command={archive}");
        let settings = [&["archive_mode=on", &command, "wal_level=replica"], settings].concat();
        Self::on(programs, place, &settings).unwrap()
    }

    pub(super) fn log(&self) -> String {
        fs::read_to_string(self.place.path().join("log")).unwrap_or_default()
    }

    pub(super) fn url(&self) -> String {
        let word = self.programs.directory.path().join("word");
        format!(
            "postgres://postgres@127.0.0.1:{}/postgres?tls=off&password-file={}",
            self.port,
            word.display()
        )
    }

    /// What the statement called `name` answers, its last line.
    #[track_caller]
    pub(super) fn ask(&self, name: &str, values: &[(&str, &str)]) -> String {
        let mut psql = self.programs.command(&Path::new(DEBIAN).join("bin/psql"));
        psql.args(["-h", "127.0.0.1", "-p", &self.port.to_string(), "-U", "postgres", "-d", "postgres"]);
        let output = psql.args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-c"]);
        let output = output.arg(sql(name, values)).stdout(Stdio::piped()).stderr(Stdio::piped()).output();
        let output = output.unwrap();
        assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        said.lines().rfind(|line| !line.is_empty()).unwrap_or_default().to_owned()
    }

    /// Ends the present segment, and waits until it is archived; returns its name.
    pub(super) fn switched(&self) -> String {
        let name = self.ask("switch", &[]);
        until("a segment in the archive", || (self.ask("archived", &[]) >= name).then_some(()));
        name
    }

    /// Waits until nothing is left to archive: the history file of a backup comes after its segments, and
    /// no backup waits for either.
    pub(super) fn archived_all(&self) {
        let status = self.place.path().join("data/pg_wal/archive_status");
        until("an archive without a backlog", || {
            let mut paths = fs::read_dir(&status).unwrap().map(|entry| entry.unwrap().path());
            (!paths.any(|path| path.extension().is_some_and(|word| word == "ready"))).then_some(())
        });
    }

    /// Ends it as an administrator does; its directory stays.
    pub(super) fn stopped(self) -> TempDir {
        self.ended("-INT")
    }

    /// Ends it as a power loss does; its directory stays.
    pub(super) fn killed(self) -> TempDir {
        self.ended("-KILL")
    }

    fn ended(mut self, signal: &str) -> TempDir {
        self.end(signal);
        std::mem::replace(&mut self.place, tempfile::tempdir().unwrap())
    }

    /// Ends it as an administrator does and starts it again on its port; `between` comes between.
    pub(super) fn restarted(self, settings: &[&str], between: impl FnOnce()) -> Self {
        let (programs, port) = (self.programs, self.port);
        let place = self.stopped();
        between();
        Self::at(programs, place, settings, Some(port)).unwrap()
    }

    fn end(&mut self, signal: &str) {
        let sent = Command::new("kill").arg(signal).arg(self.process.id().to_string()).status();
        assert!(sent.unwrap().success());
        self.process.wait().unwrap();
    }
}

impl Drop for Server<'_> {
    fn drop(&mut self) {
        // It may have ended already.
        if self.process.try_wait().is_ok_and(|ended| ended.is_none()) {
            self.end("-QUIT");
        }
    }
}
