//! `iostall fleet`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// Keep the history of many servers in one central repository.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    iostall fleet init 'postgres://iostall@central/iostall?password-file=/etc/iostall/central'   create or upgrade it\n  \
    iostall fleet send 'postgres://iostall@central/iostall?password-file=/etc/iostall/central'   send what it lacks\n  \
    iostall fleet report 'postgres://iostall@central/iostall?password-file=/etc/iostall/central' --since 7d --html fleet.html\n  \
    iostall fleet tag 'postgres://iostall@central/iostall?password-file=/etc/iostall/central' sqlserver://db1 'E:\\' san-lun-7\n\n\
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
    /// Report on all servers of a repository: worst files and volumes, neighbours on a device, growth, and servers to look at
    Report(FleetReportArgs),
    /// Say by hand what a volume lies on, where nothing identifies it
    Tag(FleetTagArgs),
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

/// On what.
#[derive(Debug, Args)]
pub(crate) struct FleetReportArgs {
    /// postgres://USER@HOST/DATABASE of a repository
    #[arg(value_name = "URL")]
    pub(crate) url: String,
    /// Start: a date, a time, or how long ago
    #[arg(long, value_name = "WHEN", default_value = "7d")]
    pub(crate) since: String,
    /// End [default: now]
    #[arg(long, value_name = "WHEN")]
    pub(crate) until: Option<String>,
    /// At most this many files, volumes, devices and sources, the worst of each
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) top: u32,
    /// As an HTML page, which needs no network; - is standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// As JSON; - is standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// As Markdown, for pasting into a ticket; - is standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) markdown: Option<PathBuf>,
}

/// What.
#[derive(Debug, Args)]
pub(crate) struct FleetTagArgs {
    /// postgres://USER@HOST/DATABASE of a repository
    #[arg(value_name = "URL")]
    pub(crate) url: String,
    /// The source, as `iostall fleet report` shows it
    #[arg(value_name = "SOURCE")]
    pub(crate) source: String,
    /// Its volume, as the report shows it
    #[arg(value_name = "VOLUME")]
    pub(crate) volume: String,
    /// The name of what it lies on. Volumes with the same name are neighbours
    #[arg(value_name = "NAME", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    pub(crate) name: String,
    /// The host, or the id of the server, where several have such a source
    #[arg(long, value_name = "SERVER")]
    pub(crate) server: Option<String>,
}
