//! `iostall drive`.

mod endurance;

use clap::{Args, Subcommand};

pub(crate) use endurance::EnduranceArgs;

/// Judge solid-state drives.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    iostall drive endurance /dev/nvme0                        what one drive says of itself, as root\n  \
    iostall drive endurance /var/lib/smart                    saved documents of many drives, over time")]
pub(crate) struct DriveArgs {
    #[command(subcommand)]
    pub(crate) command: DriveCommand,
}

/// The verbs.
#[derive(Debug, Subcommand)]
pub(crate) enum DriveCommand {
    /// Say how long drives last: bytes written, write amplification, percentage used, and four projections
    Endurance(Box<EnduranceArgs>),
}
