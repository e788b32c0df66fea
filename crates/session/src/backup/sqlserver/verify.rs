//! Has a server read a backup back without restoring it.

use iostall_connect::sqlserver::{BlockingConnection, Columns};
use iostall_connect::{Address, Secret};
use iostall_model::sqlserver_backup::{BackupDevice, BackupStatement};
use iostall_model::{BackupHeader, Run, RunBody, SqlServerVerifyOutcome};

use super::error::SqlServerBackupError;
use super::follow::{Answered, Follower};
use super::run::cause;
use super::server::{Server, files, number, text};
use super::tsql::{self, RestoreCheck};
use crate::event::Observer;
use crate::transfer::Transfer;

/// `BackupType` of HEADERONLY.
const KINDS: [(u64, &str); 7] = [
    (1, "full"),
    (2, "log"),
    (4, "files"),
    (5, "differential"),
    (6, "files differential"),
    (7, "partial"),
    (8, "partial differential"),
];

pub struct SqlServerVerifyRequest {
    pub address: Address,
    pub password: Secret,
    pub devices: Vec<BackupDevice>,
    /// Which backup of the media set; `None` for the last.
    pub position: Option<u64>,
    /// Leave VERIFYONLY out, which reads all of it.
    pub headers_only: bool,
}

/// Reads headers and the list of files, and then all of it. What is wrong behind the headers is part of the outcome.
pub fn verify(
    request: &SqlServerVerifyRequest,
    transfer: Transfer,
    observer: &dyn Observer,
) -> Result<Run, SqlServerBackupError> {
    if let Some(device) = request.devices.iter().find(|device| **device == BackupDevice::Nul) {
        return Err(SqlServerBackupError::NothingThere { device: device.name().to_owned() });
    }
    let server = Server::new(&request.address, &request.password)?;
    let (mut main, monitor) = (server.open()?, server.open()?);
    let before = server.look(&mut main, "master")?;
    let follower = Follower {
        server: &server,
        session_id: before.session_id,
        transfer: &transfer,
        observer,
        monitor: Some(monitor),
        points: Vec::new(),
        blind_looks: 0,
    };
    let statement = BackupStatement { devices: request.devices.clone(), ..BackupStatement::default() };
    let mut outcome = SqlServerVerifyOutcome {
        server: server.name(),
        version: before.facts.version,
        edition: before.facts.edition,
        devices: request.devices.iter().map(|device| device.name().to_owned()).collect(),
        headers_only: request.headers_only,
        ..SqlServerVerifyOutcome::default()
    };
    let mut reading = Reading { follower, statement, outcome: &mut outcome };
    reading.read(main, request)?;
    drop(reading);
    let database = outcome.checked().map(|backup| backup.database.clone()).unwrap_or_default();
    let name = format!("{database} on {}", outcome.server);
    Ok(transfer.finish(name, Vec::new(), Vec::new(), RunBody::SqlServerVerify(Box::new(outcome))))
}

struct Reading<'a> {
    follower: Follower<'a>,
    statement: BackupStatement,
    outcome: &'a mut SqlServerVerifyOutcome,
}

impl Reading<'_> {
    fn read(
        &mut self,
        main: BlockingConnection,
        request: &SqlServerVerifyRequest,
    ) -> Result<(), SqlServerBackupError> {
        let (main, rows) = self.ask(main, RestoreCheck::Header, None)?;
        self.outcome.backups = rows.iter().map(header).collect();
        let last = self.outcome.backups.last().map_or(0, |backup| backup.position);
        self.outcome.position = request.position.unwrap_or(last);
        if self.outcome.checked().is_none() {
            return Err(SqlServerBackupError::NoSuchBackup {
                position: self.outcome.position,
                backups: self.outcome.backups.len(),
            });
        }
        let begun_ns = self.follower.transfer.elapsed_ns();
        let listed = self.ask(main, RestoreCheck::FileList, Some(self.outcome.position));
        let verified = listed.and_then(|(main, rows)| {
            self.outcome.files = files(&rows);
            if request.headers_only {
                return Ok(());
            }
            self.ask(main, RestoreCheck::Verify, Some(self.outcome.position)).map(drop)
        });
        self.outcome.elapsed_ns = self.follower.transfer.elapsed_ns() - begun_ns;
        match verified {
            Ok(()) => Ok(()),
            Err(SqlServerBackupError::Failed { reason, .. }) => {
                self.outcome.failure = Some(reason);
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    fn ask(
        &mut self,
        main: BlockingConnection,
        check: RestoreCheck,
        position: Option<u64>,
    ) -> Result<(BlockingConnection, Vec<Columns>), SqlServerBackupError> {
        let place = position.map(|position| position.to_string());
        let statement = tsql::restore(check, &self.statement, place.as_deref());
        let tag = check.tag();
        let source_name = self.follower.server.name();
        let answered = self.follower.run(main, tag, &format!("/* {tag} */ {statement}"));
        self.outcome.statements.push(statement);
        match answered {
            Answered::Done(main, rows) => Ok((*main, rows)),
            Answered::Failed(error) => {
                Err(SqlServerBackupError::Failed { source_name, reason: cause(error) })
            }
            Answered::Stopped(how) => Err(SqlServerBackupError::ReadingStopped { how }),
            Answered::Cut { reason, .. } => Err(SqlServerBackupError::Lost { source_name, reason }),
        }
    }
}

pub(super) fn header(row: &Columns) -> BackupHeader {
    let is = |column: &str| number(row, column) == Some(1);
    let kind = number(row, "BackupType").unwrap_or_default();
    let known = KINDS.iter().find(|(number, _)| *number == kind);
    BackupHeader {
        position: number(row, "Position").unwrap_or_default(),
        database: text(row, "DatabaseName"),
        server: text(row, "ServerName"),
        kind: known.map_or_else(|| format!("type {kind}"), |(_, name)| (*name).to_owned()),
        name: text(row, "BackupName"),
        bytes: number(row, "BackupSize").unwrap_or_default(),
        stored_bytes: number(row, "CompressedBackupSize"),
        started: text(row, "BackupStartDate"),
        finished: text(row, "BackupFinishDate"),
        is_copy_only: is("IsCopyOnly"),
        has_checksums: is("HasBackupChecksums"),
        is_damaged: is("IsDamaged"),
    }
}
