//! The input and output of a plan, and why there is none.

use iostall_measure::{ByteCount, Op};
use thiserror::Error;

use super::rng::{Bernoulli, StreamRng};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamPlace {
    pub target_size_bytes: u64,
    pub worker_index: u32,
    /// Number of workers of the role; at least 1.
    pub workers: u32,
    /// Unique within the run, so that no two streams issue the same sequence.
    pub stream_number: u64,
    pub seed: u64,
    /// Required alignment of offsets and lengths on this target, bytes: the logical sector with direct I/O,
    /// otherwise 1.
    pub sector_align: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Planned {
    /// [`Op::Read`] or [`Op::Write`]. Syncs depend on completions and are not planned here.
    pub op: Op,
    pub offset: u64,
    pub length: u32,
}

#[inline]
pub(super) fn read_or_write(writes: Bernoulli, rng: &mut StreamRng) -> Op {
    if writes.hits(rng) { Op::Write } else { Op::Read }
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PlanError {
    #[error(
        "role {role}: the recorded request of {length} bytes at offset {offset} lies beyond the target, between its sectors, is \
         larger than the block size, or writes where the role only reads"
    )]
    Recorded { role: String, offset: u64, length: u32 },
    #[error("role {role}: {requests} recorded requests are too few for {workers} workers")]
    TooFewRecorded { role: String, requests: usize, workers: u32 },
    #[error(
        "role {role:?}: a block of {block} does not fit in bytes {start} to {end} of a target of {target_size}; \
         use a larger target, a wider region or a smaller block size"
    )]
    BlockDoesNotFit { role: String, block: ByteCount, start: u64, end: u64, target_size: ByteCount },
    #[error(
        "role {role:?}: {field} {bytes} is not a multiple of {sector}, the unit this target takes; \
         write a multiple of it, or caching = \"buffered\""
    )]
    NotAMultiple { role: String, field: &'static str, bytes: ByteCount, sector: ByteCount },
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
