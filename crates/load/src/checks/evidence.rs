//! What was recorded with a run, for its checks.

use iostall_engine::files::{FileNow, PathNow};
use iostall_measure::platform::{Host, Target};
use iostall_model::LoadOutcome;

/// How busy a device was just before a run.
#[derive(Clone, Debug, PartialEq)]
pub struct BusyBefore {
    /// Kernel name.
    pub device: String,
    /// Share of the time it had at least one request, 0 to 1.
    pub busy_share: f64,
    /// Requests a second it completed.
    pub iops: f64,
}

/// Everything the judgement rests on.
#[derive(Clone, Copy, Debug)]
pub struct Evidence<'a> {
    /// The machine.
    pub host: &'a Host,
    /// The targets as they were before the run.
    pub targets: &'a [Target],
    /// Their sizes after the run, in the same order; `None` where one is gone.
    pub sizes_after: &'a [Option<u64>],
    /// The least that was seen of each file during the run and right after it, in the same order; `None` where it is no
    /// file.
    pub least_seen: &'a [Option<FileNow>],
    /// What the path of each leads to after the run, in the same order.
    pub paths_after: &'a [PathNow],
    /// Devices under the targets before the run.
    pub busy_before: &'a [BusyBefore],
    /// What was measured.
    pub outcome: &'a LoadOutcome,
}
