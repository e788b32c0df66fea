//! `iostall alerts`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// Trying out alerts.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    iostall alerts check alerts.toml\n  \
    iostall alerts test alerts.toml                      one notice through every channel\n  \
    iostall alerts test alerts.toml --rule 'slow log'    through the channels of one rule\n  \
    iostall collect run --alerts alerts.toml linux:\n\n\
    docs/alerts.md explains the file.")]
pub(crate) struct AlertsArgs {
    #[command(subcommand)]
    pub(crate) command: AlertsCommand,
}

/// The verbs.
#[derive(Debug, Subcommand)]
pub(crate) enum AlertsCommand {
    /// Read a file of alerts and say what is in it, or what is wrong with it
    Check(AlertsCheckArgs),
    /// Send a test notice and say what became of it; exit status 1 when one was not delivered
    Test(AlertsTestArgs),
}

/// Which file.
#[derive(Debug, Args)]
pub(crate) struct AlertsCheckArgs {
    /// Rules, classes of storage and channels, in TOML
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
}

/// Which file and rule.
#[derive(Debug, Args)]
pub(crate) struct AlertsTestArgs {
    /// Rules, classes of storage and channels, in TOML
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Only through the channels of this rule
    #[arg(long, value_name = "NAME")]
    pub(crate) rule: Option<String>,
}
