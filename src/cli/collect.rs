//! `iostall collect`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use iostall_collect::{Engine, Filter};
use iostall_watch::WrittenPush;
use jiff::SignedDuration;

use super::notes::{NoteArgs, NotesArgs};
use super::settings::{AdviseArgs, SettingsArgs};

/// Sampling.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    iostall collect once linux:\n  \
    iostall collect run --interval 5s linux: 'postgres://iostall@db1/sales?password-file=/etc/iostall/db1'\n  \
    iostall collect run --metrics 127.0.0.1:9497 linux:\n  \
    iostall collect run --remote-write https://metrics.example.com/api/v1/write --push-token-file /etc/iostall/token linux:\n  \
    iostall collect run --otlp https://otel.example.com:4318 --push-label deployment.environment.name=prod linux:\n  \
    iostall collect run --config collector.toml          sources, jobs and alerts from a file\n  \
    iostall collect grants postgres\n\n\
    A URL never contains a password: write ?password-file=PATH, ?password-env=NAME or ?password=prompt.\n\
    TLS: on by default except to this machine; ?tls=off, ?tls=unverified, ?ca=FILE.\n\
    SQL Server: ?auth=managed-identity, service-principal, entra or integrated; docs/watch.md explains them.\n\
    Connection strings of ADO, ODBC, JDBC and libpq work too, without their password.")]
pub(crate) struct CollectArgs {
    #[command(subcommand)]
    pub(crate) command: CollectCommand,
}

/// The verbs.
#[derive(Debug, Subcommand)]
pub(crate) enum CollectCommand {
    /// Take one sample of each source and store it
    Once(OnceArgs),
    /// Sample at regular intervals until stopped
    Run(Box<RunArgs>),
    /// Check a collector file and list its content
    Check(CheckArgs),
    /// List the jobs of a collector file with their last runs, or print them as systemd timers
    Jobs(JobsArgs),
    /// Import what the management database in a SQL Server (tsql/) sampled there
    Import(ImportArgs),
    /// Note what was done, such as a deployment; reports show it beside the stall
    Note(NoteArgs),
    /// List what was noted, or remove some of it
    Notes(NotesArgs),
    /// Show how servers and hosts are set, how they were, and what changed
    Settings(SettingsArgs),
    /// Say what could be set better, by named rules, each with its evidence and its source
    Advise(AdviseArgs),
    /// Print the statements that grant a login exactly the privileges it needs
    Grants(GrantsArgs),
}

/// Which sources.
#[derive(Debug, Args)]
pub(crate) struct OnceArgs {
    /// sqlserver://USER@HOST, postgres://USER@HOST/DATABASE, mysql://USER@HOST, linux: or smart:/dev/nvme0
    #[arg(value_name = "SOURCE", required = true)]
    pub(crate) sources: Vec<String>,
    /// Longest time to wait for a source
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = length)]
    pub(crate) timeout: Duration,
    /// Only this database; may be repeated
    #[arg(long, value_name = "NAME")]
    pub(crate) database: Vec<String>,
    /// Only files, tables or devices whose name contains this; may be repeated
    #[arg(long, value_name = "TEXT")]
    pub(crate) file: Vec<String>,
    /// Leave out the tables and indexes of PostgreSQL's own catalogs
    #[arg(long)]
    pub(crate) without_catalogs: bool,
}

/// Which sources, how often and how long.
#[derive(Debug, Args)]
#[command(mut_arg("sources", |arg| arg.required(false).required_unless_present("config")))]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) what: OnceArgs,
    /// Sources, jobs and alerts from this file instead; docs/watch.md explains it
    #[arg(long, short, value_name = "FILE", conflicts_with_all = ["sources", "timeout", "database", "file", "without_catalogs", "interval",
          "keep_raw", "metrics", "remote_write", "otlp", "alerts"])]
    pub(crate) config: Option<PathBuf>,
    /// Time between samples, at least 1s; samples are aligned to whole multiples of it
    #[arg(long, short, value_name = "TIME", default_value = "10s", value_parser = interval)]
    pub(crate) interval: Duration,
    /// How long [default: until stopped]
    #[arg(long, short, value_name = "TIME", value_parser = length)]
    pub(crate) duration: Option<Duration>,
    /// How long to keep raw samples; hourly and daily roll-ups stay
    #[arg(long, value_name = "TIME", default_value = "336h", value_parser = length)]
    pub(crate) keep_raw: Duration,
    /// Serve the current values to Prometheus at http://HOST:PORT/metrics; anyone who can reach the address
    /// can read them
    #[arg(long, value_name = "HOST:PORT")]
    pub(crate) metrics: Option<String>,
    /// Also send samples to this Prometheus remote-write receiver, from the store: what it misses is sent later
    #[arg(long, value_name = "URL", group = "receiver", help_heading = "Receiver of samples")]
    pub(crate) remote_write: Option<String>,
    /// The same by OpenTelemetry's protocol: http or https, usually port 4318
    #[arg(long, value_name = "URL", group = "receiver", help_heading = "Receiver of samples")]
    pub(crate) otlp: Option<String>,
    /// File with a token, sent as Authorization: Bearer
    #[arg(
        long,
        value_name = "FILE",
        requires = "receiver",
        conflicts_with = "push_user",
        help_heading = "Receiver of samples"
    )]
    pub(crate) push_token_file: Option<PathBuf>,
    /// User of the receiver
    #[arg(long, value_name = "NAME", requires_all = ["receiver", "push_password_file"], help_heading = "Receiver of samples")]
    pub(crate) push_user: Option<String>,
    /// File with this user's password
    #[arg(long, value_name = "FILE", requires = "push_user", help_heading = "Receiver of samples")]
    pub(crate) push_password_file: Option<PathBuf>,
    /// Also accept certificates signed by the authorities in this file (PEM)
    #[arg(long, value_name = "FILE", requires = "receiver", help_heading = "Receiver of samples")]
    pub(crate) push_certificate: Option<PathBuf>,
    /// Label of every series; may be repeated [default: job=iostall, instance=the name of this host]
    #[arg(long, value_name = "NAME=VALUE", requires = "receiver", value_parser = label, help_heading = "Receiver of samples")]
    pub(crate) push_label: Vec<(String, String)>,
    /// How long samples wait for the receiver; older ones are not sent
    #[arg(long, value_name = "TIME", default_value = "24h", requires = "receiver", value_parser = length, help_heading = "Receiver of samples")]
    pub(crate) push_backlog: Duration,
    /// Also send the latencies of load tests that this store gets from now on, as exponential histograms; only with --otlp
    #[arg(long, requires = "otlp", help_heading = "Receiver of samples")]
    pub(crate) push_runs: bool,
    /// Apply the alert rules in this file and send notifications: see `iostall alerts`
    #[arg(long, value_name = "FILE")]
    pub(crate) alerts: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// TOML file with sources, jobs and alerts
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    iostall collect jobs collector.toml\n  \
    iostall collect jobs collector.toml --systemd /etc/systemd/system\n  \
    iostall collect jobs collector.toml --systemd -       to standard output\n\n\
    A collector with the same file also runs the jobs. Use either its file or the timers, not both.")]
