//! Why a role cannot be planned on a target.

use iostall_measure::ByteCount;
use thiserror::Error;

/// What is wrong with a role on this particular target.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PlanError {
    /// A recorded request that cannot be made again here.
    #[error(
        "role {role}: the recorded request of {length} bytes at offset {offset} lies beyond the target, between its sectors, is \
         larger than the block size, or writes where the role only reads"
    )]
    Recorded {
        role: String,
        /// Its first byte.
        offset: u64,
        length: u32,
    },
    /// Workers without a request.
    #[error("role {role}: {requests} recorded requests are too few for {workers} workers")]
    TooFewRecorded { role: String, requests: usize, workers: u32 },
    /// The largest block is larger than the region.
    #[error(
        "role {role:?}: a block of {block} does not fit in bytes {start} to {end} of a target of {target_size}; \
         use a larger target, a wider region or a smaller block size"
    )]
    BlockDoesNotFit { role: String, block: ByteCount, start: u64, end: u64, target_size: ByteCount },
    #[error(
        "role {role:?}: {field} {bytes} is not a multiple of {sector}, the unit this target takes; \
         write a multiple of it, or caching = \"buffered\""
    )]
    NotAMultiple {
        role: String,
        field: &'static str,
        bytes: ByteCount,
        /// The required multiple.
        sector: ByteCount,
    },
    #[error(
        "role {role:?}: a region of {region}, cut among {workers} workers, leaves one of them no room \
         for a block of {block}; \
         use fewer workers, a larger target or shared-sequence = true"
    )]
    PieceTooSmall { role: String, workers: u32, region: ByteCount, block: ByteCount },
    #[error(
        "role {role:?}: worker {worker} would start {offset} into a region of {region}, where a block of {block} \
         does not fit; \
         use a smaller worker-offset, fewer workers or a larger target"
    )]
    StartOutside {
        role: String,
        /// Worker, from 0.
        worker: u32,
        offset: ByteCount,
        region: ByteCount,
        block: ByteCount,
    },
}
