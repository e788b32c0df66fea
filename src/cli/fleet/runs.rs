//! `iostall fleet runs`.

use clap::{Args, Subcommand};

use crate::cli::RunListChoice;
use crate::cli::output::OutputArgs;

/// Of which repository.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    iostall fleet runs 'postgres://iostall@localhost/iostall'   the newest runs of all servers\n  \
    iostall fleet runs 'postgres://iostall@localhost/iostall' --server db1 --kind backup\n  \
    iostall fleet runs 'postgres://iostall@localhost/iostall' show db1 12 --html r.html   a run of a server as a page")]
pub(crate) struct FleetRunsArgs {
    /// postgres://USER@HOST/DATABASE of the repository
    #[arg(value_name = "URL")]
    pub(crate) url: String,
    /// Only runs of this server: its name, that of its host, or the id of its store
    #[arg(long, value_name = "SERVER")]
    pub(crate) server: Option<String>,
    /// Only runs of this kind, such as load, copy, backup or backup-drill
    #[arg(long, value_name = "KIND")]
    pub(crate) kind: Option<String>,
    #[command(flatten)]
    pub(crate) choice: RunListChoice,
    #[command(subcommand)]
    pub(crate) command: Option<FleetRunsCommand>,
}

/// The verbs.
#[derive(Debug, Subcommand)]
pub(crate) enum FleetRunsCommand {
    /// Show the report of a run, as `iostall runs show` does on its server
    Show(FleetRunArgs),
}

/// Which run, and how it is shown.
#[derive(Debug, Args)]
pub(crate) struct FleetRunArgs {
    /// The name of its server, that of its host, or the id of its store
    #[arg(value_name = "SERVER")]
    pub(crate) server: String,
    /// Its number on that server (12), its id or the start of one, last, or last~1
    #[arg(value_name = "RUN", default_value = "last")]
    pub(crate) run: String,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}
