//! Why a role cannot be planned on a target.

use iostall_measure::ByteCount;
use thiserror::Error;

/// What only the target tells to be wrong with a role.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PlanError {
    /// The largest block is larger than the region.
    #[error(
        "role {role:?}: a block of {block} does not fit in bytes {start} to {end} of a target of {target_size}; \
         use a larger target, a wider region or a smaller block size"
    )]
    BlockDoesNotFit {
        /// Role.
        role: String,
        /// Largest block.
        block: ByteCount,
        /// First byte of the region.
        start: u64,
        /// First byte after it.
        end: u64,
        /// Size of the target.
        target_size: ByteCount,
    },
    /// The device does not take this size or offset.
    #[error(
        "role {role:?}: {field} {bytes} is not a multiple of {sector}, the unit this target takes; \
         write a multiple of it, or caching = \"buffered\""
    )]
    NotAMultiple {
        /// Role.
        role: String,
        /// Field of the role.
        field: &'static str,
        /// Its value.
        bytes: ByteCount,
        /// What it must be a multiple of.
        sector: ByteCount,
    },
    /// The region, cut among the workers, leaves some worker less than one block.
    #[error(
        "role {role:?}: a region of {region}, cut among {workers} workers, leaves one of them no room \
         for a block of {block}; \
         use fewer workers, a larger target or shared-sequence = true"
    )]
    PieceTooSmall {
        /// Role.
        role: String,
        /// Workers.
        workers: u32,
        /// Length of the region.
        region: ByteCount,
        /// Largest block.
        block: ByteCount,
    },
    /// A worker would begin where no block fits.
    #[error(
        "role {role:?}: worker {worker} would start {offset} into a region of {region}, where a block of {block} \
         does not fit; \
         use a smaller worker-offset, fewer workers or a larger target"
    )]
    StartOutside {
        /// Role.
        role: String,
        /// Worker, from 0.
        worker: u32,
        /// Its start, from the region's.
        offset: ByteCount,
        /// Length of the region.
        region: ByteCount,
        /// Largest block.
        block: ByteCount,
    },
}
