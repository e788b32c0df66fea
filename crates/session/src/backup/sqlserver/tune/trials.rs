//! Makes whole backups with settings, and keeps to files that are its own.

use iostall_connect::sqlserver::{BlockingConnection, Columns, Parameter};
use iostall_connect::{Address, Secret, SourceError};
use iostall_engine::random_bytes;
use iostall_measure::Nanos;
use iostall_model::Warning;
use iostall_model::sqlserver_backup::{
    BackupDevice, BackupStatement, BackupTrace, ServerFacts, StatementCompression,
};

use super::axes::ServerSetting;
use crate::backup::sqlserver::error::SqlServerBackupError;
use crate::backup::sqlserver::follow::{Answered, Follower};
use crate::backup::sqlserver::run::cause;
use crate::backup::sqlserver::server::{history, newest, number, text};
use crate::backup::sqlserver::trace::{self, Flags};
use crate::backup::sqlserver::tsql;
use crate::backup::tune::search::Seen;

const SIZE: &str = include_str!("../sql/tune_size.sql");
const PAST: &str = include_str!("../sql/tune_past.sql");
const MEMORY: &str = include_str!("../sql/tune_memory.sql");

const ABSENT: &str = "Operating system error 2(";
/// A setting whose buffers the server could not get is a bad one, and no reason to stop.
const NO_MEMORY: [&str; 3] = ["(error 701)", "(error 802)", "insufficient memory"];

/// What the server says of the database before anything is tried. What it does not say is `None`.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Figures {
    pub(super) database_bytes: Option<u64>,
    pub(super) compresses: bool,
    pub(super) past_s: Option<u64>,
    pub(super) past_bytes: Option<u64>,
    pub(super) available_bytes: Option<u64>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Trial {
    pub(super) seconds: f64,
    pub(super) bytes: u64,
    pub(super) stored_bytes: u64,
}

impl Trial {
    pub(super) fn bytes_per_s(&self) -> f64 {
        self.bytes as f64 / self.seconds
    }
}

pub(super) struct Trials<'a> {
    pub(super) statement: &'a BackupStatement,
    pub(super) facts: ServerFacts,
    pub(super) follower: Follower<'a>,
    pub(super) figures: Figures,
    main: Option<BlockingConnection>,
    /// The newest entry of the history; `None` where the history may not be read.
    newest: Option<i64>,
    /// The media name of its files, by which it knows them again.
    token: String,
    pub(super) has_files: bool,
    /// Time that trials took by the server's clock.
    pub(super) spent_s: f64,
    pub(super) backups: u64,
    traces: bool,
    /// What was said of the one that was, or why nobody knows.
    pub(super) traced: Option<Result<BackupTrace, Warning>>,
}

impl<'a> Trials<'a> {
    pub(super) fn new(
        request: &'a ServerTuneRequest,
        follower: Follower<'a>,
        mut main: BlockingConnection,
        facts: ServerFacts,
    ) -> Result<Self, SqlServerBackupError> {
        let figures = figures(&mut main, &request.statement.database);
        let newest = newest(&mut main).ok();
        Ok(Self {
            statement: &request.statement,
            facts,
            follower,
            figures,
            main: Some(main),
            newest,
            token: token()?,
            has_files: false,
            spent_s: 0.0,
            backups: 0,
            traces: request.trace_flags,
            traced: None,
        })
    }

    pub(super) fn knows_sizes(&self) -> bool {
        self.newest.is_some()
    }

    fn main(&mut self) -> Result<BlockingConnection, SqlServerBackupError> {
        if let Some(main) = self.main.take() {
            return Ok(main);
        }
        let mut main = self.follower.server.open()?;
        let before = self.follower.server.look(&mut main, &self.statement.database)?;
        self.follower.session_id = before.session_id;
        Ok(main)
    }

    fn run(&mut self, tag: &'static str, statement: &str) -> Result<Vec<Columns>, SqlServerBackupError> {
        let main = self.main()?;
        self.follower.points.clear();
        let source_name = self.follower.server.name();
        match self.follower.run(main, tag, &format!("/* {tag} */ {statement}")) {
            Answered::Done(main, rows) => {
                self.main = Some(*main);
                Ok(rows)
            }
            Answered::Failed(error) => {
                Err(SqlServerBackupError::Failed { source_name, reason: cause(error) })
            }
            Answered::Stopped(how) => Err(SqlServerBackupError::Stopped { how }),
            Answered::Cut { reason, .. } => Err(SqlServerBackupError::Lost { source_name, reason }),
        }
    }

    /// Whole backups for about `seconds`, at least one.
    pub(super) fn look(
        &mut self,
        setting: &ServerSetting,
        seconds: f64,
    ) -> Result<Seen, SqlServerBackupError> {
        let mut seen = Seen::default();
        let mut spent_s: f64 = 0.0;
        loop {
            let trial = match self.backup(setting) {
                Ok(trial) => trial,
                Err(SqlServerBackupError::Failed { reason, .. })
                    if NO_MEMORY.iter().any(|words| reason.contains(words)) =>
                {
                    return Ok(Seen { moved_s: Some(spent_s.max(seconds)), ..Seen::default() });
                }
                Err(error) => return Err(error),
            };
            spent_s += trial.seconds;
            seen.source_bytes += trial.bytes;
            seen.stored_bytes += trial.stored_bytes;
            seen.bytes_per_s = Some(seen.source_bytes as f64 / spent_s);
            seen.moved_s = Some(spent_s);
            // Another one only if it brings the time nearer to what is wanted.
            if spent_s + trial.seconds / 2.0 > seconds {
                return Ok(seen);
            }
        }
    }

