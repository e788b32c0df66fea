//! `iostall runs`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use iostall_diskspd::ResultFormats;
use iostall_measure::clock::utc_now;
use jiff::Timestamp;

use super::candidates;
use super::timestamp::timestamp;

/// Manage stored runs.
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Examples:\n  \
    iostall runs                         the newest runs\n  \
    iostall runs --target /data --since 7d\n  \
    iostall runs show last               the newest run's report\n  \
    iostall runs show 12 --html r.html   run 12 as a page\n  \
    iostall runs show 12 --diskspd xml   DiskSpd's report of it once more\n  \
    iostall runs export last~1           the run before it, as JSON\n  \
    iostall runs capacity /dev/sdb       what this device gave, the best that is not in doubt first\n  \
    iostall runs delete 12"
)]
pub(crate) struct RunsArgs {
    #[command(subcommand)]
    pub(crate) command: Option<RunsCommand>,
    #[command(flatten)]
    pub(crate) list: ListArgs,
}

/// Which runs to list.
#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// Only runs with this name
    #[arg(long, value_name = "TEXT", add = candidates::run_names())]
    pub(crate) name: Option<String>,
    /// Only runs on a target whose path contains this
    #[arg(long, value_name = "TEXT")]
    pub(crate) target: Option<String>,
    #[command(flatten)]
    pub(crate) choice: RunListChoice,
}

/// Which runs, wherever they are stored, and in which form.
#[derive(Debug, Args)]
pub(crate) struct RunListChoice {
    /// Only runs started since: a date, a time, or how long ago (7d, 12h)
    #[arg(long, value_name = "WHEN")]
    pub(crate) since: Option<String>,
    /// At most this many, newest first
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) limit: u32,
    /// As JSON
    #[arg(long)]
    pub(crate) json: bool,
}

impl RunListChoice {
    /// Only runs that started at this time or later.
    pub(crate) fn since(&self) -> anyhow::Result<Option<Timestamp>> {
        self.since.as_deref().map(|text| timestamp("--since", text, utc_now())).transpose()
    }
}

/// The verbs.
#[derive(Debug, Subcommand)]
pub(crate) enum RunsCommand {
    /// Show the report of a run
    Show(ShowArgs),
    /// Write a run as a JSON document
    Export(ExportArgs),
    /// Show what each device achieved with each shape of I/O
    Capacity(CapacityArgs),
    /// Delete runs
    Delete(DeleteArgs),
}

/// Which run, and how it is shown.
#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// A number (12), an id or the start of one, last, or last~1
    #[arg(value_name = "RUN", default_value = "last", add = candidates::runs())]
    pub(crate) run: String,
    /// Print DiskSpd's report of a run of `iostall diskspd` again
    #[arg(long, value_name = "FORMAT", help_heading = "Output")]
    pub(crate) diskspd: Option<DiskspdFormat>,
    #[command(flatten)]
    pub(crate) output: super::output::OutputArgs,
}

/// The format of DiskSpd's report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DiskspdFormat {
    /// As -Rtext
    Text,
    /// As -Rxml
    Xml,
}

impl From<DiskspdFormat> for ResultFormats {
    fn from(format: DiskspdFormat) -> Self {
        match format {
            DiskspdFormat::Text => Self::TEXT,
            DiskspdFormat::Xml => Self::XML,
        }
    }
}

/// Which run, and where to.
#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    /// A number (12), an id or the start of one, last, or last~1
    #[arg(value_name = "RUN", add = candidates::runs())]
    pub(crate) run: String,
    /// File to write [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

/// Which device.
#[derive(Debug, Args)]
pub(crate) struct CapacityArgs {
    /// A device (/dev/nvme0n1), or the persistent name shown by --json [default: all]
    #[arg(value_name = "DEVICE")]
    pub(crate) device: Option<String>,
    /// At most this many: of each device and shape first what is not in doubt, the highest rate first
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) limit: u32,
    /// As JSON, with the whole curve
    #[arg(long)]
    pub(crate) json: bool,
}

/// Which runs.
#[derive(Debug, Args)]
pub(crate) struct DeleteArgs {
    /// Numbers or ids
    #[arg(value_name = "RUN", required = true, add = candidates::runs())]
    pub(crate) runs: Vec<String>,
}
