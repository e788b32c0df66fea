//! What each kind of run gives to judge, one file a kind: its parts with their figures, and what went wrong.

mod backup;
mod backup_drill;
mod backup_tune;
mod backup_verify;
mod copy;
mod fsync;
mod guard;
mod limits;
mod load;
mod matrix;
mod max_rate;
mod points;
mod qualify;
mod restore;
mod sqlserver_backup;
mod sqlserver_verify;
mod sweep;
mod verify;
mod write;

use iostall_model::part::Part;
use iostall_model::{Run, RunBody};

pub(crate) fn parts(run: &Run) -> Vec<Part> {
    match &run.body {
        RunBody::Load(outcome) => load::parts(outcome),
        RunBody::Sweep(outcome) => sweep::parts(outcome),
        RunBody::Matrix(outcome) => matrix::parts(outcome),
        RunBody::MaxRate(outcome) => max_rate::parts(outcome),
        RunBody::Copy(outcome) => copy::parts(outcome),
        RunBody::Verify(outcome) => verify::parts(outcome),
        RunBody::Write(outcome) => write::parts(outcome),
        RunBody::Fsync(outcome) => fsync::parts(outcome),
        RunBody::Backup(outcome) => backup::parts(outcome),
        RunBody::Restore(outcome) => restore::parts(outcome),
        RunBody::BackupVerify(outcome) => backup_verify::parts(outcome),
        RunBody::BackupTune(outcome) => backup_tune::parts(outcome),
        RunBody::BackupDrill(outcome) => backup_drill::parts(outcome),
        RunBody::SqlServerBackup(outcome) => sqlserver_backup::parts(outcome),
        RunBody::SqlServerVerify(outcome) => sqlserver_verify::parts(outcome),
        RunBody::Qualify(outcome) => qualify::parts(outcome),
        RunBody::Limits(outcome) => limits::parts(outcome),
        RunBody::Guard(outcome) => guard::parts(outcome),
        // Nothing was measured on a device.
        RunBody::Flash(_) => vec![Part::default()],
    }
}

/// Why the answer of this kind of run is no, one sentence each; none if it is not.
pub(crate) fn failures(run: &Run) -> Vec<String> {
    match &run.body {
        // Failed requests are warnings of the run.
        // That the defaults are best is an answer, too.
        // A backup with wrong pages is a whole backup of a database that has them, which is a warning.
        // A simulation has no wrong answer.
        // That a drive is not steady is an answer, unless it is required to be.
        RunBody::Load(_)
        | RunBody::Matrix(_)
        | RunBody::Backup(_)
        | RunBody::BackupTune(_)
        | RunBody::Flash(_)
        | RunBody::Qualify(_) => Vec::new(),
        RunBody::Sweep(outcome) => sweep::failures(outcome),
        RunBody::MaxRate(outcome) => max_rate::failures(outcome),
        RunBody::Copy(outcome) => copy::failures(outcome),
        RunBody::Verify(outcome) => verify::failures(run, outcome),
        RunBody::Write(outcome) => write::failures(outcome),
        RunBody::Fsync(outcome) => fsync::failures(outcome),
        RunBody::Restore(outcome) => restore::failures(outcome),
        RunBody::BackupVerify(outcome) => backup_verify::failures(outcome),
        RunBody::BackupDrill(outcome) => backup_drill::failures(outcome),
        RunBody::SqlServerBackup(outcome) => sqlserver_backup::failures(outcome),
        RunBody::SqlServerVerify(outcome) => sqlserver_verify::failures(outcome),
        RunBody::Guard(outcome) => guard::failures(run, outcome),
        RunBody::Limits(outcome) => limits::failures(outcome),
    }
}
