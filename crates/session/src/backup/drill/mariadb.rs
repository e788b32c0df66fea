//! The drill of a MariaDB server: prepares its files, starts a server on them, and asks CHECK TABLE, the pages and the user.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use iostall_connect::CopyError;
use iostall_connect::mysql::{MariadbCopy, MariadbTable};
use iostall_engine::files::{self, path_bytes};
use iostall_host::{Account, CommandAtRoot, Program};
use iostall_model::backup::{MariadbRecord, StoredName};
use iostall_model::drill::{CheckState, DrillCheck};
use iostall_transfer::backup::pages::is_tablespace_file;

use super::error::DrillError;
use super::findings::Findings;
use super::limits::Limits;
use super::request::DrillRequest;
use super::scratch::Scratch;
use super::server::{Manners, Server};
use crate::backup::mariadb::{
    MEMORY_BYTES, MariadbBackupError, PageReader, SETTINGS, Tool, backup_tool, prepare_files, server_tool,
};

const SOCKET: &str = "mariadb.sock";
const ERROR: &str = "[ERROR]";
const READ_BYTES: usize = 1 << 20;

pub(super) struct MariadbPrograms {
    backup: Tool,
    server: Tool,
}

impl MariadbPrograms {
    /// For files of `version`: in `directory`, or where distributions have them.
    pub(super) fn find(directory: Option<&Path>, version: &str) -> Result<Self, MariadbBackupError> {
        Ok(Self { backup: backup_tool(directory, version)?, server: server_tool(directory, version)? })
    }
}

pub(super) struct MariadbCopyFiles<'a> {
    pub(super) request: &'a DrillRequest,
    pub(super) record: &'a MariadbRecord,
    pub(super) data: &'a Path,
    pub(super) programs: &'a MariadbPrograms,
    pub(super) account: Option<&'a Account>,
    pub(super) scratch: &'a Scratch,
    pub(super) limits: &'a Limits<'a>,
}

