//! `iostall load`.

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use iostall_load::preset::presets;
use iostall_measure::{ByteCount, Caching, Durability, Nanos, Percent, Rate};
use iostall_model::profile::{Access, Arrivals, BlockMix, Distribution, Region};
use iostall_session::targets::{TargetBinding, WriteConsent};

use super::output::OutputArgs;
use super::target::{named, target};

const EXAMPLES: &str = "Examples:
  iostall load                                      a scratch file here, the oltp preset, removed afterwards
  iostall load --preset oltp --size 8GiB data.dat   makes data.dat where it is not there
  iostall load --preset random-read --size 1GiB --duration 10s --warmup 2s --json out.json --html out.html data.dat
  iostall load --preset log-write --rate 1000 --arrivals poisson log.dat
  iostall load --block-size 64K --queue-depth 32 --workers 2 /dev/nvme1n1     reads need no flag
  iostall load --preset oltp --overwrite /dev/nvme1n1 /dev/nvme1n1            writes name what they may destroy
  iostall load --preset postgres --target log=/wal/t.dat /data/t.dat
  iostall load --profile mine.toml /data/t.dat
  iostall load --fio nightly.fio                    fio's jobs, on the files that they name
  iostall load --preset oltp --require 'log.p99<1ms,data.iops>3000' --junit t.xml /data/t.dat     a test of a pipeline

Sizes: K, M, G, T are powers of 1024; KB, MB, GB powers of 1000. Times need a unit: 10s, 5m, 500ms.";

/// What to load, how, and for how long.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct LoadArgs {
    /// Files or block devices. None: a scratch file in this directory, removed afterwards
    #[arg(value_name = "FILE", value_parser = target())]
    pub(crate) targets: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) what: WhatArgs,
    #[command(flatten)]
    pub(crate) shape: ShapeArgs,
    #[command(flatten)]
    pub(crate) safety: SafetyArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,

    /// Name of the run in the store [default: the profile's]
    #[arg(long, value_name = "TEXT", help_heading = "Output")]
    pub(crate) name: Option<String>,
    /// Do not store the run
    #[arg(long, help_heading = "Output")]
    pub(crate) no_store: bool,
}

/// Profile, time and targets.
#[derive(Debug, Args)]
pub(crate) struct WhatArgs {
    /// A built-in profile (`iostall profile list`) [default: random-read; oltp if no FILE is given]
    #[arg(long, value_name = "NAME", conflicts_with = "profile", help_heading = "What", value_parser = preset_name())]
    pub(crate) preset: Option<String>,
    /// A profile of your own in TOML (see docs/load.md)
    #[arg(long, value_name = "FILE", help_heading = "What")]
    pub(crate) profile: Option<PathBuf>,
    /// A job file of fio's, or - for standard input: its jobs are roles, on the files that they name or on FILE
    #[arg(long, value_name = "JOBS", conflicts_with_all = ["preset", "profile"], help_heading = "What")]
    pub(crate) fio: Option<PathBuf>,
    /// Use PATH for the roles that refer to NAME, such as log=/log/t.dat
    #[arg(long = "target", value_name = "NAME=PATH", value_parser = binding, help_heading = "What")]
    pub(crate) bindings: Vec<TargetBinding>,
    /// Size of a new file; of an existing target, use only this much from its start
    #[arg(long, value_name = "SIZE", help_heading = "What")]
    pub(crate) size: Option<ByteCount>,
    /// Length of the measured part
    #[arg(long, short, value_name = "TIME", help_heading = "What")]
    pub(crate) duration: Option<Nanos>,
    /// Load before the measured part
    #[arg(long, value_name = "TIME", help_heading = "What")]
    pub(crate) warmup: Option<Nanos>,
    /// Load after the measured part
    #[arg(long, value_name = "TIME", help_heading = "What")]
    pub(crate) cooldown: Option<Nanos>,
    /// Seed of the random sequences: the same seed gives the same requests
    #[arg(long, value_name = "N", help_heading = "What")]
    pub(crate) seed: Option<u64>,
    /// I/O engine
    #[arg(long, value_name = "ENGINE", default_value = "auto", help_heading = "What")]
    pub(crate) engine: EngineChoice,
}