pub(crate) struct JobsArgs {
    /// TOML file with sources, jobs and alerts
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Write a service and a timer for each job into this directory; - is standard output
    #[arg(long, value_name = "DIR")]
    pub(crate) systemd: Option<PathBuf>,
}

/// From where.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    iostall collect import 'sqlserver://iostall@sql1/iostall?password-file=/etc/iostall/sql1'\n\n\
    Run again, it fetches what came since. Samples that were taken with a filter become a source of their own.")]
pub(crate) struct ImportArgs {
    /// sqlserver://USER@HOST/DATABASE, with the database that contains the schema iostall
    #[arg(value_name = "SOURCE")]
    pub(crate) source: String,
    /// Nothing older than this: a date, a time, or how long ago [default: everything]
    #[arg(long, value_name = "WHEN")]
    pub(crate) since: Option<String>,
    /// Longest time to wait for an answer
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = length)]
    pub(crate) timeout: Duration,
}

/// For what.
#[derive(Debug, Args)]
pub(crate) struct GrantsArgs {
    /// Kind of source
    pub(crate) engine: SourceChoice,
}

/// The kinds of source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SourceChoice {
    /// SQL Server and Azure SQL
    Sqlserver,
    /// PostgreSQL
    Postgres,
    /// MySQL and MariaDB
    Mysql,
    /// The Linux host
    Linux,
    /// Solid-state drives
    Smart,
}

impl OnceArgs {
    /// Which rows to keep.
    pub(crate) fn filter(&self) -> Filter {
        Filter {
            databases: self.database.clone(),
            names: self.file.clone(),
            is_without_catalogs: self.without_catalogs,
            kinds: Vec::new(),
        }
    }
}

impl From<SourceChoice> for Engine {
    fn from(choice: SourceChoice) -> Self {
        match choice {
            SourceChoice::Sqlserver => Self::SqlServer,
            SourceChoice::Postgres => Self::Postgres,
            SourceChoice::Mysql => Self::Mysql,
            SourceChoice::Linux => Self::Linux,
            SourceChoice::Smart => Self::Smart,
        }
    }
}

impl RunArgs {
    /// The receiver of samples, if one is named.
    pub(crate) fn push(&self) -> Option<WrittenPush> {
        let (remote_write, otlp) = (self.remote_write.clone(), self.otlp.clone());
        let is_named = remote_write.is_some() || otlp.is_some();
        is_named.then(|| WrittenPush {
            remote_write,
            otlp,
            token_file: self.push_token_file.clone(),
            user: self.push_user.clone(),
            password_file: self.push_password_file.clone(),
            certificate: self.push_certificate.clone(),
            labels: self.push_label.iter().cloned().collect(),
            backlog: Some(self.push_backlog),
            runs: self.push_runs,
        })
    }
}

/// A label such as `site=zurich`.
fn label(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("write NAME=VALUE, such as site=zurich")?;
    Ok((name.to_owned(), value.to_owned()))
}

/// A duration such as 500ms, 10s, 5m or 36h.
pub(crate) fn length(text: &str) -> Result<Duration, String> {
    let parsed = text.parse::<SignedDuration>().ok().and_then(|length| Duration::try_from(length).ok());
    parsed
        .filter(|length| !length.is_zero())
        .ok_or_else(|| "write a length of time such as 10s, 5m or 36h".into())
}

/// A duration that is valid as a sampling interval.
pub(crate) fn interval(text: &str) -> Result<Duration, String> {
    let interval = length(text)?;
    if interval < Duration::from_secs(1) { Err("the shortest interval is 1s".into()) } else { Ok(interval) }
}
