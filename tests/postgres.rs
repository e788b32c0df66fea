//! A PostgreSQL server of a test's own: Debian's, in a directory and on a port that nobody else uses.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use iostall_test_programs::kept;

use crate::support::until;
use crate::unprivileged::{give, unprivileged};

/// Debian's path.
const PROGRAMS: &str = "/usr/lib/postgresql/15/bin";
/// What no test loses power for, and none runs long enough for.
const SETTINGS: [&str; 2] = ["fsync=off", "autovacuum=off"];

/// A server that requires passwords and logs to a file.
pub(crate) struct Postgres {
    directory: tempfile::TempDir,
    port: u16,
    settings: Vec<String>,
    process: Child,
}

fn program(name: &str) -> Command {
    let mut command = unprivileged(&Path::new(PROGRAMS).join(name));
    command
        .current_dir("/")
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command
}

impl Postgres {
    /// `None` if PostgreSQL is not installed.
    pub(crate) fn start() -> Option<Self> {
        Self::made_with(&[])
    }

    /// The same, with options of initdb.
    pub(crate) fn made_with(options: &[&str]) -> Option<Self> {
        Self::made_and_set(options, &SETTINGS)
    }

    /// The same, with these settings in place of those that are usual here.
    pub(crate) fn made_and_set(options: &[&str], settings: &[&str]) -> Option<Self> {
        if !Path::new(PROGRAMS).join("postgres").exists() {
            return None;
        }
        let directory = if options.is_empty() { Self::copied() } else { None };
        Some(Self::set_on(directory.unwrap_or_else(|| Self::initialised(options)), settings))
    }

    fn initialised(options: &[&str]) -> tempfile::TempDir {
        let directory = tempfile::tempdir().unwrap();
        let (data, word) = (directory.path().join("data"), directory.path().join("word"));
        std::fs::write(&word, "right\n").unwrap();
        [directory.path(), &word].into_iter().for_each(give);
        let pwfile = format!("--pwfile={}", word.display());
        let made = program("initdb")
            .args(["-A", "scram-sha-256", "-U", "mon", "-N", "--data-checksums", &pwfile, "-D"])
            .arg(&data)
            .args(options)
            .status();
        assert!(made.unwrap().success(), "initdb");
        directory
    }

    /// A copy of a cluster that was made once for all tests, which takes a tenth of the time. All copies have one identity, so a test
    /// gets a copy as its first server only; the others are made for it.
    fn copied() -> Option<tempfile::TempDir> {
        static IS_TAKEN: AtomicBool = AtomicBool::new(false);
        if IS_TAKEN.swap(true, Ordering::Relaxed) {
            return None;
        }
        let copy = |from: &Path, to: &Path| {
            let copied = Command::new("cp").arg("-a").args([from, to]).status();
            copied.is_ok_and(|status| status.success()).then_some(())
        };
        let home = kept("cluster-15", |home| {
            let directory = Self::initialised(&[]);
            copy(&directory.path().join("data"), &home.join("data"))
        })?;
        let directory = Self::place();
        copy(&home.join("data"), &directory.path().join("data"))?;
        Some(directory)
    }

    /// On the cluster in `data` below `directory`.
    pub(crate) fn on(directory: tempfile::TempDir) -> Self {
        Self::set_on(directory, &SETTINGS)
    }

    fn set_on(directory: tempfile::TempDir, settings: &[&str]) -> Self {
        let data = directory.path().join("data");
        let listen = |directory| Self::listen(directory, &data, settings);
        // If another process takes the port first, the server exits and another port is tried.
        let mut directory = Some(directory);
        until("PostgreSQL", || match listen(directory.take()?) {
            Ok(server) => Some(server),
            Err(again) => {
                directory = Some(again);
                None
            }
        })
    }

    /// The id of its first process.
    pub(crate) fn id(&self) -> u32 {
        self.process.id()
    }

    /// A directory that its account owns, for a cluster.
    pub(crate) fn place() -> tempfile::TempDir {
        let directory = tempfile::tempdir().unwrap();
        give(directory.path());
        directory
    }

    /// Its data directory.
    pub(crate) fn data(&self) -> PathBuf {
        self.directory.path().join("data")
    }

    /// The only column of the only row that `text` returns.
    pub(crate) fn value(&self, text: &str) -> String {
        let output = self.client("psql").args(["-A", "-t", "-c", text]).stdout(Stdio::piped()).output();
        String::from_utf8_lossy(&output.unwrap().stdout).trim().to_owned()
    }

    /// The same in another database.
    pub(crate) fn value_in(&self, database: &str, text: &str) -> String {
        let output = self
            .client("psql")
            .args(["-A", "-t", "-d", database, "-c", text])
            .stdout(Stdio::piped())
            .output();
        String::from_utf8_lossy(&output.unwrap().stdout).trim().to_owned()
    }

    /// Runs a client program that must succeed.
    pub(crate) fn passes(&self, name: &str, arguments: &[&str]) {
        let mut tool = self.client(name);
        assert!(tool.args(arguments).status().unwrap().success(), "{name} {arguments:?}");
    }

