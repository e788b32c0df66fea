//! `iostall backup restore tune`.

use std::path::PathBuf;

use clap::Args;
use iostall_measure::{ByteCount, Nanos};
use iostall_session::backup::tune_restore::RestoreTuneRequest;
use iostall_transfer::backup::codec::Unlock;
use iostall_transfer::backup::read::ReadChoice;

use super::create::power_of_two;
use super::keys::UnlockArgs;
use super::tune::budget;
use crate::cli::output::SeriesOutputArgs;

/// For which restore settings are to be found.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    iostall backup restore tune /b1/shop.iob --to /srv\n  \
    iostall backup restore tune --budget 10m --workers 2 /b1/shop.iob /b2/shop.iob --to /srv\n\n\
    First reading the stripes, decoding on the CPUs and writing to the destination are measured alone; then requests in\n\
    flight, their size and workers are tried together; last, the best few are compared with the defaults, again and again in\n\
    turn. What you give is kept. The answer is a command line, or that the defaults are as good: both are exit status 0.\n\n\
    Trials restore pieces of the backup into a directory of their own below --to, up to 1 GiB at a time (at most a quarter of\n\
    the free space), and remove it. Nothing else there is touched. A set that is called `tune` is restored as ./tune.")]
pub(crate) struct RestoreTuneArgs {
    /// The manifest, or a stripe beside it; stripes in other directories are named, too
    #[arg(value_name = "SET", required = true)]
    pub(crate) from: Vec<PathBuf>,

    /// An existing directory on the file system to which you would restore
    #[arg(long, value_name = "DIR", required = true, help_heading = "What")]
    pub(crate) to: PathBuf,
    #[command(flatten)]
    pub(crate) unlock: UnlockArgs,
    /// How long it may take: 5s to 24h
    #[arg(long, value_name = "TIME", default_value = "2m", value_parser = budget, help_heading = "How")]
    pub(crate) budget: Nanos,
    /// Most memory for buffers; settings with more are not tried [default: a quarter of what is free, at most 2 GiB]
    #[arg(long, value_name = "SIZE", help_heading = "How")]
    pub(crate) memory: Option<ByteCount>,
    #[command(flatten)]
    pub(crate) choice: ReadChoiceArgs,

    #[command(flatten)]
    pub(crate) output: SeriesOutputArgs,
    /// Do not store the run
    #[arg(long, help_heading = "Output")]
    pub(crate) no_store: bool,
}

impl RestoreTuneArgs {
    /// What is to be done, with these keys.
    pub(crate) fn request(&self, unlock: Option<Unlock>) -> RestoreTuneRequest {
        RestoreTuneRequest {
            from: self.from.clone(),
            place: self.to.clone(),
            unlock,
            choice: self.choice.choice(),
            budget: self.budget,
            memory_bytes: self.memory.map(ByteCount::bytes),
            kept: self.unlock.words(),
        }
    }
}

/// How much is read, decoded and written at once.
#[derive(Debug, Args)]
pub(crate) struct ReadChoiceArgs {
    /// Reads in flight on the stripes together, and as many writes [default: 8]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=256), help_heading = "How")]
    pub(crate) depth: Option<u32>,
    /// Bytes per request, a power of two: as many whole frames as fit, and at least one [default: 4M]
    #[arg(long, value_name = "SIZE", value_parser = power_of_two, help_heading = "How")]
    pub(crate) transfer: Option<ByteCount>,
    /// Threads that check, decrypt and decompress [default: the number of CPUs]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=256), help_heading = "How")]
    pub(crate) workers: Option<u32>,
}

impl ReadChoiceArgs {
    /// As a request has it.
    pub(crate) fn choice(&self) -> ReadChoice {
        // It is at most 64M.
        let transfer_bytes = self.transfer.and_then(|size| u32::try_from(size.bytes()).ok());
        ReadChoice { depth: self.depth, workers: self.workers, transfer_bytes }
    }
}
