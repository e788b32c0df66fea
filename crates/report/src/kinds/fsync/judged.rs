//! What commits say about the storage.

use iostall_model::sync::SyncStep;
use iostall_model::{FsyncOutcome, Run, WarningCode};

use crate::judgement::{self, Judgement, is_of_storage};

/// The judgement on the commits of one committer: several share their flushes. `None` if nothing can be said.
pub(super) fn judged(run: &Run, fsync: &FsyncOutcome, step: &SyncStep) -> Option<Judgement> {
    let is_doubtful = run.warnings.iter().any(|warning| warning.code == WarningCode::SyncTooFast);
    let is_judged = step.committers == 1 && step.method.is_durable() && !is_doubtful && is_of_storage(run);
    judgement::judged(&step.commit_ns, fsync.thresholds.as_ref().filter(|_| is_judged)?)
}
