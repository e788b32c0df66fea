//! Doubts: what a careful storage engineer would ask about a run's numbers, answered from what was
//! recorded with it. Pure: evidence in, warnings out.

mod generator;
mod numbers;
mod platform;
mod target;

use iostall_engine::files::{FileNow, PathNow};
use iostall_measure::platform::{Host, Target};
use iostall_model::{LoadOutcome, Warning};

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

/// All doubts about a run, the weightiest first.
pub fn check(evidence: &Evidence<'_>) -> Vec<Warning> {
    let mut warnings = numbers::check(evidence);
    warnings.extend(target::check(evidence));
    warnings.extend(platform::check(evidence));
    warnings.extend(generator::check(evidence));
    warnings.dedup();
    warnings
}

#[cfg(test)]
pub(crate) mod tests;
