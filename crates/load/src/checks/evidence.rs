//! What was recorded with a run, for its checks.

use iostall_engine::files::{FileNow, PathNow};
use iostall_measure::platform::{Host, Target};
use iostall_model::LoadOutcome;

#[derive(Clone, Debug, PartialEq)]
pub struct BusyBefore {
    pub device: String,
    /// Share of time with at least one request in flight, 0 to 1.
    pub busy_share: f64,
    pub iops: f64,
}

#[derive(Clone, Copy, Debug)]
pub struct Evidence<'a> {
    pub host: &'a Host,
    pub targets: &'a [Target],
    /// Their sizes after the run, in the same order; `None` if a target is gone.
    pub sizes_after: &'a [Option<u64>],
    /// The smallest values seen for each file during and right after the run, in the same order; `None` if it
    /// is no file.
    pub least_seen: &'a [Option<FileNow>],
    pub paths_after: &'a [PathNow],
    /// Whether iostall chose the size of each target and made it for this run, in the same order.
    pub sizes_chosen: &'a [bool],
    pub busy_before: &'a [BusyBefore],
    pub outcome: &'a LoadOutcome,
}
