//! `iostall drive limits`.

use std::path::PathBuf;

use clap::Args;
use iostall_measure::{ByteCount, Nanos};
use iostall_model::limits::{LimitsPlan, LimitsTask};
use iostall_session::limits::LimitsRequest;

use super::qualify::{some_bytes, some_time};
use crate::cli::branches::{Branch, Verb, is_typed};
use crate::cli::load::{EngineChoice, SafetyArgs};
use crate::cli::output::SeriesOutputArgs;
use crate::cli::rate::bytes_per_second;
use crate::cli::target::target;

const EXAMPLES: &str = "Examples:
  iostall drive limits --size 8G data.dat                 makes the file, then reads it
  iostall drive limits /dev/nvme1n1                       reads the device, writes nothing
  iostall drive limits --time-limit 40m data.dat          a bucket of credits may last half an hour
  iostall drive limits a/data.dat b/data.dat              is the limit the volume's or the machine's?
  iostall drive limits --write --size 8G data.dat         the limits of writes
  iostall drive limits --first-reads /dev/nvme1n1         is it still being filled from its snapshot?
  iostall drive limits --read-all --limit 200MB/s /dev/nvme1n1   fills it: reads every block once
  iostall drive limits --vendor-log /dev/nvme1n1          was more asked of it than it allows? (Amazon EBS, as root)
  iostall drive limits --read-all --resume /dev/nvme1n1   goes on where Ctrl-C ended the last one

A volume that bursts on credits has none left when this is over: a database on it is then as slow as the volume's base rate.
docs/limits.md is the guide.";

/// Only the log of a volume is read, or every block once, or first reads: each reads less than a search does.
pub(in crate::cli) const BRANCHES: Verb = Verb {
    words: &["drive", "limits"],
    common: &["targets", "json", "html", "markdown", "csv", "name", "no_store"],
    branches: &[
        Branch {
            line: "drive limits --vendor-log TARGET",
            is_taken: |typed| is_typed(typed, "vendor_log"),
            reads: &["vendor_log"],
        },
        Branch {
            line: "drive limits --read-all TARGET",
            is_taken: |typed| is_typed(typed, "read_all"),
            reads: &["read_all", "limit", "resume", "queue_depth", "workers", "engine"],
        },
        Branch {
            line: "drive limits --first-reads TARGET",
            is_taken: |typed| is_typed(typed, "first_reads"),
            reads: &["first_reads", "size", "time_limit", "byte_limit", "seed", "engine"],
        },
        Branch {
            line: "drive limits --write TARGET",
            is_taken: |typed| is_typed(typed, "write"),
            reads: &[
                "write",
                "size",
                "time_limit",
                "byte_limit",
                "queue_depth",
                "workers",
                "seed",
                "engine",
                "overwrite",
                "destroy_database",
                "destroy",
            ],
        },
        Branch {
            line: "drive limits TARGET",
            is_taken: |_| true,
            reads: &["size", "time_limit", "byte_limit", "queue_depth", "workers", "seed", "engine"],
        },
    ],
};

/// What to search, and what it may take.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct LimitsArgs {
    /// File, partition or device; with two, whether they share a limit
    #[arg(value_name = "TARGET", value_parser = target(), required = true, num_args = 1..=2)]
    pub(crate) targets: Vec<PathBuf>,

    /// Write instead of read: everything on the target is overwritten
    #[arg(long, help_heading = "What")]
    write: bool,
    /// Only compare first reads with second ones, which takes seconds: is the volume still being filled from its snapshot?
    #[arg(long, conflicts_with = "write", help_heading = "What")]
    first_reads: bool,
    /// Only read every block once, so that a volume restored from a snapshot is filled
    #[arg(long, conflicts_with_all = ["write", "first_reads", "time_limit", "byte_limit", "size"], help_heading = "What")]
    read_all: bool,
    /// Only read the volume's own log (NVMe volumes of Amazon EBS): how long was more asked of it than it allows? TARGET is the device, or a
    /// saved log; of two saved ones, what came in between
    #[arg(long, conflicts_with_all = ["write", "first_reads", "read_all", "time_limit", "byte_limit", "size"], help_heading = "What")]
    vendor_log: bool,
    /// Read every block no faster than this, such as 200MB/s
    #[arg(long, value_name = "RATE", requires = "read_all", value_parser = bytes_per_second, help_heading = "What")]
    limit: Option<u64>,
    /// Continue the newest interrupted reading of every block of this target
    #[arg(long, requires = "read_all", conflicts_with = "no_store", help_heading = "What")]
    pub(crate) resume: bool,
    /// Size of a new file; of an existing target, use only this much from its start
    #[arg(long, value_name = "SIZE", help_heading = "What")]
    size: Option<ByteCount>,
    /// Take no longer than this
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = some_time, help_heading = "What")]
    time_limit: Nanos,
    /// Read or write no more than this
    #[arg(long, value_name = "SIZE", default_value = "64G", value_parser = some_bytes, help_heading = "What")]
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
    pub(crate) output: SeriesOutputArgs,
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
                task: self.task(),
                writes: self.write,
                queue_depth: self.queue_depth,
                workers: self.workers,
                size: self.size,
                seed: self.seed,
                time_limit: self.time_limit,
                byte_limit: self.byte_limit,
                bytes_per_s: self.limit.map(|rate| rate as f64),
            },
            name: self.name.clone(),
        }
    }

    fn task(&self) -> LimitsTask {
        if self.vendor_log {
            LimitsTask::VendorLog
        } else if self.read_all {
            LimitsTask::ReadAll
        } else if self.first_reads {
            LimitsTask::FirstReads
        } else if self.write {
            // What is written is no longer what a snapshot has.
            LimitsTask::Search
        } else {
            LimitsTask::Whole
        }
    }
}
