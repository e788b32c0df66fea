//! `iostall drive`.

mod flash;

use clap::{Args, Subcommand};

pub(crate) use flash::FlashArgs;

/// Judge drives.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    iostall drive flash --spare 28%                      how much a drive writes for each write of the host\n  \
    iostall drive flash --hot 10:90 --want-wa 2          the spare area that a pattern needs\n\n\
    docs/flash.md is the guide.")]
pub(crate) struct DriveArgs {
    #[command(subcommand)]
    pub(crate) command: DriveCommand,
}

/// The verbs.
#[derive(Debug, Subcommand)]
pub(crate) enum DriveCommand {
    /// Simulate a flash device: how much does it write, how long does it last, how much spare area does it need?
    Flash(Box<FlashArgs>),
}
