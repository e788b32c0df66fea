//! `iostall alerts`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// Test the alert rules and channels.
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
    /// Check a file of alerts and list its rules and channels
    Check(AlertsCheckArgs),
    /// Send a test notice and report whether it was delivered; exit status 1 if one was not
    Test(AlertsTestArgs),
}

/// Which file.
#[derive(Debug, Args)]
pub(crate) struct AlertsCheckArgs {
    /// Rules, storage classes and channels, in TOML
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
}

/// Which file and rule.
#[derive(Debug, Args)]
pub(crate) struct AlertsTestArgs {
    /// Rules, storage classes and channels, in TOML
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Only through the channels of this rule
    #[arg(long, value_name = "NAME")]
    pub(crate) rule: Option<String>,
}
