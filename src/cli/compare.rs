//! `iostall compare`.

use std::path::PathBuf;

use clap::Args;
use iostall_measure::{ByteCount, Nanos};
use iostall_model::requirement::Requirement;

use super::candidates;
use super::load::{EngineChoice, SafetyArgs};
use super::output::{CheckOutputArgs, of_comparison};

const EXAMPLES: &str = "Examples:
  iostall compare --fresh 5 old.dat new.dat         measures old, new, old, new, … five times each
  iostall compare 1,3,5,7 2,4,6,8                   two sides of four saved runs each
  iostall compare last~1 last                       how two saved runs differ, but no more than that
  iostall compare 12 13 14                          13 and 14, each against 12
  iostall compare --fresh 5 --profile a.toml --profile b.toml data.dat
  iostall compare 1,3,5,7 2,4,6,8 --require no-regression --html change.html
  iostall compare --work before.csv after.csv       jobs and their seconds: name,seconds in each row";

/// What to compare.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct CompareArgs {
    /// Saved runs (12, last, last~1, an id); the others are compared with the first. Join several runs of one
    /// side with commas. With --fresh: the files or devices to measure
    #[arg(value_name = "RUN|FILE", add = candidates::sides())]
    pub(crate) sides: Vec<String>,

    /// Two tables of jobs and their seconds, as CSV: before and after
    #[arg(long, num_args = 2, value_names = ["BEFORE", "AFTER"], conflicts_with_all = ["sides", "fresh"], help_heading = "What")]
    pub(crate) work: Option<Vec<PathBuf>>,
    /// Measure each side this many times, in turn; each run is stored
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), help_heading = "What")]
    pub(crate) fresh: Option<u32>,

    #[command(flatten)]
    pub(crate) load: FreshArgs,
    #[command(flatten)]
    pub(crate) safety: SafetyArgs,

    #[command(flatten)]
    pub(crate) output: CheckOutputArgs,
    /// Write every number of the comparison as CSV; - for standard output instead of the text
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) csv: Option<PathBuf>,
    /// no-regression: exit status 1 if anything is worse by more than chance explains, or if there are too few
    /// samples to say so
    #[arg(long, value_name = "WHAT", value_delimiter = ',', value_parser = of_comparison, help_heading = "Output")]
    pub(crate) require: Vec<Requirement>,
}

/// The load of a fresh comparison.
#[derive(Debug, Args)]
pub(crate) struct FreshArgs {
    /// A built-in profile; if given twice, the two are compared [default: random-read]
    #[arg(
        long,
        value_name = "NAME",
        requires = "fresh",
        conflicts_with = "profile",
        help_heading = "Fresh runs",
        add = candidates::presets()
    )]
    pub(crate) preset: Vec<String>,
    /// A profile of your own; if given twice, the two are compared
    #[arg(long, value_name = "FILE", requires = "fresh", help_heading = "Fresh runs")]
    pub(crate) profile: Vec<PathBuf>,
    /// Size of a new file; of an existing target, use only this much from its start
    #[arg(long, value_name = "SIZE", requires = "fresh", help_heading = "Fresh runs")]
    pub(crate) size: Option<ByteCount>,
    /// Length of the measured part of each run
    #[arg(long, short, value_name = "TIME", requires = "fresh", help_heading = "Fresh runs")]
    pub(crate) duration: Option<Nanos>,
    /// Load before the measured part
    #[arg(long, value_name = "TIME", requires = "fresh", help_heading = "Fresh runs")]
    pub(crate) warmup: Option<Nanos>,
    /// I/O engine
    #[arg(long, value_name = "ENGINE", default_value = "auto", help_heading = "Fresh runs")]
    pub(crate) engine: EngineChoice,
}
