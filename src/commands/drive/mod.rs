//! `iostall drive`.

mod atomic;
mod endurance;
mod flash;
mod guard;
mod limits;
mod plan;
mod powerfail;
mod qualify;

use crate::cli::{DriveArgs, DriveCommand, GlobalArgs};
use crate::failure::Status;
use crate::printer::Printer;

pub(crate) fn run(args: &DriveArgs, global: &GlobalArgs, printer: &Printer) -> anyhow::Result<Status> {
    match &args.command {
        DriveCommand::Atomic(args) => atomic::run(args, global, printer),
        DriveCommand::Endurance(args) => endurance::run(args, global, printer),
        DriveCommand::Flash(args) => flash::run(args, global, printer),
        DriveCommand::Guard(args) => guard::run(args, global, printer),
        DriveCommand::Limits(args) => limits::run(args, global, printer),
        DriveCommand::Plan(args) => plan::run(args, global, printer),
        DriveCommand::Powerfail(args) => powerfail::run(args, global, printer),
        DriveCommand::Qualify(args) => qualify::run(args, global, printer),
    }
}