    /// Ends it as an administrator does, and has its pages checked by the server's own tool.
    pub(crate) fn check_pages(mut self) {
        let sent = Command::new("kill").arg("-INT").arg(self.process.id().to_string()).status();
        assert!(sent.unwrap().success());
        self.process.wait().unwrap();
        let mut tool = program("pg_checksums");
        assert!(tool.arg("--check").arg("-D").arg(self.data()).status().unwrap().success(), "pg_checksums");
    }

    /// Starts the server on a port that was free a moment ago; returns the directory if the server exited.
    fn listen(
        directory: tempfile::TempDir,
        data: &Path,
        settings: &[&str],
    ) -> Result<Self, tempfile::TempDir> {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        match Self::process(directory.path(), data, port, settings) {
            Some(process) => Ok(Self {
                directory,
                port,
                settings: settings.iter().map(|one| (*one).to_owned()).collect(),
                process,
            }),
            None => Err(directory),
        }
    }

    /// Starts the server; `None` if it exited.
    fn process(directory: &Path, data: &Path, port: u16, settings: &[&str]) -> Option<Child> {
        let log = std::fs::File::create(directory.join("log")).unwrap();
        let mut postgres = program("postgres");
        postgres.arg("-D").arg(data).arg("-k").arg(directory).args(["-p", &port.to_string()]);
        postgres.args(["-c", "listen_addresses=127.0.0.1"]);
        postgres.args(settings.iter().flat_map(|setting| ["-c", setting]));
        let mut process = postgres.stderr(log).spawn().unwrap();
        let path = directory.join("log");
        let is_ready = until("PostgreSQL", || {
            let has_ended = process.try_wait().unwrap().is_some();
            let log = std::fs::read_to_string(&path).unwrap_or_default();
            let is_ready = log.contains("ready to accept connections");
            (is_ready || has_ended).then_some(is_ready)
        });
        is_ready.then_some(process)
    }

    /// Starts it again at the same port after [`Postgres::stop`], as soon as its processes have noticed that.
    pub(crate) fn resume(&mut self) {
        let data = self.data();
        let settings: Vec<&str> = self.settings.iter().map(String::as_str).collect();
        self.process =
            until("PostgreSQL", || Self::process(self.directory.path(), &data, self.port, &settings));
    }

    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(self.directory.path().join("log")).unwrap_or_default()
    }

    /// How often the log contains `words`.
    pub(crate) fn logged(&self, words: &str) -> usize {
        self.log().matches(words).count()
    }

    pub(crate) fn url(&self, database: &str, password: &Path) -> String {
        format!("postgres://mon@127.0.0.1:{}/{database}?password-file={}", self.port, password.display())
    }

    pub(crate) fn sql(&self, text: &str) {
        let mut psql = self.client("psql");
        assert!(psql.args(["-c", text]).status().unwrap().success(), "{text}");
    }

    /// Lets all sessions time the log: without that the server does not know how long a commit takes.
    pub(crate) fn time_the_log(&self) {
        self.sql("ALTER ROLE mon SET track_wal_io_timing = on");
    }

    /// A client program that logs in to the database `postgres`.
    fn client(&self, name: &str) -> Command {
        let mut client = program(name);
        client.args(["-h", "127.0.0.1", "-p", &self.port.to_string(), "-U", "mon", "-d", "postgres"]);
        client.env("PGPASSWORD", "right");
        client
    }

    /// Whether iostall is logged in.
    pub(crate) fn has_session(&self) -> bool {
        self.value(include_str!("sql/sessions.sql")) != "0"
    }

    /// Users who commit without a pause, until this is dropped.
    pub(crate) fn users(&self) -> Users {
        self.sql(include_str!("sql/users_make_orders.sql"));
        let script = self.directory.path().join("users.sql");
        // The pause is a word of pgbench's.
        let order = concat!(include_str!("sql/users_order.sql"), "\\sleep 5 ms\n");
        std::fs::write(&script, order).unwrap();
        let mut pgbench = program("pgbench");
        pgbench.args([
            "-h",
            "127.0.0.1",
            "-p",
            &self.port.to_string(),
            "-U",
            "mon",
            "-n",
            "-c",
            "4",
            "-T",
            "3600",
        ]);
        pgbench.env("PGPASSWORD", "right").arg("-f").arg(&script).arg("postgres");
        Users(pgbench.spawn().unwrap())
    }

    /// Halts all its processes, as a dead disk would: it takes connections, and answers nothing.
    pub(crate) fn hold(&self) {
        self.signal_all("-STOP");
    }

    pub(crate) fn go_on(&self) {
        self.signal_all("-CONT");
    }

    fn signal_all(&self, signal: &str) {
        let own = self.process.id().to_string();
        assert!(Command::new("kill").args([signal, &own]).status().unwrap().success());
        // Whoever has ended meanwhile needs no signal.
        let _ = Command::new("pkill").args([signal, "-P", &own]).status().unwrap();
    }

    /// Stops it at once, as a crash would.
    pub(crate) fn stop(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

/// Users of a server.
pub(crate) struct Users(Child);

impl Drop for Users {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
