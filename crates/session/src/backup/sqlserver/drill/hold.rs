//! Restores, recovers and checks.

use iostall_connect::Value;
use iostall_connect::sqlserver::{BlockingConnection, Columns};
use iostall_model::DrillOutcome;
use iostall_model::drill::{CheckState, DrillCheck};

use super::chain::SqlServerDrillRequest;
use super::clean_up::{CleanUp, Made};
use super::plan::{self, Part, Plan};
use crate::backup::sqlserver::error::SqlServerBackupError;
use crate::backup::sqlserver::follow::{Answered, Follower};
use crate::backup::sqlserver::run::cause;

/// Errors of RESTORE that say nothing about the backup: the name is taken, a file is in use or cannot be made, no room, no right, no
/// certificate here.
const NOT_THE_BACKUP: [&str; 12] = [
    "(error 1801)",
    "(error 1834)",
    "(error 5133)",
    "(error 5123)",
    "(error 5110)",
    "(error 3257)",
    "(error 262)",
    "(error 3110)",
    "(error 33111)",
    "(error 3169)",
    "(error 3119)",
    "(error 1105)",
];

/// Errors of RESTORE LOG that say that the log before it went to the point already.
const BEYOND: [&str; 2] = ["(error 4305)", "(error 4326)"];

fn is_beyond(reason: &str) -> bool {
    BEYOND.iter().any(|number| reason.contains(number))
}

enum Step {
    Done(Box<BlockingConnection>, Vec<Columns>),
    /// The server refused it, with its reason.
    Failed(String),
    Stopped,
}

pub(super) struct Hold<'a> {
    pub(super) request: &'a SqlServerDrillRequest,
    pub(super) plan: &'a Plan,
    pub(super) follower: Follower<'a>,
    pub(super) outcome: DrillOutcome,
    pub(super) made: Option<Made>,
}

