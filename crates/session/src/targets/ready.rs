//! A target that is ready for load.

use iostall_load::LoadTarget;
use iostall_measure::ByteCount;
use iostall_measure::platform::Target;

use super::hold::Hold;

pub(super) const DEFAULT_SIZE: ByteCount = ByteCount(1 << 30);

pub(super) struct Ready {
    pub(super) load: LoadTarget,
    /// How much of it each span uses; later spans use what `load` says.
    pub(super) span_bytes: Vec<u64>,
    pub(super) facts: Target,
    pub(super) hold: Hold,
    /// Made for this run, with a size that nobody asked for.
    pub(super) size_chosen: bool,
}
