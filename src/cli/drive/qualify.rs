//! `iostall drive qualify`.

use std::path::PathBuf;

use clap::Args;
use iostall_measure::{ByteCount, Nanos};
use iostall_model::qualify::{Purge, QualifyPlan, QualifyScale, QualifyTest};
use iostall_session::qualify::{QualifyRequest, plan_of};

use crate::cli::branches::{Branch, Verb};
use crate::cli::load::{EngineChoice, SafetyArgs, one_of};
use crate::cli::output::RatedOutputArgs;
use crate::cli::target::target;

const EXAMPLES: &str = "Examples:
  iostall drive qualify --quick --size 1G data.dat        seconds; never claims a steady state
  iostall drive qualify --size 64G data.dat --html q.html
  iostall drive qualify --full /dev/nvme1n1 --overwrite /dev/nvme1n1
  iostall drive qualify data.dat --require steady         exit status 1 unless it is steady
  iostall drive qualify --test saturation data.dat        where random writes fall, and to what
  iostall drive qualify --test fast-cache --backup-size 500G data.dat
  iostall drive qualify --resume data.dat                 goes on where Ctrl-C or a crash ended the last one

Everything on the target is overwritten, many times. Before it begins it says how long that takes and how much it writes.
docs/qualify.md is the guide.";

/// A backup's size is only for the test of a fast cache.
pub(in crate::cli) const BRANCHES: Verb = Verb {
    words: &["drive", "qualify"],
    common: &[
        "target",
        "test",
        "quick",
        "standard",
        "full",
        "size",
        "purge",
        "cell",
        "rounds",
        "write_limit",
        "drives",
        "resume",
        "queue_depth",
        "workers",
        "seed",
        "engine",
        "overwrite",
        "destroy_database",
        "destroy",
        "json",
        "html",
        "markdown",
        "junit",
        "csv",
        "require",
        "name",
        "no_store",
    ],
    branches: &[
        Branch {
            line: "drive qualify --test fast-cache TARGET",
            is_taken: |typed| typed.get_one("test") == Some(&QualifyTest::FastCache),
            reads: &["backup_size"],
        },
        Branch { line: "drive qualify TARGET", is_taken: |_| true, reads: &[] },
    ],
};

/// What to load, and how thoroughly.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct QualifyArgs {
    /// File, partition or device
    #[arg(value_name = "TARGET", value_parser = target())]
    pub(crate) target: PathBuf,

    /// iops: random requests of every mix and size, in rounds until they no longer change; saturation: random writes of 4 KiB
    /// without a pause, to find where they fall and to what; throughput: 1 MiB and 128 KiB in order; latency: one request at a
    /// time; idle-recovery: how far pauses bring the drive back; cross-stimulus: large writes before and after small ones; demand:
    /// threads times depth; active-range: 100, 75, 50, 25 and 10 % of it; sizes: 4 against 8 KiB; depth: 1 to 256 in flight;
    /// write-cache: writes with and without write-through; fast-cache: how much the fast part of a TLC or QLC drive holds
    #[arg(long, value_name = "TEST", default_value = "iops", help_heading = "What", value_parser = one_of::<QualifyTest>(&QualifyTest::NAMES))]
    test: QualifyTest,
    #[command(flatten)]
    scale: ScaleArgs,
    /// The active range: size of a new file; of an existing target, use only this much from its start
    #[arg(long, value_name = "SIZE", help_heading = "What")]
    size: Option<ByteCount>,
    /// Before everything: none; discard all that is used of the target (TRIM of a device, holes in a file that iostall made);
    /// format an NVMe drive, which erases its user data; or sanitize, which erases a whole NVMe drive. --size keeps nothing of these two
    #[arg(long, value_name = "HOW", default_value = "none", help_heading = "What", value_parser = one_of::<Purge>(&Purge::NAMES))]
    purge: Purge,
    /// Length of each measurement, instead of that of the scale
    #[arg(long, value_name = "TIME", value_parser = some_time, help_heading = "What")]
    cell: Option<Nanos>,
    /// Most rounds, instead of those of the scale
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000), help_heading = "What")]
    rounds: Option<u32>,
    /// End the rounds when they have written this much
    #[arg(long, value_name = "SIZE", help_heading = "What")]
    write_limit: Option<ByteCount>,
    /// Ratings of models, as for `drive endurance`: says what the test costs of the drive's life
    #[arg(long, value_name = "FILE", help_heading = "What")]
    pub(crate) drives: Option<PathBuf>,
    /// Continue the newest interrupted qualification of this target with the same settings
    #[arg(long, conflicts_with = "no_store", help_heading = "What")]
    pub(crate) resume: bool,
    /// Requests in flight per worker, instead of those of the test: 32; 1 for latency, 8 for fast-cache, up to 256 for depth
    #[arg(long, short = 'Q', value_name = "N", value_parser = clap::value_parser!(u32).range(1..), help_heading = "What")]
    queue_depth: Option<u32>,
    /// Threads, instead of those of the test: 4; 1 in order and for latency and depth, up to 8 or 32 for demand
    #[arg(long, short = 't', value_name = "N", value_parser = clap::value_parser!(u32).range(1..), help_heading = "What")]
    workers: Option<u32>,
    /// With fast-cache: size of a backup that is to be loaded onto the drive, to say how long that takes
    #[arg(long, value_name = "SIZE", help_heading = "What")]
    backup_size: Option<ByteCount>,
    /// Seed of the random sequences and data
    #[arg(long, value_name = "N", default_value_t = 0, help_heading = "What")]
    seed: u64,
    /// I/O engine
    #[arg(long, value_name = "ENGINE", default_value = "auto", help_heading = "What")]
    pub(crate) engine: EngineChoice,

    #[command(flatten)]
    pub(crate) safety: SafetyArgs,
    #[command(flatten)]
    pub(crate) output: RatedOutputArgs,
    /// Name of the run in the store
    #[arg(long, value_name = "TEXT", default_value = "qualify", help_heading = "Output")]
    name: String,
    /// Do not store the run
    #[arg(long, help_heading = "Output")]
    pub(crate) no_store: bool,
}

