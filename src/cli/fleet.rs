//! `iostall fleet`.

use clap::{Args, Subcommand};

/// Keep the history of many servers in one central repository.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    iostall fleet init 'postgres://iostall@central/iostall?password-file=/etc/iostall/central'   create or upgrade it\n  \
    iostall fleet send 'postgres://iostall@central/iostall?password-file=/etc/iostall/central'   send what it lacks\n\n\
    docs/fleet.md explains the repository.")]
pub(crate) struct FleetArgs {
    #[command(subcommand)]
    pub(crate) command: FleetCommand,
}

/// The verbs.
#[derive(Debug, Subcommand)]
pub(crate) enum FleetCommand {
    /// Create a repository in a database of PostgreSQL, or upgrade its tables
    Init(FleetInitArgs),
    /// Send what a repository lacks of the history in this store
    Send(FleetSendArgs),
}

/// Where.
#[derive(Debug, Args)]
pub(crate) struct FleetInitArgs {
    /// postgres://USER@HOST/DATABASE; the database must exist, and nothing outside its schema iostall is touched
    #[arg(value_name = "URL")]
    pub(crate) url: String,
    /// Print what was done as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// To where.
#[derive(Debug, Args)]
pub(crate) struct FleetSendArgs {
    /// postgres://USER@HOST/DATABASE of a repository. Nothing is removed from this store
    #[arg(value_name = "URL")]
    pub(crate) url: String,
}
