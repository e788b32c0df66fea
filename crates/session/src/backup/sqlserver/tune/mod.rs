//! Finds the options with which a server's own backups are fastest. Each trial is a whole backup, because a server makes no other.

mod axes;
mod outcome;
mod trials;
mod tuned;

use iostall_model::{Run, RunBody, Warning, WarningCode};

use self::outcome::Found;
use self::trials::Trials;
use self::tuned::{Tuned, holds_by_estimate};
use super::error::SqlServerBackupError;
use super::follow::Follower;
use super::server::Server;
use crate::event::{Event, Observer};
use crate::transfer::Transfer;

pub use self::trials::ServerTuneRequest;

/// Nobody is to see how far a single trial is.
struct Quiet;

impl Observer for Quiet {
    fn on(&self, _: &Event<'_>) {}
}

/// Makes one backup with the defaults, searches, and compares the best with the defaults. If it is interrupted, the run has what was
/// measured so far.
pub fn tune(
    request: &ServerTuneRequest,
    transfer: Transfer,
    observer: &dyn Observer,
) -> Result<Run, SqlServerBackupError> {
    let statement = &request.statement;
    if let Some(device) = statement.devices.iter().find(|device| device.is_url()) {
        return Err(SqlServerBackupError::TuneDevice { device: device.name().to_owned() });
    }
    let server = Server::new(&request.address, &request.password)?;
    let (mut main, monitor) = (server.open()?, server.open()?);
    let before = server.look(&mut main, &statement.database)?;
    let follower = Follower {
        server: &server,
        session_id: before.session_id,
        transfer: &transfer,
        observer: &Quiet,
        monitor: Some(monitor),
        points: Vec::new(),
        blind_looks: 0,
    };
    let mut trials = Trials::new(request, follower, main, before.facts)?;
    let mut tuned = Tuned::new(request, &trials)?;
    holds_by_estimate(request, &trials.figures)?;
    observer.on(&Event::TuneBegun(&tuned.plan(request, &trials.figures)));
    let ended = tuned.search(request, &mut trials, &transfer, observer);
    observer.on(&Event::ProgressEnded);
    match ended {
        Ok(()) => {}
        Err(SqlServerBackupError::Stopped { .. }) if transfer.progress().is_cancelled() => {}
        Err(error) => return Err(error),
    }
    let mut warnings = if trials.knows_sizes() { Vec::new() } else { vec![no_sizes()] };
    warnings.extend(trials.traced.as_ref().and_then(|traced| traced.as_ref().err()).cloned());
    let found = Found { request, server: &server, trials: &trials, tuned: &tuned };
    let outcome = found.outcome(&transfer);
    drop(trials);
    let name = statement.database.clone();
    Ok(transfer.finish(name, Vec::new(), warnings, RunBody::BackupTune(Box::new(outcome))))
}

fn no_sizes() -> Warning {
    Warning::new(
        WarningCode::MissingGrant,
        "the history of backups may not be read, so rates are those of the files of the database, and what is stored is not known",
    )
    .hint("the login needs SELECT on msdb.dbo.backupset and msdb.dbo.backupmediafamily")
}
