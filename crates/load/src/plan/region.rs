//! The part of a target that a role may touch.

use iostall_measure::ByteCount;
use iostall_model::RoleProfile;
use iostall_model::profile::Bound;

use super::{PlanError, StreamPlace};

/// A byte range of a target; `end` is exclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ByteSpan {
    pub(super) start: u64,
    pub(super) end: u64,
}

impl ByteSpan {
    pub(super) fn length(self) -> u64 {
        self.end - self.start
    }
}

/// The byte range `(start, end)` that `role` uses on a target of `target_size_bytes`; `end` is exclusive and
/// never below `start`.
///
/// Bounds in bytes are only rounded inwards to the sector. A bound in percent may fall anywhere, so it is
/// rounded inwards to the largest power of two that divides every size of the role (at least 4 KiB, at most 1
/// MiB): otherwise a database page could straddle physical sectors. Two regions that meet at a percentage
/// never overlap.
pub fn region_in(role: &RoleProfile, target_size_bytes: u64, sector_align: u32) -> (u64, u64) {
    let sector = u64::from(sector_align.max(1));
    let unit = page_unit(role).max(sector);
    let unit_of = |bound: Bound| match bound {
        Bound::Percent(share) if share.percent() < 100.0 => unit,
        _ => sector,
    };
    let (start, end) = role.region.range_in(target_size_bytes);
    let start_unit = unit_of(role.region.start);
    let start = start.checked_next_multiple_of(start_unit).unwrap_or(u64::MAX - u64::MAX % start_unit);
    let end_unit = role.region.end.map_or(sector, unit_of);
    (start, (end - end % end_unit).max(start))
}

/// The largest power of two that divides every length and distance of `role`, between 4 KiB and 1 MiB.
fn page_unit(role: &RoleProfile) -> u64 {
    let sizes = role.block_size.parts().iter().map(|(size, _)| u64::from(size.bytes()));
    let distances = [role.align, role.stride].into_iter().flatten().map(ByteCount::bytes);
    let bits = sizes.chain(distances).fold(0, |bits, bytes| bits | bytes);
    (1 << bits.trailing_zeros().min(20)).max(4096)
}

/// The region of `role` at `place`, after checking that it fits the target and its sectors.
pub(super) fn usable(role: &RoleProfile, place: &StreamPlace) -> Result<ByteSpan, PlanError> {
    check_multiples(role, u64::from(place.sector_align.max(1)))?;
    let (start, end) = region_in(role, place.target_size_bytes, place.sector_align);
    let block = u64::from(role.block_size.largest().bytes());
    if end - start < block {
        return Err(PlanError::BlockDoesNotFit {
            role: role.name.clone(),
            block: ByteCount(block),
            start,
            end,
            target_size: ByteCount(place.target_size_bytes),
        });
    }
    Ok(ByteSpan { start, end })
}

fn check_multiples(role: &RoleProfile, sector: u64) -> Result<(), PlanError> {
    let blocks = role.block_size.parts().iter().map(|(size, _)| ("block-size", u64::from(size.bytes())));
    let distances = [("align", role.align), ("stride", role.stride), ("worker-offset", role.worker_offset)]
        .into_iter()
        .filter_map(|(field, bytes)| Some((field, bytes?.bytes())));
    match blocks.chain(distances).find(|(_, bytes)| !bytes.is_multiple_of(sector)) {
        None => Ok(()),
        Some((field, bytes)) => Err(PlanError::NotAMultiple {
            role: role.name.clone(),
            field,
            bytes: ByteCount(bytes),
            sector: ByteCount(sector),
        }),
    }
}