    pub(super) fn backup(&mut self, setting: &ServerSetting) -> Result<Trial, SqlServerBackupError> {
        let mut statement = setting.statement(self.statement);
        if !statement.is_to_nul() {
            self.check_files(&statement.devices)?;
            statement.media.name = Some(self.token.clone());
            // The first one makes the files; without FORMAT the server itself refuses one that somebody else makes meanwhile.
            statement.media.format = self.has_files;
        }
        let trial = self.trial(statement)?;
        self.has_files |= !self.statement.is_to_nul();
        Ok(trial)
    }

    /// How fast the database can be read: nothing is compressed or written.
    pub(super) fn read_alone(&mut self, setting: &ServerSetting) -> Result<Trial, SqlServerBackupError> {
        let mut statement = setting.statement(self.statement);
        statement.compression = Some(StatementCompression::Off);
        statement.devices = vec![BackupDevice::Nul; setting.files];
        self.trial(statement)
    }

    fn trial(&mut self, mut statement: BackupStatement) -> Result<Trial, SqlServerBackupError> {
        statement.set.name = Some("iostall backup tune".to_owned());
        // Only now: looking at files may have cost the session.
        let flags = std::mem::take(&mut self.traces).then(|| self.flags()).transpose()?;
        let begun_ns = self.follower.transfer.elapsed_ns();
        let rows = self.run("iostall:backup_trial", &tsql::trial(&statement))?;
        let ours_ms = (self.follower.transfer.elapsed_ns() - begun_ns) / 1_000_000;
        let ms = rows.iter().find_map(|row| number(row, "elapsed_ms")).unwrap_or(ours_ms).max(1);
        let seconds = ms as f64 / 1000.0;
        self.spent_s += seconds;
        self.backups += 1;
        if let Some(flags) = flags {
            self.traced = Some(trace::found(flags, self.main.as_mut(), self.follower.server));
        }
        let entry = match (self.newest, self.main.as_mut()) {
            (Some(newest), Some(main)) => history(main, &statement, newest).ok().flatten(),
            _ => None,
        };
        let Some(entry) = entry else {
            // Rates can be compared all the same: each trial reads the same database.
            let bytes = self.figures.database_bytes.or(self.figures.past_bytes).unwrap_or(1);
            return Ok(Trial { seconds, bytes, stored_bytes: bytes });
        };
        self.newest = Some(i64::try_from(entry.backup_set_id).unwrap_or(i64::MAX));
        Ok(Trial { seconds, bytes: entry.bytes, stored_bytes: entry.stored_bytes.unwrap_or(entry.bytes) })
    }

    /// The trace flags, turned on in the session of the statements. Without the right to do so the search goes on.
    fn flags(&mut self) -> Result<Result<Flags, SourceError>, SqlServerBackupError> {
        let mut main = self.main()?;
        let flags = Flags::on(&mut main, self.follower.session_id);
        self.main = Some(main);
        Ok(flags)
    }

    /// Refuses files that this search did not make. Before the first trial there must be none.
    fn check_files(&mut self, devices: &[BackupDevice]) -> Result<(), SqlServerBackupError> {
        for device in devices {
            let refused =
                |reason: String| SqlServerBackupError::TuneFile { device: device.name().to_owned(), reason };
            match self.run("iostall:backup_label", &tsql::label(device)) {
                Ok(rows) => {
                    let media = rows.first().map(|row| text(row, "MediaName")).unwrap_or_default();
                    if !self.has_files || media != self.token {
                        return Err(refused(format!("it is a backup file of the media set {media:?}")));
                    }
                }
                Err(SqlServerBackupError::Failed { reason, .. }) if reason.contains(ABSENT) => {}
                Err(SqlServerBackupError::Failed { reason, .. }) => return Err(refused(reason)),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

fn token() -> Result<String, SourceError> {
    let bytes = random_bytes::<16>().map_err(|_| SourceError::Defect)?;
    Ok(format!("iostall tune {:032x}", u128::from_be_bytes(bytes)))
}

/// Each by itself, because a login may be allowed to see some of it.
fn figures(main: &mut BlockingConnection, database: &str) -> Figures {
    let name = [Parameter::Text(database)];
    let first = |rows: Result<Vec<Columns>, SourceError>| rows.ok().and_then(|rows| rows.into_iter().next());
    let size = first(main.query("iostall:tune_size", SIZE, &name)).unwrap_or_default();
    let past = first(main.query("iostall:tune_past", PAST, &name)).unwrap_or_default();
    let memory = first(main.query("iostall:tune_memory", MEMORY, &[])).unwrap_or_default();
    let known = |row: &Columns, column: &str| number(row, column).filter(|number| *number > 0);
    Figures {
        database_bytes: known(&size, "database_bytes"),
        compresses: number(&size, "compresses") == Some(1),
        past_s: number(&past, "seconds"),
        past_bytes: known(&past, "size_bytes"),
        available_bytes: known(&memory, "available_kb").map(|kb| kb.saturating_mul(1024)),
    }
}

pub struct ServerTuneRequest {
    pub address: Address,
    pub password: Secret,
    /// The database; NUL, or the files that trials may write, and write over.
    pub statement: BackupStatement,
    pub budget: Nanos,
    pub memory_bytes: Option<u64>,
    /// Have the server say what it does in the first trial, by trace flags of its session.
    pub trace_flags: bool,
}
