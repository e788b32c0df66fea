//! The drill of a PostgreSQL cluster: finds its programs, starts a server on it, and asks amcheck, the pages and the user.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use iostall_connect::CopyError;
use iostall_connect::postgres::{CopyDatabase, CopyFacts, CopyServer, CopySession};
use iostall_engine::files;
use iostall_host::{Account, CommandAtRoot, Program};
use iostall_model::drill::{CheckState, DrillCheck};

use super::error::DrillError;
use super::findings::Findings;
use super::limits::Limits;
use super::pages::{self, PageLayout};
use super::request::DrillRequest;
use super::scratch::Scratch;
use super::server::{Manners, Server};
use super::settings::arguments;
use crate::backup::wal::point::Recovery;

/// The database that statements are run in, unless one is named.
const USUAL: &str = "postgres";
/// A database that every cluster has.
const FIRST: &str = "template1";
/// The first version whose amcheck looks at tables.
const CHECKS_HEAPS: u32 = 14;
const HISTORY_BYTES_MAX: u64 = 1 << 20;

pub(super) struct Cluster<'a> {
    pub(super) request: &'a DrillRequest,
    pub(super) data: &'a Path,
    pub(super) installation: &'a Installation,
    pub(super) account: Option<&'a Account>,
    pub(super) scratch: &'a Scratch,
    pub(super) limits: &'a Limits<'a>,
    pub(super) recovery: Option<&'a Recovery>,
}

