//! `iostall report` and `iostall top`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use iostall_model::Level;
use iostall_model::requirement::Requirement;
use iostall_watch::windows::Order;

/// What to report about watched sources.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    iostall report files --since 1h              the files that were waited for longest first\n  \
    iostall report volumes --over 20ms --sustained 5m\n  \
    iostall report files --since 24h --require 'stall<20ms' --junit stall.xml\n  \
    iostall report databases --since 2026-11-01 --until 2026-11-08 --csv week.csv\n  \
    iostall report files --since 8h --html files.html\n  \
    iostall report files --since 8h --every 1m --csv files.csv\n  \
    iostall report files --before 2026-11-18T08:00Z..2026-11-18T18:00Z --after 2026-11-19T08:00Z..2026-11-19T18:00Z\n  \
    iostall report volumes --before 3h..2h --after 1h.. --html change.html\n\n\
    Exit status 1: with --over, something was above it for the sustained time; with --require, it did not hold.")]
pub(crate) struct ReportArgs {
    /// Level at which counters are summed
    pub(crate) level: LevelChoice,
    /// Only sources whose name contains this
    #[arg(long, value_name = "TEXT", add = super::candidates::sources())]
    pub(crate) source: Option<String>,
    /// Start: a date, a time, or how long ago
    #[arg(long, value_name = "WHEN", default_value = "1h")]
    pub(crate) since: String,
    /// End [default: now]
    #[arg(long, value_name = "WHEN")]
    pub(crate) until: Option<String>,
    /// Compare two windows: the one before a change, as WHEN..WHEN
    #[arg(long, value_name = "WINDOW", requires = "after", conflicts_with_all = ["since", "until", "over", "sustained"])]
    pub(crate) before: Option<String>,
    /// The one after it; without an end, up to now
    #[arg(long, value_name = "WINDOW", requires = "before", conflicts_with_all = ["since", "until", "over", "sustained"])]
    pub(crate) after: Option<String>,
    /// Stall per I/O that is too long, such as 20ms
    #[arg(long, value_name = "TIME", value_parser = super::collect::length)]
    pub(crate) over: Option<Duration>,
    /// Minimum time over that limit without a break
    #[arg(long, value_name = "TIME", requires = "over", value_parser = super::collect::length)]
    pub(crate) sustained: Option<Duration>,
    /// At most this many groups of each source, worst first [default: 20 on the screen and the page, all in files]
    #[arg(long, value_name = "N")]
    pub(crate) top: Option<usize>,
    /// What is worse
    #[arg(long, value_name = "ORDER", default_value = "stall-time", conflicts_with_all = ["before", "after"])]
    pub(crate) sort: SortChoice,
    /// A row for each group and time in the CSV, from one whole multiple of this to the next
    #[arg(long, value_name = "TIME", requires = "csv", value_parser = super::collect::interval,
          conflicts_with_all = ["before", "over", "html", "json"])]
    pub(crate) every: Option<Duration>,
    /// As an HTML page with charts, which needs no network; - is standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// As CSV, every column; - is standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) csv: Option<PathBuf>,
    /// As JSON; - is standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// As Markdown, for pasting into a ticket; - is standard output
    #[arg(long, value_name = "FILE", conflicts_with = "every")]
    pub(crate) markdown: Option<PathBuf>,
    /// Each requirement as a test case in JUnit's XML, for a pipeline; - is standard output
    #[arg(long, value_name = "FILE", conflicts_with_all = ["before", "every"])]
    pub(crate) junit: Option<PathBuf>,
    /// Exit status 1 unless all of these hold: [NAME.]iops, throughput or stall (a read or write), with <, <=, >
    /// or >=, such as 'stall<20ms,sales.iops<3000'. Without NAME every group has to
    #[arg(long, value_name = "LIMIT,…", value_delimiter = ',', value_parser = super::output::of_window,
          conflicts_with_all = ["before", "every"])]
    pub(crate) require: Vec<Requirement>,
}

/// What is worse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SortChoice {
    /// More time waited each second
    StallTime,
    /// More time waited for each I/O, among those with at least 100 of them
    StallPerIo,
}

impl From<SortChoice> for Order {
    fn from(choice: SortChoice) -> Self {
        match choice {
            SortChoice::StallTime => Self::StallTime,
            SortChoice::StallPerIo => Self::StallPerIo,
        }
    }
}

/// The levels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LevelChoice {
    /// Files, tables and indexes
    Files,
    /// Databases
    Databases,
    /// Volumes and devices
    Volumes,
    /// Whole servers
    Server,
}

impl From<LevelChoice> for Level {
    fn from(choice: LevelChoice) -> Self {
        match choice {
            LevelChoice::Files => Self::Files,
            LevelChoice::Databases => Self::Databases,
            LevelChoice::Volumes => Self::Volumes,
            LevelChoice::Server => Self::Server,
        }
    }
}

/// What to show live.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    iostall top linux:\n  \
    iostall top --interval 5s linux: 'postgres://iostall@db1/sales?password-file=/etc/iostall/db1'\n  \
    iostall top                           what a running `iostall collect run` samples\n  \
    iostall top --at 03:10                what was stored at that time, to step through from there\n  \
    iostall top --once --json linux:      one interval, for scripts\n\n\
    Keys: arrows: select · enter: look into the row · 1 to 4 or tab: files, databases, volumes, server · \
    < and >: column to sort by · r: reverse · /: filter · a: also idle rows and loop devices · \
    [ and ]: one sample back and forward · { and }: one hour · n: now · p: pause · + and -: interval · ?: help · q: quit.")]
pub(crate) struct TopArgs {
    /// sqlserver://USER@HOST, postgres://USER@HOST/DATABASE, mysql://USER@HOST or linux: [default: what a
    /// running collector writes to the store]
    #[arg(value_name = "SOURCE")]
    pub(crate) sources: Vec<String>,
    /// Time between samples, at least 1s
    #[arg(long, short, value_name = "TIME", default_value = "2s", requires = "sources",
        value_parser = super::collect::interval)]
    pub(crate) interval: Duration,
    /// Longest time to wait for a source
    #[arg(long, value_name = "TIME", default_value = "10s", requires = "sources",
        value_parser = super::collect::length)]
    pub(crate) timeout: Duration,
    /// Level at which counters are summed first [default: volumes if all sources are hosts, else files]
    #[arg(long, value_name = "LEVEL")]
    pub(crate) level: Option<LevelChoice>,
    /// Only rows whose name contains this
    #[arg(long, value_name = "TEXT")]
    pub(crate) filter: Option<String>,
    /// Also show idle rows and loop devices
    #[arg(long)]
    pub(crate) all: bool,
    /// Show what a collector stored at that time, and step through its samples from there: 03:10, 2026-11-01T08:00, or how
    /// long ago (2h)
    #[arg(long, value_name = "TIME", conflicts_with = "sources")]
    pub(crate) at: Option<String>,
    /// Print one interval and exit
    #[arg(long)]
    pub(crate) once: bool,
    /// With --once: as JSON, like `iostall report --json`
    #[arg(long, requires = "once")]
    pub(crate) json: bool,
}
