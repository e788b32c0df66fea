//! `iostall sweep`.

use std::path::PathBuf;

use clap::Args;
use iostall_measure::{ByteCount, Caching, Durability, Nanos, Percent};
use iostall_model::profile::{Access, BlockMix, Distribution, Region};

use super::load::{EngineChoice, SafetyArgs, one_of};
use super::output::OutputArgs;
use super::target::target;

const EXAMPLES: &str = "Examples:
  iostall sweep data.dat                            random 8K reads, 1, 2, 4, … in flight, until nothing is gained
  iostall sweep --target-latency 5ms data.dat       the most throughput whose 99th percentile stays within 5 ms
  iostall sweep --block-size 64K --access sequential /dev/nvme1n1
  iostall sweep --write-pct 100 --durability write-through --size 4GiB log.dat
  iostall sweep --max-rate --p99 5ms data.dat       the most requests a second that are answered in time
  iostall sweep --precision 1 --interval 5s --html sweep.html data.dat";

/// What to sweep, and how far.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct SweepArgs {
    /// Files or block devices, loaded together. None: a scratch file in this directory, removed afterwards
    #[arg(value_name = "FILE", value_parser = target())]
    pub(crate) targets: Vec<PathBuf>,

    /// Highest acceptable 99th percentile of the latency
    #[arg(long, value_name = "TIME", help_heading = "What")]
    pub(crate) target_latency: Option<Nanos>,
    /// Instead of a sweep: find the highest open-loop rate (Poisson arrivals) whose response times meet --p99
    #[arg(long, requires = "p99", conflicts_with_all = ["target_latency", "precision", "repeats_max"], help_heading = "What")]
    pub(crate) max_rate: bool,
    /// With --max-rate: the target for the 99th percentile of the response time
    #[arg(long, value_name = "TIME", requires = "max_rate", help_heading = "What")]
    pub(crate) p99: Option<Nanos>,
    /// Size of a new file; of an existing target, use only this much from its start
    #[arg(long, value_name = "SIZE", help_heading = "What")]
    pub(crate) size: Option<ByteCount>,
    /// Seed of the random sequences
    #[arg(long, value_name = "N", default_value_t = 0, help_heading = "What")]
    pub(crate) seed: u64,
    /// I/O engine
    #[arg(long, value_name = "ENGINE", default_value = "auto", help_heading = "What")]
    pub(crate) engine: EngineChoice,
    /// Maximum number of requests in flight, all workers and targets together
    #[arg(long, value_name = "N", default_value_t = 512, help_heading = "What")]
    pub(crate) in_flight_max: u64,
    /// Most threads [default: the number of CPUs, at most 16]
    #[arg(long, value_name = "N", help_heading = "What")]
    pub(crate) workers_max: Option<u32>,

    #[command(flatten)]
    pub(crate) pattern: PatternArgs,
    #[command(flatten)]
    pub(crate) precision: PrecisionArgs,
    #[command(flatten)]
    pub(crate) safety: SafetyArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,

    /// Name of the run in the store
    #[arg(long, value_name = "TEXT", default_value = "sweep", help_heading = "Output")]
    pub(crate) name: String,
    /// Do not store the run
    #[arg(long, help_heading = "Output")]
    pub(crate) no_store: bool,
}

/// The kind of request.
#[derive(Debug, Args)]
pub(crate) struct PatternArgs {
    /// Request size, or a mix: 8K, or 8K:80,64K:20
    #[arg(long, short, value_name = "SIZE", default_value = "8K", help_heading = "Shape")]
    pub(crate) block_size: BlockMix,
    /// Share of writes, 0 to 100
    #[arg(long, short = 'w', value_name = "PERCENT", default_value = "0", help_heading = "Shape")]
    pub(crate) write_pct: Percent,
    /// Random or sequential
    #[arg(long, value_name = "KIND", default_value = "random", help_heading = "Shape", value_parser = one_of::<Access>(&["random", "sequential"]))]
    pub(crate) access: Access,
    /// Distribution of random requests: uniform, zipf:0.99, hot:90/10, ranges:50/10,30/20,20/70
    #[arg(long, value_name = "HOW", help_heading = "Shape")]
    pub(crate) distribution: Option<Distribution>,
    /// Part of the target to use: 0%..90%, 1G..
    #[arg(long, value_name = "FROM..TO", help_heading = "Shape")]
    pub(crate) region: Option<Region>,
    /// direct (bypassing the page cache) or buffered
    #[arg(long, value_name = "MODE", default_value = "direct", help_heading = "Shape", value_parser = one_of::<Caching>(&["direct", "buffered"]))]
    pub(crate) caching: Caching,
    /// none, or write-through (each write on stable media before it completes)
    #[arg(long, value_name = "MODE", default_value = "none", help_heading = "Shape", value_parser = one_of::<Durability>(&["none", "write-through"]))]
    pub(crate) durability: Durability,
}

/// How long and how often each setting is measured.
#[derive(Debug, Args)]
pub(crate) struct PrecisionArgs {
    /// Length of one interval; a setting is measured in several
    #[arg(long, value_name = "TIME", default_value = "1s", help_heading = "Precision")]
    pub(crate) interval: Nanos,
    /// Load before the first interval of a setting
    #[arg(long, value_name = "TIME", default_value = "500ms", help_heading = "Precision")]
    pub(crate) warmup: Nanos,
    /// Half width of the 95 % confidence interval of IOPS, in percent, at which a setting is done
    #[arg(long, value_name = "PERCENT", default_value = "3", help_heading = "Precision")]
    pub(crate) precision: Percent,
    /// Most intervals of a setting, however wide its confidence interval
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..), help_heading = "Precision")]
    pub(crate) repeats_max: u32,
}
