//! What can be typed. No system calls here.

mod compare;
mod load;
mod matrix;
mod runs;
mod sweep;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

pub(crate) use compare::CompareArgs;
pub(crate) use load::{EngineChoice, LoadArgs, OutputArgs, PresetsArgs, TargetBinding};
pub(crate) use matrix::MatrixArgs;
pub(crate) use runs::{RunsArgs, RunsCommand};
pub(crate) use sweep::{PatternArgs, SweepArgs};

/// Load-test, watch, move and judge the storage under database servers.
#[derive(Debug, Parser)]
#[command(name = "iostall", version, about, propagate_version = true, disable_help_subcommand = true)]
#[command(
    after_help = "Exit status: 0 done · 1 done, and the answer is no (requests failed, a threshold was missed) · \
                        2 could not · 130 interrupted, partial results kept."
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: GlobalArgs,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Options of every command.
#[derive(Debug, Args)]
pub(crate) struct GlobalArgs {
    /// Where runs are kept [default: iostall/iostall.db in the XDG data directory]
    #[arg(long, global = true, value_name = "FILE", env = "IOSTALL_STORE", help_heading = "Global options")]
    pub(crate) store: Option<PathBuf>,
    /// Only results and errors: no progress, no notes
    #[arg(long, short, global = true, help_heading = "Global options")]
    pub(crate) quiet: bool,
    /// Colour in reports
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto", help_heading = "Global options")]
    pub(crate) color: ColorChoice,
}

/// When to use colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorChoice {
    /// On a terminal, unless NO_COLOR is set
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Put a database-shaped load on files or devices and measure it
    Load(Box<LoadArgs>),
    /// Raise the load until the storage saturates, and say which setting to use
    Sweep(Box<SweepArgs>),
    /// Measure sizes, patterns and depths in one table, on one device or several side by side
    Matrix(Box<MatrixArgs>),
    /// Hold runs against each other and say which differences are significant
    Compare(Box<CompareArgs>),
    /// List the built-in load profiles, or print one
    Presets(PresetsArgs),
    /// List, show, export and delete the runs that were kept
    Runs(RunsArgs),
}
