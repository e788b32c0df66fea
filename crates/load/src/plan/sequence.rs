//! Sequential access: one sequence per worker, or one that all workers of a role share.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use iostall_measure::ByteCount;
use iostall_model::RoleProfile;

use super::region::ByteSpan;
use super::{PlanError, StreamPlace};

/// The distance between starts if it is constant: the stride, or the single block size. `None` for a mix of
/// sizes end to end.
fn fixed_stride(role: &RoleProfile) -> Option<u64> {
    match (role.stride, role.block_size.parts()) {
        (Some(stride), _) => Some(stride.bytes()),
        (None, [(size, _)]) => Some(u64::from(size.bytes())),
        (None, _) => None,
    }
}

/// Number of starts, `stride` apart from the start of the region, at which a block of `block` bytes fits; at
/// least 1.
fn positions(length: u64, block: u64, stride: u64) -> u64 {
    (length - block).checked_div(stride).unwrap_or(0) + 1
}

#[derive(Clone, Debug)]
pub(super) struct OwnPath {
    next: u64,
    wrap_to: u64,
    /// Starts are below this.
    starts_end: u64,
    /// Blocks end here or before.
    end: u64,
    stride: Option<u64>,
}

impl OwnPath {
    pub(super) fn new(role: &RoleProfile, place: &StreamPlace, span: ByteSpan) -> Result<Self, PlanError> {
        match role.worker_offset {
            Some(offset) => Self::from_offset(role, place, span, offset.bytes()),
            None => Self::from_cut(role, place, span),
        }
    }

    /// Worker k starts k offsets in. At the end of the region it wraps to the first start with the same
    /// phase: DiskSpd's rule for `-T`.
    fn from_offset(
        role: &RoleProfile,
        place: &StreamPlace,
        span: ByteSpan,
        offset: u64,
    ) -> Result<Self, PlanError> {
        let block = u64::from(role.block_size.largest().bytes());
        let skip = offset.saturating_mul(u64::from(place.worker_index));
        if skip > span.length() - block {
            return Err(PlanError::StartOutside {
                role: role.name.clone(),
                worker: place.worker_index,
                offset: ByteCount(skip),
                region: ByteCount(span.length()),
                block: ByteCount(block),
            });
        }
        let stride = fixed_stride(role);
        let phase_of = stride.unwrap_or(u64::from(role.block_size.smallest().bytes()));
        // A stride of 0 stays where it starts.
        let phase = skip.checked_rem(phase_of).unwrap_or(skip);
        Ok(Self {
            next: span.start + skip,
            wrap_to: span.start + phase,
            starts_end: span.end,
            end: span.end,
            stride,
        })
    }

    /// Each worker has its own piece of the region, so that together they touch each position once per pass.
    fn from_cut(role: &RoleProfile, place: &StreamPlace, span: ByteSpan) -> Result<Self, PlanError> {
        let block = u64::from(role.block_size.largest().bytes());
        let (workers, worker) = (u64::from(place.workers), u64::from(place.worker_index));
        let stride = fixed_stride(role);
        // A stride of 0 repeats one block: workers are then spread block by block.
        let grain = match stride {
            Some(0) => block,
            Some(stride) => stride,
            None => u64::from(role.block_size.smallest().bytes()),
        };
        let parts = match stride {
            Some(_) => positions(span.length(), block, grain),
            None => span.length() / grain,
        };
        // The same for every worker of the role, so that either all are refused or none.
        let smallest_piece = parts / workers * grain;
        if smallest_piece < if stride.is_some() { grain } else { block } {
            return Err(PlanError::PieceTooSmall {
                role: role.name.clone(),
                workers: place.workers,
                region: ByteCount(span.length()),
                block: ByteCount(block),
            });
        }
        let part_start = |worker: u64| {
            let parts_before = u128::from(parts) * u128::from(worker) / u128::from(workers);
            u64::try_from(parts_before)
                .map_or(span.end, |before| span.start.saturating_add(before.saturating_mul(grain)))
        };
        let (start, starts_end) = (part_start(worker), part_start(worker + 1));
        let end = if stride.is_some() { span.end } else { starts_end };
        Ok(Self { next: start, wrap_to: start, starts_end, end, stride })
    }

    #[inline]
    pub(super) fn next(&mut self, length: u32) -> u64 {
        let length = u64::from(length);
        let fits = self.next < self.starts_end && self.next.saturating_add(length) <= self.end;
        let offset = if fits { self.next } else { self.wrap_to };
        self.next = offset.saturating_add(self.stride.unwrap_or(length));
        offset
    }
}

#[derive(Debug, Default)]
pub struct SharedSequence {
    /// Positions handed out so far; with a mix of sizes end to end, the byte after the last one handed out.
    next: AtomicU64,
}

impl SharedSequence {
    pub fn new() -> Self {
        Self::default()
    }
}

#[derive(Clone, Debug)]
pub(super) struct SharedPath {
    sequence: Arc<SharedSequence>,
    span: ByteSpan,
    stride: Option<u64>,
    /// Positions per pass, if the stride is fixed.
    positions: u64,
    /// Count at the start of the current pass, so that only a new pass costs a division.
    lap_start: u64,
}

impl SharedPath {
    pub(super) fn new(role: &RoleProfile, span: ByteSpan, sequence: Arc<SharedSequence>) -> Self {
        let stride = fixed_stride(role);
        let block = u64::from(role.block_size.largest().bytes());
        let positions = stride.map_or(1, |stride| positions(span.length(), block, stride));
        Self { sequence, span, stride, positions, lap_start: 0 }
    }

    // Relaxed is enough, because workers share nothing but the number itself.
    #[inline]
    pub(super) fn next(&mut self, length: u32) -> u64 {
        let Some(stride) = self.stride else {
            return self.next_of_mix(u64::from(length));
        };
        let count = self.sequence.next.fetch_add(1, Ordering::Relaxed);
        if count - self.lap_start >= self.positions {
            self.lap_start = count - count % self.positions;
        }
        self.span.start + (count - self.lap_start) * stride
    }

    /// Blocks of several sizes end to end: the next start depends on this block's size.
    fn next_of_mix(&self, length: u64) -> u64 {
        let start_of = |at: u64| if at + length <= self.span.length() { at } else { 0 };
        let mut at = self.sequence.next.load(Ordering::Relaxed);
        loop {
            let start = start_of(at);
            let taken = self.sequence.next.compare_exchange_weak(
                at,
                start + length,
                Ordering::Relaxed,
                Ordering::Relaxed,
            );
            match taken {
                Ok(_) => return self.span.start + start,
                Err(moved) => at = moved,
            }
        }
    }
}
