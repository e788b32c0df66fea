//! `iostall store`.

use clap::{Args, Subcommand};

/// Looking after the history of watched sources.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  iostall store rebuild   the hours and days anew, from the raw samples that are kept"
)]
pub(crate) struct StoreArgs {
    #[command(subcommand)]
    pub(crate) command: StoreCommand,
}

/// The verbs.
#[derive(Debug, Subcommand)]
pub(crate) enum StoreCommand {
    /// Make the hourly and daily roll-ups anew from the raw samples
    Rebuild,
}