impl Cluster<'_> {
    /// Starts the server, makes the checks, and stops it. An error means that it could not be started at all.
    pub(super) fn drill(&self, findings: &mut Findings) -> Result<(), DrillError> {
        let Self { limits, request, .. } = *self;
        limits.show("recovering", "PostgreSQL");
        let begun_ns = limits.now_ns();
        let mut command = CommandAtRoot::new(&self.installation.program);
        let (major, recovers) = (self.installation.major, self.recovery.is_some());
        command.as_command().args(arguments(self.data, self.scratch, major, recovers, &request.settings));
        let manners = Manners { ask_to_end: Program::interrupt, reason };
        let mut server = Server::start(&mut command, self.scratch, self.account, manners)?;
        let is_over = || limits.is_over();
        let at = CopyServer { sockets: self.scratch.sockets(), role: &request.role, is_over: &is_over };
        let up = self.wait_until_up(&server, at);
        let up_ns = limits.now_ns();
        findings.start_ns += up_ns - begun_ns;
        let (facts, databases) = match up {
            Ok(up) => up,
            Err(_) if limits.is_cancelled() => return Ok(()),
            Err(why) => {
                findings.add(DrillCheck::RECOVERY, CheckState::Failed, why, up_ns - begun_ns);
                return Ok(());
            }
        };
        findings.engines.push(format!("PostgreSQL {}", facts.version));
        let answers = match self.recovery {
            None => "the server has replayed the log to the end of the backup, and answers".to_owned(),
            Some(point) => self.reached(point),
        };
        findings.add(DrillCheck::RECOVERY, CheckState::Passed, answers, up_ns - begun_ns);
        for database in &databases {
            self.check_database(at, database, findings);
        }
        for statement in &request.statements {
            self.check_statement(at, statement, findings);
        }
        let is_in_order = server.stop(limits);
        self.check_pages(&facts, is_in_order, findings);
        findings.checks_ns += limits.now_ns() - up_ns;
        Ok(())
    }

    /// Where the server ended its recovery: the history of its new timeline says so.
    fn reached(&self, recovery: &Recovery) -> String {
        let until = &recovery.record.until;
        match newest_history(self.data) {
            Some(History { at, why, timeline }) => {
                format!(
                    "the server has recovered to {until}: up to {at} of timeline {timeline} ({why}), and answers"
                )
            }
            None => format!("the server has recovered to {until}, and answers"),
        }
    }

    fn wait_until_up(
        &self,
        server: &Server<'_>,
        at: CopyServer<'_>,
    ) -> Result<(CopyFacts, Vec<CopyDatabase>), String> {
        loop {
            let asked =
                CopySession::open(at, FIRST).and_then(|session| Ok((session.facts()?, session.databases()?)));
            match asked {
                Ok(up) => return Ok(up),
                Err(_) if server.has_ended() => return Err(server.last_words()),
                Err(_) if self.limits.is_over() => return Err(self.limits.reason()),
                Err(error) if error.is_not_up_yet() => self.limits.pause(),
                Err(error) => return Err(format!("{error} (--role names a superuser of the copy)")),
            }
        }
    }

    fn check_database(&self, at: CopyServer<'_>, database: &CopyDatabase, findings: &mut Findings) {
        let begun_ns = self.limits.now_ns();
        let name = format!("amcheck of {}", database.name);
        if !database.is_open {
            let closed = "it lets nobody in".to_owned();
            return findings.add(name, CheckState::NotAvailable, closed, 0);
        }
        if self.limits.is_cancelled() {
            return;
        }
        self.limits.show("checking", &database.name);
        let checked = CopySession::open(at, &database.name).and_then(|session| self.amcheck(&session));
        let took_ns = self.limits.now_ns() - begun_ns;
        match checked {
            Ok(Some(Amchecked { problems, looked_at })) => {
                findings.decide(name, &problems, looked_at, took_ns);
            }
            Ok(None) => {
                let connected = "connected, but the extension is not installed".to_owned();
                findings.add(name, CheckState::NotAvailable, connected, took_ns);
            }
            Err(_) if self.limits.is_cancelled() => {}
            Err(CopyError::Over) => findings.add(name, CheckState::Failed, self.limits.reason(), took_ns),
            Err(error) => findings.add(name, CheckState::Failed, error.to_string(), took_ns),
        }
    }

    /// `None` if the extension is not installed.
    fn amcheck(&self, session: &CopySession<'_>) -> Result<Option<Amchecked>, CopyError> {
        let Some(amcheck) = session.amcheck()? else { return Ok(None) };
        let mut problems = Vec::new();
        let indexes = session.indexes()?;
        for index in &indexes {
            if let Err(error) = said(session.check_index(&amcheck, index))? {
                problems.push(format!("index {}: {error}", index.name));
            }
        }
        let has_heaps = self.installation.major >= CHECKS_HEAPS;
        let heaps = if has_heaps { session.heaps()? } else { Vec::new() };
        for heap in &heaps {
            match said(session.check_heap(&amcheck, heap))? {
                Ok(found) => problems.extend(found.iter().map(|found| format!("{}: {found}", heap.name))),
                Err(error) => problems.push(format!("{}: {error}", heap.name)),
            }
        }
        let tables = if has_heaps {
            format!("{} tables", heaps.len())
        } else {
            "no tables, which amcheck looks at from PostgreSQL 14".to_owned()
        };
        Ok(Some(Amchecked { problems, looked_at: format!("{} indexes and {tables}", indexes.len()) }))
    }

    fn check_statement(&self, at: CopyServer<'_>, statement: &str, findings: &mut Findings) {
        if self.limits.is_cancelled() {
            return;
        }
        let begun_ns = self.limits.now_ns();
        let database = self.request.database.as_deref().unwrap_or(USUAL);
        let reader = CopySession::open(at, database).and_then(|session| session.reader(database));
        let held = reader.and_then(|session| session.holds(statement));
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
    fn check_pages(&self, facts: &CopyFacts, is_in_order: bool, findings: &mut Findings) {
        const NAME: &str = "pages";
        if self.limits.is_cancelled() {
            return;
        }
        if !facts.has_checksums {
            let none = "the cluster has no page checksums".to_owned();
            return findings.add(NAME, CheckState::NotAvailable, none, 0);
        }
        if !is_in_order {
            let why = "the server did not shut down in order, so pages may be half written".to_owned();
            return findings.add(NAME, CheckState::NotAvailable, why, 0);
        }
        self.limits.show("checking", "all pages");
        let begun_ns = self.limits.now_ns();
        let layout =
            PageLayout { page_bytes: facts.block_bytes, pages_per_segment: facts.blocks_per_segment };
        let found = pages::check(self.data, layout, self.limits);
        let took_ns = self.limits.now_ns() - begun_ns;
        if self.limits.is_cancelled() {
            return;
        }
        let mut problems = found.problems;
        if self.limits.is_over() {
            problems.push(self.limits.reason());
        }
        findings.decide(NAME, &problems, format!("{} pages in {} files", found.pages, found.files), took_ns);
    }
}

struct History {
    timeline: String,
    at: String,
    why: String,
}

fn newest_history(data: &Path) -> Option<History> {
    let names = std::fs::read_dir(data.join("pg_wal")).ok()?.filter_map(|entry| Some(entry.ok()?.path()));
    let newest = names.filter(|path| path.extension().is_some_and(|end| end == "history")).max()?;
    // The directory is the account's of the server: no link of its is followed.
    let (file, mut text) = (files::open_in_shared_directory(&newest).ok()?, String::new());
    file.take(HISTORY_BYTES_MAX).read_to_string(&mut text).ok()?;
    let mut words = text.lines().rfind(|line| !line.trim().is_empty())?.splitn(3, '\t');
    let mut next = || Some(words.next()?.trim().to_owned());
    Some(History { timeline: next()?, at: next()?, why: next()? })
}

struct Amchecked {
    problems: Vec<String>,
    looked_at: String,
}

/// What the server says is about the relation, and the next one is worth a look. Anything else ends the check.
fn said<T>(answer: Result<T, CopyError>) -> Result<Result<T, String>, CopyError> {
    match answer {
        Ok(value) => Ok(Ok(value)),
        Err(CopyError::Said(text)) => Ok(Err(text)),
        Err(other) => Err(other),
    }
}

const FATAL: [&str; 2] = ["FATAL:", "PANIC:"];
/// What it says of a library that is not there.
const NO_LIBRARY: &str = "could not access file \"";

