//! How much a restore does at once.

use clap::Args;
use iostall_measure::ByteCount;
use iostall_transfer::backup::read::ReadChoice;

use super::create::power_of_two;

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