impl MariadbCopyFiles<'_> {
    /// Prepares the files, starts the server, makes the checks, and stops it. An error means that it could not be started at all.
    pub(super) fn drill(&self, findings: &mut Findings) -> Result<(), DrillError> {
        let Self { limits, .. } = *self;
        limits.show("preparing", "MariaDB");
        let begun_ns = limits.now_ns();
        let is_over = || limits.is_over();
        if let Err(error) =
            prepare_files(&self.programs.backup, self.data, MEMORY_BYTES, self.account, &is_over)
        {
            if !limits.is_cancelled() {
                let why = if limits.is_over() { limits.reason() } else { error.to_string() };
                findings.add(DrillCheck::RECOVERY, CheckState::Failed, why, limits.now_ns() - begun_ns);
            }
            findings.start_ns += limits.now_ns() - begun_ns;
            return Ok(());
        }
        limits.show("recovering", "MariaDB");
        let mut command = CommandAtRoot::new(&self.programs.server.path);
        command.as_command().args(self.arguments());
        let manners = Manners { ask_to_end: Program::ask_to_end, reason };
        let mut server = Server::start(&mut command, self.scratch, self.account, manners)?;
        let up = self.wait_until_up(&server, &is_over);
        let up_ns = limits.now_ns();
        findings.start_ns += up_ns - begun_ns;
        let (mut session, version) = match up {
            Ok(up) => up,
            Err(_) if limits.is_cancelled() => return Ok(()),
            Err(why) => {
                findings.add(DrillCheck::RECOVERY, CheckState::Failed, why, up_ns - begun_ns);
                return Ok(());
            }
        };
        findings.engines.push(format!("MariaDB {version}"));
        let answers =
            "mariadb-backup has prepared the files up to the end of the backup, and the server answers"
                .to_owned();
        findings.add(DrillCheck::RECOVERY, CheckState::Passed, answers, up_ns - begun_ns);
        self.check_tables(&mut session, findings);
        drop(session);
        for statement in &self.request.statements {
            self.check_statement(&is_over, statement, findings);
        }
        let is_in_order = server.stop(limits);
        self.check_pages(is_in_order, findings);
        findings.checks_ns += limits.now_ns() - up_ns;
        Ok(())
    }

    /// What the server is started with. Its settings are those that the files need; what stands behind them counts more.
    fn arguments(&self) -> Vec<OsString> {
        let Self { data, scratch, record, .. } = *self;
        let own = data.join(SETTINGS);
        let path = |name: &str, path: &Path| {
            let mut word = OsString::from(format!("--{name}="));
            word.push(path);
            word
        };
        let mut words =
            vec![if own.is_file() { path("defaults-file", &own) } else { OsString::from("--no-defaults") }];
        for name in [
            "datadir",
            "innodb-data-home-dir",
            "innodb-log-group-home-dir",
            "innodb-undo-directory",
            "aria-log-dir-path",
        ] {
            words.push(path(name, data));
        }
        words.push(path("socket", &self.socket()));
        words.push(path("pid-file", &scratch.file("pid")));
        words.push(path("tmpdir", scratch.sockets()));
        let lower_case = record.lower_case_table_names;
        words.extend(SAFE.iter().map(|word| OsString::from(*word)));
        words.push(format!("--lower-case-table-names={lower_case}").into());
        words.extend(self.request.settings.iter().map(|(name, value)| format!("--{name}={value}").into()));
        words
    }

    fn socket(&self) -> PathBuf {
        self.scratch.sockets().join(SOCKET)
    }

    fn wait_until_up<'s>(
        &self,
        server: &Server<'_>,
        is_over: &'s dyn Fn() -> bool,
    ) -> Result<(MariadbCopy<'s>, String), String> {
        loop {
            let asked = MariadbCopy::open(&self.socket(), "", is_over)
                .and_then(|mut session| session.version().map(|version| (session, version)));
            match asked {
                Ok(up) => return Ok(up),
                Err(_) if server.has_ended() => return Err(server.last_words()),
                Err(_) if self.limits.is_over() => return Err(self.limits.reason()),
                Err(error) if error.is_not_up_yet() => self.limits.pause(),
                Err(error) => return Err(error.to_string()),
            }
        }
    }

    fn check_tables(&self, session: &mut MariadbCopy<'_>, findings: &mut Findings) {
        let begun_ns = self.limits.now_ns();
        let tables = match session.tables() {
            Ok(tables) => tables,
            Err(_) if self.limits.is_cancelled() => return,
            Err(error) => {
                let took_ns = self.limits.now_ns() - begun_ns;
                return findings.add("tables", CheckState::Failed, error.to_string(), took_ns);
            }
        };
        let mut databases: BTreeMap<String, Vec<MariadbTable>> = BTreeMap::new();
        for table in tables {
            databases.entry(table.database.clone()).or_default().push(table);
        }
        for (database, tables) in databases {
            if self.limits.is_cancelled() {
                return;
            }
            self.limits.show("checking", &database);
            let begun_ns = self.limits.now_ns();
            let mut problems = Vec::new();
            for table in &tables {
                match session.check(table) {
                    Ok(found) => {
                        problems.extend(found.iter().map(|found| format!("{}: {found}", table.name)));
                    }
                    Err(CopyError::Over) if self.limits.is_cancelled() => return,
                    Err(CopyError::Over) => {
                        problems.push(self.limits.reason());
                        break;
                    }
                    Err(error) => problems.push(format!("{}: {error}", table.name)),
                }
            }
            let took_ns = self.limits.now_ns() - begun_ns;
            let looked_at = format!("{} tables (CHECK TABLE … EXTENDED)", tables.len());
            findings.decide(format!("tables of {database}"), &problems, looked_at, took_ns);
        }
    }

    fn check_statement(&self, is_over: &dyn Fn() -> bool, statement: &str, findings: &mut Findings) {
        if self.limits.is_cancelled() {
            return;
        }
        let begun_ns = self.limits.now_ns();
        let database = self.request.database.as_deref().unwrap_or_default();
        let held = MariadbCopy::open(&self.socket(), database, is_over)
            .and_then(|mut session| session.holds(statement));
        let took_ns = self.limits.now_ns() - begun_ns;
        let (state, detail) = match held {
            Ok(true) => (CheckState::Passed, "it holds".to_owned()),
            Ok(false) => (CheckState::Failed, "it is not true".to_owned()),
            Err(_) if self.limits.is_cancelled() => return,
            Err(CopyError::Over) => (CheckState::Failed, self.limits.reason()),
            Err(error) => (CheckState::Failed, error.to_string()),
        };
        findings.add(format!("--check {statement:?}"), state, detail, took_ns);
    }

    /// Our own reader's verdict: it sees what no index and no table leads to.
    fn check_pages(&self, is_in_order: bool, findings: &mut Findings) {
        const NAME: &str = "pages";
        if self.limits.is_cancelled() {
            return;
        }
        if !is_in_order {
            let why = "the server did not shut down in order, so pages may be half written".to_owned();
            return findings.add(NAME, CheckState::NotAvailable, why, 0);
        }
        self.limits.show("checking", "all pages");
        let begun_ns = self.limits.now_ns();
        let (mut reader, mut problems) = (PageReader::new(self.record.page_bytes), Vec::new());
        if let Err(error) = self.read_pages(self.data, &mut reader) {
            problems.push(error.to_string());
        }
        let took_ns = self.limits.now_ns() - begun_ns;
        if self.limits.is_cancelled() {
            return;
        }
        if self.limits.is_over() {
            problems.push(self.limits.reason());
        }
        problems.extend(reader.wrong());
        let counts = reader.counts();
        let unverifiable = match counts.unverifiable {
            0 => String::new(),
            many => format!("; {many} cannot be checked without the server"),
        };
        findings.decide(NAME, &problems, format!("{} pages{unverifiable}", counts.checked), took_ns);
    }

    fn read_pages(&self, directory: &Path, reader: &mut PageReader) -> io::Result<()> {
        for entry in std::fs::read_dir(directory)? {
            let path = entry?.path();
            if path.is_dir() {
                self.read_pages(&path, reader)?;
                continue;
            }
            let name = StoredName(path_bytes(path.strip_prefix(self.data).unwrap_or(&path)).to_vec());
            if !is_tablespace_file(name.as_bytes()) {
                continue;
            }
            let (mut open, mut buffer, mut offset) =
                (files::open_in_shared_directory(&path)?, vec![0; READ_BYTES], 0);
            while !self.limits.is_over() {
                let read = open.read(&mut buffer)?;
                if read == 0 {
                    break;
                }
                reader.see(&name, offset, &buffer[..read]);
                offset += read as u64;
            }
        }
        Ok(())
    }
}

