//! `iostall fleet pull`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use crate::cli::collect::length;

/// From where and to where.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    iostall fleet pull 'postgres://iostall@localhost/iostall' --sources fleet.toml   until it is stopped\n  \
    iostall fleet pull --once --json 'postgres://iostall@localhost/iostall' --sources fleet.toml   one sample of each\n\n\
    The file is that of `iostall collect run --config`, with server = \"NAME\" where a source does not count for its host.\n\
    A changed file takes effect within two seconds. docs/fleet.md explains it.")]
pub(crate) struct FleetPullArgs {
    /// postgres://USER@HOST/DATABASE of the repository
    #[arg(value_name = "URL")]
    pub(crate) url: String,
    /// TOML file with the sources: PostgreSQL, MySQL, MariaDB and SQL Server over the network
    #[arg(long, value_name = "FILE")]
    pub(crate) sources: PathBuf,
    /// Keep samples in this file until the repository has them [default: beside the store, with .pull at its end]
    #[arg(long, value_name = "FILE")]
    pub(crate) spool: Option<PathBuf>,
    /// Read this many sources at the same time
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u16).range(2..=512))]
    pub(crate) workers: u16,
    /// Leave this many connections open between samples; other sources connect for each
    #[arg(long, value_name = "N", default_value_t = 64)]
    pub(crate) connections: u16,
    /// Read each source once, now, send the samples and end
    #[arg(long, conflicts_with = "duration")]
    pub(crate) once: bool,
    /// How long [default: until stopped]
    #[arg(long, short, value_name = "TIME", value_parser = length)]
    pub(crate) duration: Option<Duration>,
    /// At the end, print what became of each source as JSON
    #[arg(long)]
    pub(crate) json: bool,
}
