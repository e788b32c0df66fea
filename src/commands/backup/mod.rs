//! `iostall backup`.

mod create;
mod drill;
mod keys;
mod known;
mod list;
mod plan;
mod rebuild;
mod restore;
mod run;
mod stats;
mod tune;
mod verify;
mod wal;

use crate::cli::{BackupArgs, BackupCommand, GlobalArgs};
use crate::failure::Status;
use crate::printer::Printer;

pub(crate) fn run(args: &BackupArgs, global: &GlobalArgs, printer: &Printer) -> anyhow::Result<Status> {
    match &args.command {
        BackupCommand::Create(args) => create::run(args, global, printer),
        BackupCommand::Restore(args) => restore::run(args, global, printer),
        BackupCommand::Verify(args) => verify::run(args, global, printer),
        BackupCommand::Tune(args) => tune::run(args, global, printer),
        BackupCommand::Drill(args) => drill::run(args, global, printer),
        BackupCommand::Rebuild(args) => rebuild::run(args, printer),
        BackupCommand::List(args) => list::list(args, global, printer),
        BackupCommand::Prune(args) => list::prune(args, global, printer),
        BackupCommand::Plan(args) => plan::run(args, global, printer),
        BackupCommand::Run(args) => run::run(args, global, printer),
        BackupCommand::Wal(args) => wal::run(args, global, printer),
    }
}
