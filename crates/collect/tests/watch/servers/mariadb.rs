//! MariaDB, from Debian.

use std::path::Path;

use iostall_collect::Engine;
use rustix::process::Signal;

use super::{Port, Process, command, directory, made, mysql_sql, statements, until};

const SERVER: &str = "/usr/sbin/mariadbd";
const INSTALL: &str = "/usr/bin/mariadb-install-db";

/// Where temporary tables are. A server that starts removes all it finds there, as a crash would have left them: those of
/// another server too, which then fails.
const TEMPORARY: &str = "TMPDIR";

/// A server and its data.
pub(crate) struct Mariadb {
    directory: tempfile::TempDir,
    pub(crate) port: u16,
    _kept: Port,
    /// `--name=value`, over those that every server here is started with.
    settings: Vec<String>,
    process: Option<Process>,
}

impl Mariadb {
    /// A new server, started; `None` where MariaDB is not installed.
    pub(crate) fn start(performance_schema: bool) -> Option<Self> {
        Self::start_in(directory(), performance_schema, &[])
    }

    /// The same in a directory of the caller's choice and with settings of its own.
    pub(crate) fn start_in(
        directory: tempfile::TempDir,
        performance_schema: bool,
        settings: &[&str],
    ) -> Option<Self> {
        if !Path::new(SERVER).exists() {
            return None;
        }
        let mut install = command(Path::new(INSTALL));
        install.env(TEMPORARY, directory.path());
        install.arg("--no-defaults").arg(format!("--datadir={}", directory.path().join("data").display()));
        install.args(["--auth-root-authentication-method=normal", "--skip-test-db"]);
        made(&mut install);
        let settings = settings.iter().map(ToString::to_string).collect();
        let port = Port::new();
        let mut server = Self { directory, port: port.number(), _kept: port, settings, process: None };
        server.resume(performance_schema);
        Some(server)
    }

    /// Starts a server that is down.
    pub(crate) fn resume(&mut self, performance_schema: bool) {
        let place = self.directory.path();
        let mut server = command(Path::new(SERVER));
        server.env(TEMPORARY, place);
        server.arg("--no-defaults").arg(format!("--datadir={}", place.join("data").display()));
        server.arg(format!("--socket={}", place.join("socket").display()));
        server.arg(format!("--pid-file={}", place.join("pid").display()));
        server.arg(format!("--port={}", self.port)).args(["--bind-address=127.0.0.1"]);
        server.args(["--innodb-buffer-pool-size=8M", "--innodb-flush-log-at-trx-commit=2"]);
        if performance_schema {
            server.arg("--performance-schema=ON");
        }
        server.args(&self.settings);
        self.process = Some(Process(server.spawn().unwrap()));
        until("MariaDB", || {
            mysql_sql(self.port, "root", include_str!("../../../testdata/sql/ping.sql")).ok()
        });
    }

    /// Ends it as an administrator does.
    pub(crate) fn stop(&mut self) {
        if let Some(mut process) = self.process.take() {
            process.stop(Signal::TERM);
        }
    }

    /// Ends it as a power loss does.
    pub(crate) fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            process.stop(Signal::KILL);
        }
    }

    pub(crate) fn sql(&self, text: &str) {
        mysql_sql(self.port, "root", text).unwrap();
    }

    /// Makes the login that `iostall collect grants mysql` describes, with the password that our sources have.
    pub(crate) fn let_iostall_in(&self) {
        for statement in statements(Engine::Mysql) {
            self.sql(&statement.replace("'localhost'", "'127.0.0.1'").replace("choose-one", "secret"));
        }
    }

    /// The first column of the first row, as a number.
    pub(crate) fn number(&self, text: &str) -> u64 {
        mysql_sql(self.port, "root", text).unwrap().unwrap()
    }
}

impl Drop for Mariadb {
    fn drop(&mut self) {
        self.stop();
    }
}
