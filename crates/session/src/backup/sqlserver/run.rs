//! Makes a backup: checks it against the server, runs it, and reads what the server knows of it afterwards.

use iostall_connect::sqlserver::{BlockingConnection, Columns};
use iostall_connect::{Address, Secret, SourceError};
use iostall_model::sqlserver_backup::{BackupStatement, cautions, refusal_to_read_back, refusals_of_server};
use iostall_model::{
    BackupEnd, HistoryEntry, ReadBack, Run, RunBody, SqlServerBackupOutcome, Warning, WarningCode,
};

use super::error::SqlServerBackupError;
use super::follow::{Answered, Follower};
use super::server::{Server, files, history, last_place, lists, newest};
use super::trace::{self, Flags};
use super::tsql::{self, RestoreCheck};
use crate::event::Observer;
use crate::transfer::Transfer;

/// Looks in a row that saw nothing of a running backup, before it is taken for certain that the login may not see it.
const BLIND_LOOKS: u32 = 3;

pub struct SqlServerBackupRequest {
    pub address: Address,
    pub password: Secret,
    pub statement: BackupStatement,
    /// VERIFYONLY, HEADERONLY and FILELISTONLY afterwards.
    pub read_back: bool,
    /// Have the server say what it does, by trace flags of its session.
    pub trace_flags: bool,
}

pub struct SqlServerBackup {
    pub outcome: SqlServerBackupOutcome,
    pub warnings: Vec<Warning>,
    pub ended: Option<SqlServerBackupError>,
    transfer: Transfer,
}

impl SqlServerBackup {
    pub fn into_run(self) -> Run {
        // Notes of a report show the name of a run beside those of other servers.
        let name = format!("{} on {}", self.outcome.database, self.outcome.server);
        let body = RunBody::SqlServerBackup(Box::new(self.outcome));
        self.transfer.finish(name, Vec::new(), self.warnings, body)
    }
}

/// An error is that it could not begin. A later one is part of [`SqlServerBackup`].
pub fn run(
    request: &SqlServerBackupRequest,
    transfer: Transfer,
    observer: &dyn Observer,
) -> Result<SqlServerBackup, SqlServerBackupError> {
    let statement = &request.statement;
    let server = Server::new(&request.address, &request.password)?;
    let (mut main, mut monitor) = (server.open()?, server.open()?);
    let before = server.look(&mut main, &statement.database)?;
    let mut refusals = refusals_of_server(statement, &before.facts);
    refusals.extend(refusal_to_read_back(statement).filter(|_| request.read_back));
    if !refusals.is_empty() {
        return Err(SqlServerBackupError::Refused { refusals });
    }
    let newest = newest(&mut monitor);
    let flags = request.trace_flags.then(|| Flags::on(&mut main, before.session_id));
    let text = tsql::backup(statement);
    let mut outcome = SqlServerBackupOutcome {
        server: server.name(),
        version: before.facts.version,
        edition: before.facts.edition,
        database: statement.database.clone(),
        kind: statement.kind,
        devices: statement.devices.iter().map(|device| device.name().to_owned()).collect(),
        statement: text.clone(),
        ..SqlServerBackupOutcome::default()
    };
    let mut follower = Follower {
        server: &server,
        session_id: before.session_id,
        transfer: &transfer,
        observer,
        monitor: Some(monitor),
        points: Vec::new(),
        blind_looks: 0,
    };
    let begun_ns = transfer.elapsed_ns();
    let answered = follower.run(main, "iostall:backup", &format!("/* iostall:backup */ {text}"));
    outcome.elapsed_ns = transfer.elapsed_ns() - begun_ns;
    outcome.progress = std::mem::take(&mut follower.points);
    let mut warnings: Vec<Warning> = cautions(statement)
        .into_iter()
        .map(|caution| Warning::new(WarningCode::SettingOff, caution.message).hint(caution.hint))
        .collect();
    if follower.blind_looks >= BLIND_LOOKS && outcome.progress.is_empty() {
        warnings.push(blind());
    }
    let mut found = Found { follower, newest, statement };
    let (mut main, ended) = found.complete(answered, &mut outcome, &mut warnings);
    // Who stopped it does not wait for the error log.
    let was_stopped = matches!(ended, Some(SqlServerBackupError::Stopped { .. }));
    match flags.filter(|_| !was_stopped).map(|flags| trace::found(flags, main.as_mut(), &server)) {
        Some(Ok(found)) => outcome.trace = Some(found),
        Some(Err(warning)) => warnings.push(warning),
        None => {}
    }
    if request.read_back && ended.is_none() {
        match found.read_back(main, outcome.history.as_ref()) {
            Ok(read_back) => outcome.read_back = Some(read_back),
            Err(reason) => outcome.not_read_back = Some(reason),
        }
    }
    Ok(SqlServerBackup { outcome, warnings, ended, transfer })
}

