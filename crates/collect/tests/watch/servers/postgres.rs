//! PostgreSQL: 15 from Debian, the others from npm.

use std::path::{Path, PathBuf};
use std::process::Command;

use iostall_model::{Kind, Row};
use iostall_test_programs::postgres;
use rustix::process::Signal;
use tokio_postgres::{NoTls, SimpleQueryMessage};

use super::{Port, Process, command, directory, made, until};

pub(crate) const MAKE_TABLE: &str = include_str!("../../../testdata/sql/postgres_make_table.sql");
pub(crate) const SCAN: &str = include_str!("../../../testdata/sql/postgres_scan_twice.sql");
const BACKEND: &str = include_str!("../../../testdata/sql/postgres_backend.sql");

/// Finds the row of the table that [`MAKE_TABLE`] creates in `database`.
pub(crate) fn table_in(database: &'static str) -> impl Fn(&Row) -> bool {
    move |row| {
        let subject = &row.subject;
        subject.kind == Kind::PostgresTable
            && subject.scope.database() == Some(database)
            && subject.name == "public.t"
    }
}

/// A cluster and, while it runs, its postmaster.
pub(crate) struct Postgres {
    home: PathBuf,
    directory: tempfile::TempDir,
    pub(crate) port: u16,
    /// Where the port is this server's own.
    _kept: Option<Port>,
    /// `name=value`, over those that every server here is started with.
    settings: Vec<String>,
    process: Option<Process>,
}

impl Postgres {
    /// A new cluster, started; on `port` where one is given.
    pub(crate) fn start(version: u32, port: Option<u16>) -> Option<Self> {
        Self::start_in(directory(), version, port, &[])
    }

    /// The same in a directory of the caller's choice and with settings of its own.
    pub(crate) fn start_in(
        directory: tempfile::TempDir,
        version: u32,
        port: Option<u16>,
        settings: &[&str],
    ) -> Option<Self> {
        Self::make(directory, version, port, settings, &[])
    }

    /// A new cluster with checksums in its pages, started.
    #[allow(dead_code, reason = "backups check pages; who only watches servers does not")]
    pub(crate) fn start_checked(version: u32) -> Option<Self> {
        Self::make(directory(), version, None, &[], &["--data-checksums"])
    }

    fn make(
        directory: tempfile::TempDir,
        version: u32,
        port: Option<u16>,
        settings: &[&str],
        options: &[&str],
    ) -> Option<Self> {
        let home = postgres(version)?;
        let mut initdb = command(&home.join("bin/initdb"));
        initdb.env("LD_LIBRARY_PATH", home.join("lib")).env("LC_ALL", "C");
        initdb.args(["-A", "trust", "-U", "postgres", "-N"]).args(options);
        initdb.arg("-D").arg(directory.path().join("data"));
        made(&mut initdb);
        let settings = settings.iter().map(ToString::to_string).collect();
        let kept = port.is_none().then(Port::new);
        let port = port.or_else(|| kept.as_ref().map(Port::number))?;
        let mut server = Self { home, directory, port, _kept: kept, settings, process: None };
        server.resume();
        Some(server)
    }

    /// The cluster in `data` below `directory`, which is restored and not running yet.
    #[allow(dead_code, reason = "backups restore clusters; who only watches servers does not")]
    pub(crate) fn of(directory: tempfile::TempDir, version: u32, settings: &[&str]) -> Option<Self> {
        let (home, kept) = (postgres(version)?, Port::new());
        let settings = settings.iter().map(ToString::to_string).collect();
        let port = kept.number();
        Some(Self { home, directory, port, _kept: Some(kept), settings, process: None })
    }

    /// Where its programs are.
    #[allow(dead_code, reason = "a drill of a backup starts them; who only watches servers does not")]
    pub(crate) fn programs(&self) -> PathBuf {
        self.home.join("bin")
    }

