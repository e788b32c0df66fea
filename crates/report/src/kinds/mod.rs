//! The reports of the run kinds, one module each.

mod backup;
mod backup_drill;
mod backup_tune;
mod backup_verify;
mod copy;
mod flash;
mod fsync;
mod give_way;
mod guard;
mod limits;
mod load;
mod matrix;
mod max_rate;
mod moved;
mod points;
mod qualify;
mod restore;
mod sqlserver_backup;
mod sqlserver_trace;
mod sqlserver_verify;
mod striped;
mod sweep;
mod verify;
mod write;

use iostall_model::{Run, RunBody};

pub use self::write::growing;
use crate::report::Report;

impl<'a> Report<'a> {
    pub fn of(run: &'a Run) -> Self {
        match &run.body {
            RunBody::Load(outcome) => load::report(run, outcome),
            RunBody::Sweep(outcome) => sweep::report(run, outcome),
            RunBody::Matrix(outcome) => matrix::report(run, outcome),
            RunBody::MaxRate(outcome) => max_rate::report(run, outcome),
            RunBody::Copy(outcome) => copy::report(run, outcome),
            RunBody::Verify(outcome) => verify::report(run, outcome),
            RunBody::Write(outcome) => write::report(run, outcome),
            RunBody::Fsync(outcome) => fsync::report(run, outcome),
            RunBody::Backup(outcome) => backup::report(run, outcome),
            RunBody::Restore(outcome) => restore::report(run, outcome),
            RunBody::BackupVerify(outcome) => backup_verify::report(run, outcome),
            RunBody::BackupTune(outcome) => backup_tune::report(run, outcome),
            RunBody::BackupDrill(outcome) => backup_drill::report(run, outcome),
            RunBody::SqlServerBackup(outcome) => sqlserver_backup::report(run, outcome),
            RunBody::SqlServerVerify(outcome) => sqlserver_verify::report(run, outcome),
            RunBody::Flash(outcome) => flash::report(run, outcome),
            RunBody::Qualify(outcome) => qualify::report(run, outcome),
            RunBody::Limits(outcome) => limits::report(run, outcome),
            RunBody::Guard(outcome) => guard::report(run, outcome),
        }
    }
}