fn blind() -> Warning {
    Warning::new(
        WarningCode::MissingGrant,
        "the progress of the backup could not be seen: the login lacks VIEW SERVER STATE",
    )
    .hint("GRANT VIEW SERVER STATE TO the login; since 2022 VIEW SERVER PERFORMANCE STATE is enough")
}

struct Found<'a> {
    follower: Follower<'a>,
    newest: Result<i64, SourceError>,
    statement: &'a BackupStatement,
}

impl Found<'_> {
    /// Fills in how it ended. Gives the connection, if that is still good, and why there is no backup, if there is none.
    fn complete(
        &mut self,
        answered: Answered,
        outcome: &mut SqlServerBackupOutcome,
        warnings: &mut Vec<Warning>,
    ) -> (Option<BlockingConnection>, Option<SqlServerBackupError>) {
        let source_name = self.follower.server.name();
        match answered {
            Answered::Done(mut main, _) => {
                match self.history(Some(&mut *main)) {
                    Ok(Some(entry)) => outcome.history = Some(entry),
                    Ok(None) => warnings.push(
                        no_history("msdb.dbo.backupset has no entry of it")
                            .hint("look there, and at the files with iostall backup verify --sqlserver URL --from PATH --headers"),
                    ),
                    Err(reason) => warnings.push(
                        no_history(&reason)
                            .hint("the login needs SELECT on msdb.dbo.backupset and msdb.dbo.backupmediafamily"),
                    ),
                }
                (Some(*main), None)
            }
            Answered::Failed(error) => {
                let reason = cause(error);
                outcome.end = BackupEnd::Failed { reason: reason.clone() };
                (None, Some(SqlServerBackupError::Failed { source_name, reason }))
            }
            Answered::Stopped(how) => {
                outcome.end = BackupEnd::Stopped { how: how.clone() };
                (None, Some(SqlServerBackupError::Stopped { how }))
            }
            Answered::Cut { reason, followed } => (None, self.after_a_cut(reason, followed, outcome)),
        }
    }

    /// A server goes on for a while after its client is gone, and may complete the backup.
    fn after_a_cut(
        &mut self,
        reason: String,
        followed: Result<(), String>,
        outcome: &mut SqlServerBackupOutcome,
    ) -> Option<SqlServerBackupError> {
        let source_name = self.follower.server.name();
        let was_seen = !outcome.progress.is_empty();
        let entry = followed.and_then(|()| self.history(None));
        let (end, error) = match entry {
            Ok(Some(entry)) => {
                outcome.history = Some(entry);
                (BackupEnd::CompleteAlone { reason }, None)
            }
            Ok(None) if was_seen => {
                let reason =
                    format!("{reason}; the server ended the backup, and its history has no entry of it");
                (
                    BackupEnd::Failed { reason: reason.clone() },
                    Some(SqlServerBackupError::Failed { source_name, reason }),
                )
            }
            Ok(None) => {
                let reason = format!("{reason}; its history has no entry yet");
                (
                    BackupEnd::Unknown { reason: reason.clone() },
                    Some(SqlServerBackupError::Lost { source_name, reason }),
                )
            }
            Err(more) => {
                let reason = format!("{reason}; and then: {more}");
                (
                    BackupEnd::Unknown { reason: reason.clone() },
                    Some(SqlServerBackupError::Lost { source_name, reason }),
                )
            }
        };
        outcome.end = end;
        error
    }

    fn history(&self, connection: Option<&mut BlockingConnection>) -> Result<Option<HistoryEntry>, String> {
        let newest = self.newest.as_ref().map_err(ToString::to_string)?;
        let entry = match connection {
            Some(connection) => history(connection, self.statement, *newest),
            None => {
                self.follower.server.open().and_then(|mut new| history(&mut new, self.statement, *newest))
            }
        };
        entry.map_err(|error| error.to_string())
    }

    /// Reads the backup back. An error is why it was not done.
    fn read_back(
        &mut self,
        main: Option<BlockingConnection>,
        entry: Option<&HistoryEntry>,
    ) -> Result<ReadBack, String> {
        let main = match main {
            Some(main) => main,
            None => self.again()?,
        };
        let mut found = ReadBack::default();
        let (main, position) = if let Some(entry) = entry {
            (main, entry.position)
        } else {
            // The history may not be seen: what was written last is in the last place.
            let (main, rows) = self.check(main, RestoreCheck::Header, 1)?;
            let place = last_place(&rows, self.statement);
            (main, place.ok_or("the last backup in its files is not this one")?)
        };
        let begun_ns = self.follower.transfer.elapsed_ns();
        let verified = self.check(main, RestoreCheck::Verify, position);
        found.elapsed_ns = self.follower.transfer.elapsed_ns() - begun_ns;
        let listed = verified
            .and_then(|(main, _)| self.check(main, RestoreCheck::Header, position))
            .and_then(|(main, rows)| {
                found.backups = rows.len() as u64;
                if lists(&rows, self.statement, position) {
                    self.check(main, RestoreCheck::FileList, position)
                } else {
                    Err(format!("its files list no backup of this database in place {position}"))
                }
            });
        match listed {
            Ok((_, rows)) => found.files = files(&rows),
            // Nothing is wrong with what was not read to its end.
            Err(reason) if self.follower.transfer.progress().is_cancelled() => return Err(reason),
            Err(reason) => found.failure = Some(reason),
        }
        Ok(found)
    }

    /// Another connection, after the one of the backup broke.
    fn again(&mut self) -> Result<BlockingConnection, String> {
        let mut main = self.follower.server.open().map_err(|error| error.to_string())?;
        let seen = self.follower.server.look(&mut main, &self.statement.database);
        self.follower.session_id = seen.map_err(|error| error.to_string())?.session_id;
        Ok(main)
    }

    fn check(
        &mut self,
        main: BlockingConnection,
        check: RestoreCheck,
        position: u64,
    ) -> Result<(BlockingConnection, Vec<Columns>), String> {
        let place = position.to_string();
        // HEADERONLY lists all backups of the files.
        let place = (check != RestoreCheck::Header).then_some(place.as_str());
        let text = tsql::restore(check, self.statement, place);
        let tag = check.tag();
        match self.follower.run(main, tag, &format!("/* {tag} */ {text}")) {
            Answered::Done(main, rows) => Ok((*main, rows)),
            Answered::Failed(error) => Err(cause(error)),
            Answered::Stopped(how) => Err(format!("reading it back was stopped: {how}")),
            Answered::Cut { reason, .. } => {
                Err(format!("the connection broke while it was read back: {reason}"))
            }
        }
    }
}

pub(super) fn cause(error: SourceError) -> String {
    match error {
        SourceError::Query { reason, .. } | SourceError::Denied { reason, .. } => reason,
        other => other.to_string(),
    }
}

fn no_history(reason: &str) -> Warning {
    Warning::new(
        WarningCode::MissingGrant,
        format!("the server made the backup, but its size and rate are not known: {reason}"),
    )
}
