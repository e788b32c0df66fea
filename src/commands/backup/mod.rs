//! `iostall backup`.

mod create;
mod list;
mod plan;
mod stats;

use iostall_transfer::backup::codec::KeyError;

use crate::cli::{BackupArgs, BackupCommand, GlobalArgs};
use crate::failure::{Status, hinted};
use crate::printer::Printer;

/// Does what the verb says.
pub(crate) fn run(args: &BackupArgs, global: &GlobalArgs, printer: &Printer) -> anyhow::Result<Status> {
    match &args.command {
        BackupCommand::Create(args) => create::run(args, global, printer),
        BackupCommand::List(args) => list::list(args, global, printer),
        BackupCommand::Prune(args) => list::prune(args, global, printer),
        BackupCommand::Plan(args) => plan::run(args, printer),
    }
}

fn key_error(error: KeyError) -> anyhow::Error {
    match error.hint() {
        Some(hint) => hinted(error, hint),
        None => error.into(),
    }
}