    /// Where its data directory is.
    #[allow(dead_code, reason = "backups read it; who only watches servers does not")]
    pub(crate) fn data(&self) -> PathBuf {
        self.directory.path().join("data")
    }

    /// A program of its installation, under the account without rights.
    #[allow(
        dead_code,
        reason = "backups run tools on clusters that are down; who only watches servers does not"
    )]
    pub(crate) fn tool(&self, name: &str) -> Command {
        let mut tool = command(&self.home.join("bin").join(name));
        tool.env("LD_LIBRARY_PATH", self.home.join("lib")).env("LC_ALL", "C");
        tool
    }

    /// Starts the postmaster of a cluster that is down.
    pub(crate) fn resume(&mut self) {
        let data = self.directory.path().join("data");
        self.process = Some(until("PostgreSQL", || {
            // After a kill the old backends' shared memory may still be there for a moment: then it ends by itself.
            let mut postgres = command(&self.home.join("bin/postgres"));
            postgres.env("LD_LIBRARY_PATH", self.home.join("lib")).env("LC_ALL", "C");
            postgres.arg("-D").arg(&data).arg("-k").arg(self.directory.path());
            postgres.args(["-p", &self.port.to_string(), "-c", "listen_addresses=127.0.0.1"]);
            for setting in ["autovacuum=off", "track_io_timing=on", "shared_buffers=8MB", "fsync=off"] {
                postgres.args(["-c", setting]);
            }
            for setting in &self.settings {
                postgres.args(["-c", setting]);
            }
            if !data.join("PG_VERSION").exists() {
                return None;
            }
            let mut process = Process(postgres.spawn().ok()?);
            loop {
                if process.0.try_wait().unwrap().is_some() {
                    return None;
                }
                if self.try_sql("postgres", include_str!("../../../testdata/sql/ping.sql")).is_ok() {
                    return Some(process);
                }
                super::pause();
            }
        }));
    }

    /// Ends it as an administrator does.
    pub(crate) fn stop(&mut self) {
        if let Some(mut process) = self.process.take() {
            process.stop(Signal::INT);
        }
    }

    /// Ends it as a power loss does.
    pub(crate) fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            process.stop(Signal::KILL);
        }
    }

    /// Runs statements in a session of their own, and waits for the end of its process: what it counted is there then. The
    /// server hears of the end of a connection later than we do.
    pub(crate) fn sql(&self, text: &str) {
        self.sql_in("postgres", text);
    }

    pub(crate) fn sql_in(&self, database: &str, text: &str) {
        let (backend, _) = self.try_sql(database, text).unwrap();
        until("the end of a session", || (!Path::new("/proc").join(&backend).exists()).then_some(()));
    }

    /// The first column of the first row, as a number.
    pub(crate) fn number(&self, text: &str) -> u64 {
        self.number_in("postgres", text)
    }

    pub(crate) fn number_in(&self, database: &str, text: &str) -> u64 {
        let (_, rows) = self.try_sql(database, text).unwrap();
        first(&rows).unwrap().parse().unwrap()
    }

    /// The number of the session's process, and the answer to `text`.
    fn try_sql(
        &self,
        database: &str,
        text: &str,
    ) -> Result<(String, Vec<SimpleQueryMessage>), tokio_postgres::Error> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let address = format!("host=127.0.0.1 port={} user=postgres dbname={database}", self.port);
            let (client, connection) = tokio_postgres::connect(&address, NoTls).await?;
            let connection = tokio::spawn(connection);
            let backend = client.simple_query(BACKEND).await;
            let answer = client.simple_query(text).await;
            drop(client);
            let _ = connection.await;
            Ok((first(&backend?).unwrap_or_default(), answer?))
        })
    }
}

/// The first column of the first row.
fn first(messages: &[SimpleQueryMessage]) -> Option<String> {
    messages.iter().find_map(|message| match message {
        SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
        _ => None,
    })
}

impl Drop for Postgres {
    fn drop(&mut self) {
        self.stop();
    }
}
