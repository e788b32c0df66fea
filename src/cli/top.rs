//! `iostall top`.

use std::time::Duration;

use clap::Args;

use super::report::LevelChoice;

/// What is shown live.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    iostall top linux:\n  \
    iostall top --interval 5s linux: 'postgres://iostall@db1/sales?password-file=/etc/iostall/db1'\n  \
    iostall top                           what a running `iostall collect run` samples\n  \
    iostall top --once --json linux:      one interval, for scripts\n\n\
    Keys: 1 to 4 or tab: files, databases, volumes, server · < and >: column to sort by · r: reverse · \
    /: filter · p: pause · + and -: interval · arrows: scroll · q: quit.")]
pub(crate) struct TopArgs {
    /// sqlserver://USER@HOST, postgres://USER@HOST/DATABASE, mysql://USER@HOST or linux: [default: what a
    /// running collector writes to the store]
    #[arg(value_name = "SOURCE")]
    pub(crate) sources: Vec<String>,
    /// From sample to sample, at least 1s
    #[arg(long, short, value_name = "TIME", default_value = "2s", requires = "sources",
        value_parser = super::collect::interval)]
    pub(crate) interval: Duration,
    /// Longest time to wait for a source
    #[arg(long, value_name = "TIME", default_value = "10s", requires = "sources",
        value_parser = super::collect::length)]
    pub(crate) timeout: Duration,
    /// What the counters are summed to first [default: volumes where there are only hosts, else files]
    #[arg(long, value_name = "LEVEL")]
    pub(crate) level: Option<LevelChoice>,
    /// Only what has this in its name
    #[arg(long, value_name = "TEXT")]
    pub(crate) filter: Option<String>,
    /// Print one interval and end
    #[arg(long)]
    pub(crate) once: bool,
    /// With --once: as JSON, like `iostall report --json`
    #[arg(long, requires = "once")]
    pub(crate) json: bool,
}
