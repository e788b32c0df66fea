//! What a plan is made from and what it gives.

use iostall_measure::Op;

use super::rng::{Bernoulli, StreamRng};

/// Where a stream stands in the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamPlace {
    /// Size of the target, bytes.
    pub target_size_bytes: u64,
    /// This worker among the role's workers, from 0.
    pub worker_index: u32,
    /// How many workers the role has; at least 1.
    pub workers: u32,
    /// A number that no other stream of the run has: it keeps two streams from issuing the same sequence.
    pub stream_number: u64,
    /// The run's seed.
    pub seed: u64,
    /// What offsets and lengths must be multiples of on this target, bytes: the logical sector with direct
    /// I/O, 1 where anything goes.
    pub sector_align: u32,
}

/// The next request of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Planned {
    /// [`Op::Read`] or [`Op::Write`]. Syncs follow from what completes, so they are not planned here.
    pub op: Op,
    /// First byte.
    pub offset: u64,
    /// Bytes.
    pub length: u32,
}

/// The operation of the next request, when `writes` of them write.
#[inline]
pub(super) fn read_or_write(writes: Bernoulli, rng: &mut StreamRng) -> Op {
    if writes.hits(rng) { Op::Write } else { Op::Read }
}
