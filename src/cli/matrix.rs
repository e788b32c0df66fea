//! `iostall matrix`.

use std::path::PathBuf;

use clap::Args;
use iostall_measure::{BlockSize, ByteCount, Caching, Durability};
use iostall_model::profile::Access;

use super::load::{EngineChoice, SafetyArgs, one_of};
use super::output::RatedOutputArgs;
use super::sweep::PrecisionArgs;
use super::target::target;

const EXAMPLES: &str = "Examples:
  iostall matrix --quick data.dat                   the whole table in under a minute
  iostall matrix --sizes 64K,128K --html m.html data.dat
  iostall matrix --read-only /dev/nvme0n1 /dev/sdb  two devices side by side, nothing written
  iostall matrix --overwrite /dev/nvme1n1 /dev/nvme1n1
  iostall matrix --resume data.dat                  goes on where Ctrl-C ended the last one";

/// Which combinations to measure, on what.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct MatrixArgs {
    /// Files or block devices, one column each. None: a scratch file in this directory, removed afterwards
    #[arg(value_name = "FILE", value_parser = target())]
    pub(crate) targets: Vec<PathBuf>,

    /// Sizes of requests
    #[arg(
        long,
        value_name = "SIZE,…",
        value_delimiter = ',',
        default_value = "8K,64K,128K,256K",
        help_heading = "What"
    )]
    pub(crate) sizes: Vec<BlockSize>,
    /// Requests in flight per worker
    #[arg(long, value_name = "N,…", value_delimiter = ',', default_value = "1,8,32", value_parser = clap::value_parser!(u32).range(1..), help_heading = "What")]
    pub(crate) depths: Vec<u32>,
    /// Random, sequential, or both
    #[arg(long, value_name = "KIND,…", value_delimiter = ',', default_value = "random,sequential", value_parser = one_of::<Access>(&["random", "sequential"]), help_heading = "What")]
    pub(crate) access: Vec<Access>,
    /// Only read: do not write to existing data
    #[arg(long, help_heading = "What")]
    pub(crate) read_only: bool,
    /// Threads
    #[arg(long, short = 't', value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..), help_heading = "What")]
    pub(crate) workers: u32,
    /// direct (bypassing the page cache) or buffered
    #[arg(long, value_name = "MODE", default_value = "direct", help_heading = "What", value_parser = one_of::<Caching>(&["direct", "buffered"]))]
    pub(crate) caching: Caching,
    /// none, or write-through (each write on stable media before it completes)
    #[arg(long, value_name = "MODE", default_value = "none", help_heading = "What", value_parser = one_of::<Durability>(&["none", "write-through"]))]
    pub(crate) durability: Durability,
    /// Size of a new file; of an existing target, use only this much from its start
    #[arg(long, value_name = "SIZE", help_heading = "What")]
    pub(crate) size: Option<ByteCount>,
    /// Seed of the random sequences
    #[arg(long, value_name = "N", default_value_t = 0, help_heading = "What")]
    pub(crate) seed: u64,
    /// I/O engine
    #[arg(long, value_name = "ENGINE", default_value = "auto", help_heading = "What")]
    pub(crate) engine: EngineChoice,

    /// One short interval per cell, so that everything takes less than a minute (plus the time to create a
    /// file)
    #[arg(long, conflicts_with_all = ["interval", "warmup", "precision", "repeats_max"], help_heading = "Precision")]
    pub(crate) quick: bool,
    /// Resume the newest interrupted matrix with the same settings, without repeating what it measured
    #[arg(long, help_heading = "Precision")]
    pub(crate) resume: bool,
    #[command(flatten)]
    pub(crate) precision: PrecisionArgs,
    #[command(flatten)]
    pub(crate) safety: SafetyArgs,
    #[command(flatten)]
    pub(crate) output: RatedOutputArgs,

    /// Name of the run in the store
    #[arg(long, value_name = "TEXT", default_value = "matrix", help_heading = "Output")]
    pub(crate) name: String,
    /// Do not store the run
    #[arg(long, conflicts_with = "resume", help_heading = "Output")]
    pub(crate) no_store: bool,
}
