//! `iostall drive limits`.

use std::path::PathBuf;

use clap::Args;
use iostall_measure::{ByteCount, Nanos};
use iostall_model::limits::LimitsPlan;
use iostall_session::limits::LimitsRequest;

use super::qualify::some_time;
use crate::cli::load::{EngineChoice, OutputArgs, SafetyArgs};

const EXAMPLES: &str = "Examples:
  iostall drive limits --size 8G data.dat                 makes the file, then reads it
  iostall drive limits /dev/nvme1n1                       reads the device, writes nothing
  iostall drive limits --time-limit 40m data.dat          a bucket of credits may last half an hour
  iostall drive limits a/data.dat b/data.dat              is the limit the volume's or the machine's?
  iostall drive limits --write --size 8G data.dat         the limits of writes

A volume that bursts on credits has none left when this is over: a database on it is then as slow as the volume's base rate.
docs/limits.md is the guide.";

/// What to search, and what it may take.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct LimitsArgs {
    /// File, partition or device; with two, whether they share a limit
    #[arg(value_name = "TARGET", required = true, num_args = 1..=2)]
    pub(crate) targets: Vec<PathBuf>,

    /// Write instead of read: everything on the target is overwritten
    #[arg(long, help_heading = "What")]
    write: bool,
    /// Size of a new file; of an existing target, use only this much from its start
    #[arg(long, value_name = "SIZE", help_heading = "What")]
    size: Option<ByteCount>,
    /// Take no longer than this
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = some_time, help_heading = "What")]
    time_limit: Nanos,
    /// Read or write no more than this
    #[arg(long, value_name = "SIZE", default_value = "64G", help_heading = "What")]
    byte_limit: ByteCount,
    /// Requests in flight per worker; of large requests, fewer
    #[arg(long, short = 'Q', value_name = "N", default_value_t = 32, value_parser = clap::value_parser!(u32).range(1..), help_heading = "What")]
    queue_depth: u32,
    /// Threads
    #[arg(long, short = 't', value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..), help_heading = "What")]
    workers: u32,
    /// Seed of the random sequences and data
    #[arg(long, value_name = "N", default_value_t = 0, help_heading = "What")]
    seed: u64,
    /// I/O engine
    #[arg(long, value_name = "ENGINE", default_value = "auto", help_heading = "What")]
    pub(crate) engine: EngineChoice,

    #[command(flatten)]
    safety: SafetyArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    /// Name of the run in the store
    #[arg(long, value_name = "TEXT", default_value = "limits", help_heading = "Output")]
    name: String,
    /// Do not store the run
    #[arg(long, help_heading = "Output")]
    pub(crate) no_store: bool,
}

impl LimitsArgs {
    /// What was typed, as a request.
    pub(crate) fn request(&self) -> LimitsRequest {
        LimitsRequest {
            targets: self.targets.clone(),
            consent: self.safety.consent(),
            plan: LimitsPlan {
                writes: self.write,
                queue_depth: self.queue_depth,
                workers: self.workers,
                size: self.size,
                seed: self.seed,
                time_limit: self.time_limit,
                byte_limit: self.byte_limit,
            },
            name: self.name.clone(),
        }
    }
}
