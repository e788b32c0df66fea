//! `iostall backup`.

mod keep;
mod plan;

use clap::{Args, Subcommand};

pub(crate) use plan::PlanArgs;

/// Back up, restore, check and keep.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    iostall backup plan --size 5T --ratio 5 --keep-daily 7    room and time that backups will take\n\n\
    docs/backup.md is the guide.")]
pub(crate) struct BackupArgs {
    #[command(subcommand)]
    pub(crate) command: BackupCommand,
}

/// The verbs.
#[derive(Debug, Subcommand)]
pub(crate) enum BackupCommand {
    /// Say how much room and time backups will take: size, ratio, growth and what is kept
    Plan(Box<PlanArgs>),
}
