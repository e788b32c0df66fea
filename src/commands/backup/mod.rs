//! `iostall backup`.

mod plan;

use crate::cli::{BackupArgs, BackupCommand};
use crate::failure::Status;
use crate::printer::Printer;

/// Does what the verb says.
pub(crate) fn run(args: &BackupArgs, printer: &Printer) -> anyhow::Result<Status> {
    match &args.command {
        BackupCommand::Plan(plan_args) => plan::run(plan_args, printer),
    }
}
