//! Checks whether a target was removed, replaced, truncated or extended during the run.

use iostall_engine::files::{FileNow, PathNow};
use iostall_measure::ByteCount;
use iostall_measure::platform::{Target, TargetKind};
use iostall_model::{Warning, WarningCode};

use super::Evidence;

pub(super) fn check(evidence: &Evidence<'_>) -> Vec<Warning> {
    let mut warnings = Vec::new();
    for (index, target) in evidence.targets.iter().enumerate() {
        let least = evidence.least_seen.get(index).copied().flatten();
        let about = |warning: Warning| warning.about(target.path.display().to_string());
        let path = evidence.paths_after.get(index).copied();
        warnings.extend(path.and_then(replaced).map(about));
        warnings.extend(least.and_then(|least| cut(target, least)).map(about));
        warnings.extend(grew(target, evidence.sizes_after.get(index).copied().flatten()).map(about));
    }
    warnings
}

fn replaced(path: PathNow) -> Option<Warning> {
    let message = match path {
        PathNow::Same => return None,
        PathNow::Gone => "the file was removed during the run, which continued on the removed file",
        PathNow::Other => {
            "it was replaced by another file during the run: the numbers belong to the earlier one"
        }
    };
    let hint = "find out what replaced it, and measure again: these numbers do not belong to the file now at this path";
    Some(Warning::new(WarningCode::TargetReplaced, message).hint(hint))
}

fn cut(target: &Target, least: FileNow) -> Option<Warning> {
    let message = if least.size_bytes < target.size_bytes {
        format!(
            "the file was truncated from {} to {} during the run: requests beyond that found no data",
            ByteCount(target.size_bytes),
            ByteCount(least.size_bytes)
        )
    } else {
        let had_all = target.allocated_bytes.is_some_and(|bytes| bytes >= target.size_bytes);
        let freed =
            target.size_bytes.checked_sub(least.allocated_bytes).filter(|freed| had_all && *freed > 0)?;
        format!(
            "{} of the file were freed during the run, as if it had been truncated and extended again: those parts no longer reach the device",
            ByteCount(freed)
        )
    };
    let hint = "find out what else writes to the file, and measure again: some requests found no data";
    Some(Warning::new(WarningCode::TargetCut, message).hint(hint))
}

fn grew(target: &Target, size_after: Option<u64>) -> Option<Warning> {
    let size_after =
        size_after.filter(|size| target.kind == TargetKind::File && *size > target.size_bytes)?;
    Some(Warning::new(
        WarningCode::TargetGrew,
        format!(
            "the file was {} before the run and {} after it: allocation is part of the numbers",
            ByteCount(target.size_bytes),
            ByteCount(size_after)
        ),
    ))
}
