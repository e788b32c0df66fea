//! The drill of a PostgreSQL cluster: starts a server on it, and asks amcheck, the pages and the user.

use std::path::Path;
use std::process::Command;

use iostall_connect::CopyError;
use iostall_connect::postgres::{CopyDatabase, CopyFacts, CopyServer, CopySession};
use iostall_host::{Account, Program};
use iostall_model::drill::{CheckState, DrillCheck};

use super::error::DrillError;
use super::findings::Findings;
use super::installation::Installation;
use super::last_words::reason;
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

pub(super) struct Cluster<'a> {
    pub(super) request: &'a DrillRequest,
    pub(super) data: &'a Path,
    pub(super) installation: &'a Installation,
    pub(super) account: Option<&'a Account>,
    pub(super) scratch: &'a Scratch,
    pub(super) limits: &'a Limits<'a>,
    /// Where it is brought, if not to the end of the backup.
    pub(super) recovery: Option<&'a Recovery>,
}

impl Cluster<'_> {
    /// Starts the server, makes the checks, and stops it. An error means that it could not be started at all.
    pub(super) fn drill(&self, findings: &mut Findings) -> Result<(), DrillError> {
        let Self { limits, request, .. } = *self;
        limits.show("recovering", "PostgreSQL");
        let begun_ns = limits.now_ns();
        let mut command = Command::new(&self.installation.program);
        let (major, recovers) = (self.installation.major, self.recovery.is_some());
        command.args(arguments(self.data, self.scratch, major, recovers, &request.settings));
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
        if !session.prepare_amcheck()? {
            return Ok(None);
        }
        let mut problems = Vec::new();
        let indexes = session.indexes()?;
        for index in &indexes {
            if let Err(error) = said(session.check_index(index))? {
                problems.push(format!("index {}: {error}", index.name));
            }
        }
        let has_heaps = self.installation.major >= CHECKS_HEAPS;
        let heaps = if has_heaps { session.heaps()? } else { Vec::new() };
        for heap in &heaps {
            match said(session.check_heap(heap))? {
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
        let held = CopySession::open(at, self.request.database.as_deref().unwrap_or(USUAL))
            .and_then(|session| session.holds(statement));
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
    let text = std::fs::read_to_string(newest).ok()?;
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
