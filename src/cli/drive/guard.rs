//! `iostall drive guard`.

use std::path::PathBuf;

use clap::{ArgGroup, Args};
use iostall_measure::{ByteCount, Nanos, Percent, Rate};
use iostall_model::guard::{DatabaseNear, GuardPlan, PaidFor};
use iostall_session::guard::GuardRequest;
use iostall_store::Selector;

use super::qualify::{some_bytes, some_time};
use crate::cli::load::EngineChoice;
use crate::cli::output::RatedOutputArgs;
use crate::cli::target::target;

const EXAMPLES: &str = "Examples:
  iostall drive guard --size 8G data.dat                  a first run, which is the baseline
  iostall drive guard --baseline 12 data.dat              is it as fast as in run 12? exit status 1 if not
  iostall drive guard --capacity 3000iops,125MB/s data.dat
  iostall drive guard --canary data.dat                   10 seconds at 100 requests a second, if device and databases are quiet
  iostall drive guard --canary --baseline 12 --html c.html data.dat

It reads only. docs/limits.md is the guide.";

/// What to guard, and against what.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, group = ArgGroup::new("compared").args(["baseline", "capacity"]).multiple(true))]
pub(crate) struct GuardArgs {
    /// File, partition or device
    #[arg(value_name = "TARGET", value_parser = target())]
    pub(crate) target: PathBuf,

    /// Compare with this run of `drive guard`: number, id or last; its probes must be alike
    #[arg(long, value_name = "RUN", help_heading = "What")]
    pub(crate) baseline: Option<String>,
    /// What is paid for: requests a second (3000iops), bytes a second (125MB/s), or both
    #[arg(long, value_name = "RATE,…", value_delimiter = ',', help_heading = "What")]
    capacity: Vec<Rate>,
    /// Only 10 probes of a second with 100 requests each, one at a time, and nothing at all if the device is busy, or a database on
    /// its volume that `iostall collect` watches
    #[arg(long, conflicts_with_all = ["capacity", "queue_depth", "workers"], help_heading = "What")]
    pub(crate) canary: bool,
    /// Slower than --baseline or --capacity by this much is no alarm: two runs of one volume differ
    #[arg(long, value_name = "PERCENT", default_value = "5%", requires = "compared", help_heading = "What")]
    tolerance: Percent,
    /// Size of a new file; of an existing target, use only this much from its start
    #[arg(long, value_name = "SIZE", help_heading = "What")]
    size: Option<ByteCount>,
    /// Length of a probe
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = some_time, help_heading = "What")]
    probe: Nanos,
    /// Take no longer than this
    #[arg(long, value_name = "TIME", default_value = "2m", value_parser = some_time, help_heading = "What")]
    time_limit: Nanos,
    /// Read no more than this
    #[arg(long, value_name = "SIZE", default_value = "16G", value_parser = some_bytes, help_heading = "What")]
    byte_limit: ByteCount,
    /// Requests in flight per worker; of large requests, fewer
    #[arg(long, short = 'Q', value_name = "N", default_value_t = 32, value_parser = clap::value_parser!(u32).range(1..), help_heading = "What")]
    queue_depth: u32,
    /// Threads
    #[arg(long, short = 't', value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..), help_heading = "What")]
    workers: u32,
    /// I/O engine
    #[arg(long, value_name = "ENGINE", default_value = "auto", help_heading = "What")]
    pub(crate) engine: EngineChoice,

    #[command(flatten)]
    pub(crate) output: RatedOutputArgs,
    /// Name of the run in the store
    #[arg(long, value_name = "TEXT", default_value = "guard", help_heading = "Output")]
    name: String,
    /// Do not store the run
    #[arg(long, help_heading = "Output")]
    pub(crate) no_store: bool,
}

/// Probes of each size at most, and of a canary.
const PROBES: u32 = 30;
const CANARY_PROBES: u32 = 10;
/// Requests a second of a canary.
const CANARY_IOPS: f64 = 100.0;

impl GuardArgs {
    /// What is paid for; an error where one of the two is there twice.
    pub(crate) fn paid_for(&self) -> anyhow::Result<PaidFor> {
        let mut paid_for = PaidFor::default();
        for rate in &self.capacity {
            let earlier = match rate {
                Rate::Iops(iops) => paid_for.iops.replace(*iops),
                Rate::BytesPerSecond(bytes) => paid_for.bytes_per_s.replace(*bytes),
            };
            anyhow::ensure!(
                earlier.is_none(),
                "--capacity has two numbers of one kind: {rate} and another one"
            );
        }
        Ok(paid_for)
    }

    /// What was typed, as a request.
    pub(crate) fn request(
        &self,
        paid_for: PaidFor,
        baseline: Option<Selector>,
        databases: Vec<DatabaseNear>,
    ) -> GuardRequest {
        GuardRequest {
            target: self.target.clone(),
            baseline,
            paid_for,
            databases,
            plan: GuardPlan {
                queue_depth: if self.canary { 1 } else { self.queue_depth },
                workers: self.workers,
                size: self.size,
                probe: self.probe,
                probes_max: if self.canary { CANARY_PROBES } else { PROBES },
                rate_iops: self.canary.then_some(CANARY_IOPS),
                time_limit: self.time_limit,
                byte_limit: self.byte_limit,
                tolerance: self.tolerance.fraction(),
            },
            name: self.name.clone(),
        }
    }
}
