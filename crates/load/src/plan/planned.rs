//! The input and output of a plan.

use iostall_measure::Op;

use super::rng::{Bernoulli, StreamRng};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamPlace {
    pub target_size_bytes: u64,
    /// Index of the worker within its role.
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
