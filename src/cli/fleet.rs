//! `iostall fleet`.

mod members;
mod push;
mod release;

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};

use crate::cli::collect::length;
use crate::cli::output::OutputArgs;
use crate::cli::{AdviseChoice, NotesChoice, RunListChoice, SettingsChoice};

pub(crate) use members::{FleetCodeArgs, FleetJoinArgs, FleetRevokeArgs, FleetServersArgs};
pub(crate) use push::{
    FleetAgentArgs, FleetPushArgs, FleetPushCommand, PushApplyArgs, PushEndArgs, PushPlanArgs, PushReadArgs,
    PushRollbackArgs, PushStatusArgs,
};
pub(crate) use release::{
    FleetReleaseArgs, FleetReleaseCommand, ReleaseApplyArgs, ReleaseKeygenArgs, ReleaseMakeArgs,
    ReleaseShowArgs, ReleaseUndoArgs, ReleaseVerifyArgs,
};

/// Keep the history of many servers in one central repository.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    iostall fleet init 'postgres://iostall@central/iostall?password-file=/etc/iostall/central'   create or upgrade it\n  \
    iostall fleet serve 'postgres://iostall@localhost/iostall' --certificate cert.pem --key key.pem   at the centre\n  \
    iostall fleet code 'postgres://iostall@localhost/iostall' --for db1 > code   for a server that joins\n  \
    iostall fleet join https://central:7444 --code-file code --certificate sha256:…   on that server, once\n  \
    iostall fleet send https://central:7444   and then as often as is useful\n  \
    iostall fleet pull 'postgres://iostall@localhost/iostall' --sources fleet.toml   databases without an agent\n  \
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
    /// Send what a centre lacks of the history and the runs in this store
    Send(FleetSendArgs),
    /// Take the history of servers that have joined, and write it to a repository
    Serve(FleetServeArgs),
    /// Sample databases whose hosts have no iostall, and write their history to a repository
    Pull(Box<FleetPullArgs>),
    /// Make a code with which one server may join once
    Code(FleetCodeArgs),
    /// Join a centre: from then on this store's history can be sent there
    Join(FleetJoinArgs),
    /// List the servers of a repository: which send, since when, how far
    Servers(FleetServersArgs),
    /// Take the right to send from a server. Its history stays
    Revoke(FleetRevokeArgs),
    /// Report on all servers of a repository: worst files and volumes, neighbours on a device, growth, and servers to look at
    Report(FleetReportArgs),
    /// List the runs that servers have sent, or show one: load tests, copies, backups, restores, drills
    Runs(FleetRunsArgs),
    /// Show how the sources of all servers are set, as their iostall reads it, and what changed
    Settings(FleetSettingsArgs),
    /// Say what named rules find in the settings of all servers
    Advise(FleetAdviseArgs),
    /// List what was noted on all servers: deployments, failovers and the like
    Notes(FleetNotesArgs),
    /// Make signed releases of settings, profiles and alert rules, and apply them
    Release(Box<FleetReleaseArgs>),
    /// Take releases from a centre, as far as this server's policy allows
    Agent(FleetAgentArgs),
    /// Send releases from a centre to chosen servers, ring after ring
    Push(Box<FleetPushArgs>),
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
#[command(after_help = "Examples:\n  \
    iostall fleet send https://central:7444            what is new, once\n  \
    iostall fleet send --follow https://central:7444   and what comes, until it is stopped")]
pub(crate) struct FleetSendArgs {
    /// https://HOST:PORT of a centre that this store has joined. Nothing is removed from this store
    #[arg(value_name = "URL")]
    pub(crate) url: String,
    /// Stay, and send samples as they come; after a failure it is tried again
    #[arg(long)]
    pub(crate) follow: bool,
    /// Print what was sent as JSON
    #[arg(long, conflicts_with = "follow")]
    pub(crate) json: bool,
    /// With --follow, look for new samples this often
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = length, requires = "follow")]
    pub(crate) every: Duration,
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

/// Which repository, and as whom.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    iostall fleet serve 'postgres://iostall@localhost/iostall' --certificate cert.pem --key key.pem\n\n\
    Servers join with a code of `iostall fleet code`, and send with `iostall fleet send https://…`.\n\
    A certificate: openssl req -x509 -newkey ed25519 -nodes -days 3650 -subj /CN=central -keyout key.pem -out cert.pem")]
pub(crate) struct FleetServeArgs {
    /// postgres://USER@HOST/DATABASE of the repository
    #[arg(value_name = "URL")]
    pub(crate) url: String,
    /// Listen on this address
    #[arg(long, value_name = "HOST:PORT", default_value = "0.0.0.0:7444")]
    pub(crate) listen: String,
    /// Show servers this certificate, in PEM form; others may follow it
    #[arg(long, value_name = "FILE")]
    pub(crate) certificate: PathBuf,
    /// The certificate's private key, in PEM form, which only its owner can read
    #[arg(long, value_name = "FILE")]
    pub(crate) key: PathBuf,
    /// Tell Prometheus at http://HOST:PORT/metrics how the centre is, and /healthz; anyone who can reach the address can read it
    #[arg(long, value_name = "HOST:PORT")]
    pub(crate) metrics: Option<String>,
    /// How long to keep raw samples in the repository; hours are kept two years then, and days forever [default: keep everything]
    #[arg(long, value_name = "TIME", value_parser = length)]
    pub(crate) keep_raw: Option<Duration>,
    /// How long to keep runs of servers in the repository, after their end [default: forever]
    #[arg(long, value_name = "TIME", value_parser = length)]
    pub(crate) keep_runs: Option<Duration>,
}

/// Of which servers.
#[derive(Debug, Args)]
pub(crate) struct FleetServerChoice {
    /// postgres://USER@HOST/DATABASE of the repository
    #[arg(value_name = "URL")]
    pub(crate) url: String,
    /// Only of this server: its name, that of its host, or the id of its store
    #[arg(long, value_name = "SERVER")]
    pub(crate) server: Option<String>,
}

/// Of which servers, and which settings.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    iostall fleet settings 'postgres://iostall@localhost/iostall' --name full_page_writes --value off   who has it off?\n  \
    iostall fleet settings 'postgres://iostall@localhost/iostall' --changes --since 7d   what changed anywhere\n  \
    iostall fleet settings 'postgres://iostall@localhost/iostall' --server db1 --diff 2026-11-01..\n\n\
    `iostall fleet send` sends what each server has read of them (iostall collect settings).")]
pub(crate) struct FleetSettingsArgs {
    #[command(flatten)]
    pub(crate) of: FleetServerChoice,
    #[command(flatten)]
    pub(crate) choice: SettingsChoice,
}

/// Of which servers, and which notes.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    iostall fleet notes 'postgres://iostall@localhost/iostall' --since 7d --kind deploy\n\n\
    A note is written and removed on its server (iostall collect note), and `iostall fleet send` sends either.")]
pub(crate) struct FleetNotesArgs {
    #[command(flatten)]
    pub(crate) of: FleetServerChoice,
    #[command(flatten)]
    pub(crate) choice: NotesChoice,
}

/// Of which servers, and which advice.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    iostall fleet advise 'postgres://iostall@localhost/iostall'\n  \
    iostall fleet advise 'postgres://iostall@localhost/iostall' --server db1 --rule fsync-off --json")]
pub(crate) struct FleetAdviseArgs {
    #[command(flatten)]
    pub(crate) of: FleetServerChoice,
    #[command(flatten)]
    pub(crate) choice: AdviseChoice,
}

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