impl Hold<'_> {
    /// Makes every step. A backup that is no good is part of the outcome.
    pub(super) fn hold(&mut self, main: BlockingConnection) -> Result<(), SqlServerBackupError> {
        let request = self.request;
        let begun_ns = self.now_ns();
        let restored = self.restore(main);
        self.outcome.restore_ns = self.now_ns() - begun_ns;
        let Some(main) = restored? else { return Ok(()) };
        self.made = self.clean_up().made();
        let begun_ns = self.now_ns();
        let recovered = self.step(main, "iostall:drill_recover", &plan::recover(&request.name))?;
        self.outcome.start_ns = self.now_ns() - begun_ns;
        let main =
            self.decide(DrillCheck::RECOVERY, recovered, "the database is online", self.outcome.start_ns)?;
        let Some(main) = main else { return Ok(()) };
        let begun_ns = self.now_ns();
        let is_complete = self.check(main);
        self.outcome.checks_ns = self.now_ns() - begun_ns;
        self.outcome.is_complete = is_complete?;
        Ok(())
    }

    /// Restores every part. Gives the connection if the database can be recovered.
    fn restore(
        &mut self,
        main: BlockingConnection,
    ) -> Result<Option<BlockingConnection>, SqlServerBackupError> {
        let plan = self.plan;
        let mut main = main;
        let (mut logs, mut logs_ns) = (0_u64, 0);
        for part in &plan.parts {
            let begun_ns = self.now_ns();
            let text = plan::restore(part, &self.request.name, plan.stop_at);
            let step = self.step(main, "iostall:drill_restore", &text)?;
            let elapsed_ns = self.now_ns() - begun_ns;
            let is_log = part.backup.kind == "log";
            main = match step {
                Step::Failed(reason) if part.may_be_beyond && is_beyond(&reason) => self.connect()?,
                Step::Done(connection, _) if is_log => {
                    logs += 1;
                    logs_ns += elapsed_ns;
                    *connection
                }
                Step::Failed(reason) if is_log => {
                    let step = Step::Failed(format!("{}: {reason}", part.named));
                    return self.decide("logs", step, "", logs_ns + elapsed_ns);
                }
                step => {
                    let name = if part.backup.kind == "full" { "restore" } else { "differential" };
                    let passed = self.read(part);
                    match self.decide(name, step, &passed, elapsed_ns)? {
                        Some(connection) => connection,
                        None => return Ok(None),
                    }
                }
            };
        }
        if let Some(last) = plan.parts.last().filter(|_| logs > 0) {
            let backups = if logs == 1 { "1 log backup".to_owned() } else { format!("{logs} log backups") };
            let until = plan.stop_at.map_or_else(|| last.named.clone(), |time| time.to_string());
            let detail = format!("{backups}, until {until}");
            let (name, state) = ("logs".to_owned(), CheckState::Passed);
            self.outcome.checks.push(DrillCheck { name, state, detail, elapsed_ns: logs_ns });
        }
        Ok(Some(main))
    }

    /// What it proves that a part was restored.
    fn read(&self, part: &Part) -> String {
        let read = if part.backup.has_checksums {
            "all of it was read, and its checksums fit"
        } else {
            "all of it was read; it has no checksums"
        };
        if self.plan.parts.len() == 1 { read.to_owned() } else { format!("{}: {read}", part.named) }
    }

    /// Every check of the database that is online now. Whether all were made.
    fn check(&mut self, main: BlockingConnection) -> Result<bool, SqlServerBackupError> {
        let request = self.request;
        let mut main = Some(main);
        let mut checks =
            vec![("CHECKDB".to_owned(), "iostall:drill_checkdb", plan::check_database(&request.name))];
        checks.extend(request.statements.iter().map(|statement| {
            (
                format!("check: {statement}"),
                "iostall:drill_check",
                plan::in_database(&request.name, statement),
            )
        }));
        for (name, tag, text) in checks {
            let begun_ns = self.now_ns();
            let connection = match main.take() {
                Some(connection) => connection,
                None => self.connect()?,
            };
            let step = self.step(connection, tag, &text)?;
            let elapsed_ns = self.now_ns() - begun_ns;
            let (state, detail) = match step {
                Step::Stopped => return Ok(false),
                Step::Failed(reason) => (CheckState::Failed, reason),
                Step::Done(connection, rows) => {
                    main = Some(*connection);
                    judged(&rows, tag == "iostall:drill_check")
                }
            };
            self.outcome.checks.push(DrillCheck { name, state, detail, elapsed_ns });
        }
        Ok(true)
    }

    /// Notes how a step ended that the others need. Gives the connection if they can go on.
    fn decide(
        &mut self,
        name: &str,
        step: Step,
        passed: &str,
        elapsed_ns: u64,
    ) -> Result<Option<BlockingConnection>, SqlServerBackupError> {
        let (connection, state, detail) = match step {
            Step::Stopped => return Ok(None),
            Step::Failed(reason) if NOT_THE_BACKUP.iter().any(|number| reason.contains(number)) => {
                let source_name = self.follower.server.name();
                return Err(SqlServerBackupError::Failed { source_name, reason });
            }
            Step::Failed(reason) => (None, CheckState::Failed, reason),
            Step::Done(connection, _) => (Some(*connection), CheckState::Passed, passed.to_owned()),
        };
        self.outcome.checks.push(DrillCheck { name: name.to_owned(), state, detail, elapsed_ns });
        Ok(connection)
    }

    fn step(
        &mut self,
        main: BlockingConnection,
        tag: &'static str,
        statement: &str,
    ) -> Result<Step, SqlServerBackupError> {
        match self.follower.run(main, tag, &format!("/* {tag} */ {statement}")) {
            Answered::Done(main, rows) => Ok(Step::Done(main, rows)),
            Answered::Failed(error) => Ok(Step::Failed(cause(error))),
            Answered::Stopped(_) => Ok(Step::Stopped),
            Answered::Cut { reason, .. } => {
                Err(SqlServerBackupError::Lost { source_name: self.follower.server.name(), reason })
            }
        }
    }

    /// Another connection, after a statement failed and took its own along.
    fn connect(&mut self) -> Result<BlockingConnection, SqlServerBackupError> {
        let mut main = self.follower.server.open()?;
        self.follower.session_id = self.follower.server.look(&mut main, "master")?.session_id;
        Ok(main)
    }

    fn clean_up(&self) -> CleanUp<'_> {
        CleanUp { server: self.follower.server, name: &self.request.name, files: &self.plan.files }
    }

    fn now_ns(&self) -> u64 {
        self.follower.transfer.elapsed_ns()
    }
}

/// What a statement that ran says: a single zero is "no".
fn judged(rows: &[Columns], may_say_no: bool) -> (CheckState, String) {
    match rows {
        [row] if may_say_no => match row.as_slice() {
            [(_, Value::Number(0))] => (CheckState::Failed, "it gave 0".to_owned()),
            [(_, Value::Number(number))] => (CheckState::Passed, format!("it gave {number}")),
            _ => (CheckState::Passed, "it ran without an error".to_owned()),
        },
        _ if may_say_no => (CheckState::Passed, "it ran without an error".to_owned()),
        _ => (CheckState::Passed, "no error was found".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_single_zero_is_a_no() {
        let row = |number| vec![("n".to_owned(), Value::Number(number))];
        assert_eq!(judged(&[row(0)], true).0, CheckState::Failed);
        for rows in [vec![row(3)], vec![row(0), row(0)], Vec::new()] {
            assert_eq!(judged(&rows, true).0, CheckState::Passed);
        }
        assert_eq!(judged(&[row(0)], false).0, CheckState::Passed);
    }
}
