//! `iostall top`.

use std::time::Duration;

use clap::Args;

use super::report::LevelChoice;

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