/// Changes to the profile's roles.
#[derive(Debug, Args)]
pub(crate) struct ShapeArgs {
    /// The role that the options of this group change, if the profile has several
    #[arg(long, value_name = "NAME", help_heading = "Shape")]
    pub(crate) role: Option<String>,
    /// Request size, or a mix: 8K, or 8K:80,64K:20
    #[arg(long, short, aliases = ["bs", "blocksize"], value_name = "SIZE", help_heading = "Shape")]
    pub(crate) block_size: Option<BlockMix>,
    /// Requests in flight per worker and target
    #[arg(long, short = 'Q', alias = "iodepth", value_name = "N", help_heading = "Shape")]
    pub(crate) queue_depth: Option<u32>,
    /// Completions that a worker waits for at once: less CPU time a request, but a latency includes the wait for the others
    #[arg(long, value_name = "N", help_heading = "Shape")]
    pub(crate) batch: Option<u32>,
    /// The longest that a completion waits for the others of its batch [default: 1ms]
    #[arg(long, value_name = "TIME", requires = "batch", help_heading = "Shape")]
    pub(crate) batch_wait: Option<Nanos>,
    /// Threads
    #[arg(long, short = 't', alias = "numjobs", value_name = "N", help_heading = "Shape")]
    pub(crate) workers: Option<u32>,
    /// Share of writes, 0 to 100
    #[arg(long, short = 'w', value_name = "PERCENT", help_heading = "Shape")]
    pub(crate) write_pct: Option<Percent>,
    /// Random or sequential
    #[arg(long, value_name = "KIND", help_heading = "Shape", value_parser = one_of::<Access>(&["random", "sequential"]))]
    pub(crate) access: Option<Access>,
    /// With random access: share of requests that jump; the others continue where the last one ended
    #[arg(long, value_name = "PERCENT", help_heading = "Shape")]
    pub(crate) random_pct: Option<Percent>,
    /// Distribution of random requests: uniform, zipf:0.99, hot:90/10, ranges:50/10,30/20,20/70
    #[arg(long, value_name = "HOW", help_heading = "Shape")]
    pub(crate) distribution: Option<Distribution>,
    /// Part of the target to use: 0%..90%, 1G..
    #[arg(long, value_name = "FROM..TO", help_heading = "Shape")]
    pub(crate) region: Option<Region>,
    /// With sequential access: distance between starts [default: the block size]
    #[arg(long, value_name = "SIZE", help_heading = "Shape")]
    pub(crate) stride: Option<ByteCount>,
    /// Open loop: start this many requests or bytes a second, however fast the storage answers (1000, 20k,
    /// 200MiB/s)
    #[arg(long, value_name = "RATE", help_heading = "Shape")]
    pub(crate) rate: Option<Rate>,
    /// With --rate: constant, or poisson, which is how independent users arrive
    #[arg(long, value_name = "KIND", help_heading = "Shape", value_parser = one_of::<Arrivals>(&["constant", "poisson"]))]
    pub(crate) arrivals: Option<Arrivals>,
    /// direct (bypassing the page cache) or buffered
    #[arg(long, value_name = "MODE", help_heading = "Shape", value_parser = one_of::<Caching>(&["direct", "buffered"]))]
    pub(crate) caching: Option<Caching>,
    /// none, or write-through (each write on stable media before it completes)
    #[arg(long, value_name = "MODE", help_heading = "Shape", value_parser = one_of::<Durability>(&["none", "write-through"]))]
    pub(crate) durability: Option<Durability>,
    /// fdatasync after this many writes of a worker; 0: never
    #[arg(long, value_name = "N", help_heading = "Shape")]
    pub(crate) sync_every: Option<u32>,
    /// Share of each written block that a device could compress
    #[arg(long, value_name = "PERCENT", help_heading = "Shape")]
    pub(crate) compressible_pct: Option<Percent>,
}

/// What may be overwritten. Reads need none of these.
#[derive(Debug, Args)]
pub(crate) struct SafetyArgs {
    /// Allow writing to this file or device, which iostall did not create; repeatable
    #[arg(long, value_name = "PATH", help_heading = "Safety")]
    pub(crate) overwrite: Vec<PathBuf>,
    /// Allow overwriting this database file, which is then lost; repeatable
    #[arg(long, value_name = "PATH", help_heading = "Safety")]
    pub(crate) destroy_database: Vec<PathBuf>,
    /// Allow overwriting this device although it has a file system, a partition table or similar on it;
    /// repeatable
    #[arg(long, value_name = "DEVICE", help_heading = "Safety")]
    pub(crate) destroy: Vec<PathBuf>,
}

impl SafetyArgs {
    /// The user's word.
    pub(crate) fn consent(&self) -> WriteConsent {
        WriteConsent {
            overwrite: self.overwrite.clone(),
            destroy_database: self.destroy_database.clone(),
            destroy_signature: self.destroy.clone(),
        }
    }
}

/// Which engine to use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum EngineChoice {
    /// io_uring if the kernel allows it, otherwise threads
    Auto,
    /// io_uring, or fail
    Uring,
    /// Threads with pread and pwrite
    Psync,
    /// No I/O: measures the limit of the load generator
    Null,
}

impl From<EngineChoice> for iostall_session::EngineChoice {
    fn from(choice: EngineChoice) -> Self {
        match choice {
            EngineChoice::Auto => Self::Auto,
            EngineChoice::Uring => Self::Uring,
            EngineChoice::Psync => Self::Psync,
            EngineChoice::Null => Self::Null,
        }
    }
}

/// `NAME=PATH`.
fn binding(text: &str) -> Result<TargetBinding, String> {
    match text.split_once('=') {
        Some((name, path)) if !name.is_empty() && !path.is_empty() => {
            Ok(TargetBinding { name: name.to_owned(), path: named(path.into())? })
        }
        _ => Err(format!("{text:?} is not NAME=PATH, such as log=/log/t.dat")),
    }
}

/// Parses one of `words` with the model's own parser; help, errors and completions list them.
pub(super) fn one_of<T>(words: &'static [&'static str]) -> impl TypedValueParser<Value = T>
where
    T: serde::de::DeserializeOwned + Clone + Send + Sync + 'static,
{
    PossibleValuesParser::new(words.iter().copied()).try_map(|word| kebab(&word))
}

/// The name of a built-in profile.
pub(super) fn preset_name() -> PossibleValuesParser {
    PossibleValuesParser::new(presets().iter().map(|preset| preset.name))
}

/// Parses a value (`write-through`) with the model's own parser.
pub(super) fn kebab<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, String> {
    serde_json::from_value(serde_json::Value::String(text.to_owned())).map_err(|error| error.to_string())
}