pub(super) fn reason(log: &str) -> String {
    let lines = || log.lines().map(str::trim).filter(|line| !line.is_empty());
    let fatal = lines().rfind(|line| FATAL.iter().any(|word| line.contains(word)));
    let Some(line) = fatal.or_else(|| lines().next_back()) else {
        return "the server ended without a word".to_owned();
    };
    if let Some(library) = line.split_once(NO_LIBRARY).and_then(|(_, rest)| rest.split('"').next()) {
        return format!(
            "the server needs the library {library}, which is not installed here: install it, or start without it \
             (--set shared_preload_libraries=)"
        );
    }
    let said = FATAL.iter().find_map(|word| line.split_once(word)).map_or(line, |(_, said)| said.trim());
    format!("the server did not start: {said}")
}

const PROGRAM_DIRECTORIES: [&str; 4] = [
    "/usr/lib/postgresql/{}/bin",
    "/usr/pgsql-{}/bin",
    "/usr/lib/postgresql{}/bin",
    "/usr/libexec/postgresql{}",
];

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Installation {
    pub(super) program: PathBuf,
    pub(super) major: u32,
}

/// The installation for files of `version`, as `server_version` says it: in `named`, or where distributions have it.
pub(super) fn find(named: Option<&Path>, version: &str) -> Result<Installation, DrillError> {
    let major = major_of(version).unwrap_or_default();
    if let Some(directory) = named {
        let program = directory.join("postgres");
        let found =
            version_of(&program).map_err(|source| DrillError::Start { program: program.clone(), source })?;
        return match major_of(&found) {
            Some(found) if found == major => Ok(Installation { program, major }),
            _ => Err(DrillError::OtherEngine {
                directory: directory.to_owned(),
                found: if found.is_empty() { "of no version that it names".to_owned() } else { found },
                major: major.to_string(),
            }),
        };
    }
    let usual =
        PROGRAM_DIRECTORIES.iter().map(|pattern| PathBuf::from(pattern.replace("{}", &major.to_string())));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let directories: Vec<PathBuf> = usual.chain(std::env::split_paths(&path)).collect();
    let programs = directories.iter().map(|directory| directory.join("postgres"));
    let is_it = |program: &PathBuf| {
        program.is_file() && version_of(program).is_ok_and(|found| major_of(&found) == Some(major))
    };
    let found = programs.into_iter().find(is_it);
    found.map(|program| Installation { program, major }).ok_or_else(|| DrillError::NoEngine {
        major: major.to_string(),
        looked: format!("{}, nor in PATH", directories[0].display()),
    })
}

/// `15.8` of what `postgres --version` prints, which is `postgres (PostgreSQL) 15.8 (Debian 15.8-0+deb12u1)`.
fn version_of(program: &Path) -> std::io::Result<String> {
    let output = Command::new(program).arg("--version").stdin(Stdio::null()).output()?;
    let said = String::from_utf8_lossy(&output.stdout);
    Ok(said.split_whitespace().nth(2).unwrap_or_default().to_owned())
}

/// 15 of `15.8 (Debian 15.8-0)` and 18 of `18beta1`.
fn major_of(version: &str) -> Option<u32> {
    let digits = version.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(version.len());
    version[..digits].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_words_of_a_server_say_why_it_ended() {
        let log = "LOG:  starting PostgreSQL 15.8\nFATAL:  could not locate a valid checkpoint record\nLOG:  database system is shut down\n";
        assert_eq!(reason(log), "the server did not start: could not locate a valid checkpoint record");
        assert_eq!(reason(""), "the server ended without a word");
        assert_eq!(
            reason("cannot open shared object\n"),
            "the server did not start: cannot open shared object"
        );
    }

    /// The message named a file that nobody had heard of, and not the setting.
    #[test]
    fn a_library_that_is_not_installed_is_named_with_the_setting_that_asks_for_it() {
        let log = "FATAL:  could not access file \"pg_cron\": No such file or directory\n";
        let said = reason(log);
        assert!(
            said.contains("library pg_cron") && said.contains("--set shared_preload_libraries="),
            "{said}"
        );
    }

    #[test]
    fn the_major_version_is_what_the_files_depend_on() {
        assert_eq!(major_of("15.8 (Debian 15.8-0+deb12u1)"), Some(15));
        assert_eq!(major_of("18beta1"), Some(18));
        assert_eq!(major_of("17"), Some(17));
        assert_eq!(major_of("devel"), None);
    }

    #[test]
    fn programs_that_are_not_there_are_named_with_what_to_do() {
        let error = find(Some(Path::new("/nonexistent/bin")), "15.8").unwrap_err();
        assert!(error.to_string().contains("/nonexistent/bin/postgres"), "{error}");
        let error = find(None, "3.1").unwrap_err();
        assert!(matches!(&error, DrillError::NoEngine { major, .. } if major == "3"), "{error}");
        assert!(error.hint().unwrap().contains("--engine-dir"));
    }
}