/// The copy harms nothing: it hears nobody but us, follows nobody, and runs no job of the original.
const SAFE: [&str; 11] = [
    "--skip-networking",
    // Who reaches its socket, in a directory of its account alone, needs no password.
    "--skip-grant-tables",
    "--skip-log-bin",
    "--skip-slave-start",
    "--event-scheduler=DISABLED",
    "--skip-ssl",
    "--lc-messages=en_US",
    "--performance-schema=OFF",
    "--innodb-buffer-pool-size=128M",
    "--innodb-fast-shutdown=1",
    "--innodb-buffer-pool-load-at-startup=OFF",
];

fn reason(log: &str) -> String {
    let lines = || log.lines().map(str::trim).filter(|line| !line.is_empty());
    let errors: Vec<&str> =
        lines().filter_map(|line| line.split_once(ERROR)).map(|(_, said)| said.trim()).collect();
    match (errors.first(), lines().next_back()) {
        // The first is the cause: what follows it is that plugins and the server end.
        (Some(first), _) => format!("the server did not start: {first}"),
        (None, Some(last)) => format!("the server did not start: {last}"),
        (None, None) => "the server ended without a word".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_error_of_a_server_says_why_it_ended() {
        let log = "2026-11-23  4:39:17 0 [Note] InnoDB: x\n2026-11-23  4:39:17 0 [ERROR] InnoDB: Table is encrypted\n\
                   2026-11-23  4:39:17 0 [ERROR] Aborting\n";
        assert_eq!(reason(log), "the server did not start: InnoDB: Table is encrypted");
        assert_eq!(reason(""), "the server ended without a word");
    }
}