/// How thoroughly; one of them.
#[derive(Debug, Args)]
#[group(multiple = false)]
struct ScaleArgs {
    /// A second for each of 12 mixes and sizes, 5 rounds (or 60 samples): a minute, and no claim of a steady state
    #[arg(long, help_heading = "What")]
    quick: bool,
    /// 20 seconds for each of 12 mixes and sizes, 10 to 25 rounds (or samples of 5 seconds): the default
    #[arg(long, help_heading = "What")]
    standard: bool,
    /// The specification's minute for each of its 56 mixes and sizes, 10 to 25 rounds: 9 to 23 hours
    #[arg(long, help_heading = "What")]
    full: bool,
}

impl QualifyArgs {
    /// What was typed, as a request.
    pub(crate) fn request(&self, rated_bytes: Option<f64>) -> QualifyRequest {
        let scale = match &self.scale {
            ScaleArgs { quick: true, .. } => QualifyScale::Quick,
            ScaleArgs { full: true, .. } => QualifyScale::Full,
            ScaleArgs { .. } => QualifyScale::Standard,
        };
        let plan = plan_of(self.test, scale);
        QualifyRequest {
            target: self.target.clone(),
            consent: self.safety.consent(),
            rated_bytes,
            name: self.name.clone(),
            plan: QualifyPlan {
                queue_depth: self.queue_depth.unwrap_or(plan.queue_depth),
                workers: self.workers.unwrap_or(plan.workers),
                backup_size: self.backup_size,
                purge: self.purge,
                size: self.size,
                seed: self.seed,
                cell: self.cell.unwrap_or(plan.cell),
                rounds_max: self.rounds.unwrap_or(plan.rounds_max),
                write_limit: self.write_limit,
                ..plan
            },
        }
    }
}

/// A length of time above 0.
pub(super) fn some_bytes(text: &str) -> Result<ByteCount, String> {
    let size: ByteCount = text.parse().map_err(|error| format!("{error}"))?;
    if size.0 == 0 { Err("0 measures nothing: write a size, such as 1G".to_owned()) } else { Ok(size) }
}

pub(super) fn some_time(text: &str) -> Result<Nanos, String> {
    let time: Nanos = text.parse().map_err(|error| format!("{error}"))?;
    if time.0 == 0 { Err("0 measures nothing: write a time, such as 1s".to_owned()) } else { Ok(time) }
}
