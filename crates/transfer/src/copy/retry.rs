//! Tries files again that failed for a reason that may pass.

use std::collections::HashSet;
use std::path::PathBuf;

use iostall_engine::files::{self, FileKind};

use super::log::{CopyLog, Recorded};
use super::walk::{Entry, Inventory};

/// Takes the files to try again out of the failures.
pub(super) fn take_failed(log: &mut CopyLog, inventory: &Inventory) -> Vec<Entry> {
    // What failed while the plan was made is not in the plan.
    let at_start = log.failed_at_start.min(log.failures.len());
    let failures = log.failures.split_off(at_start);
    let (may_pass, lasting): (Vec<_>, Vec<_>) =
        failures.into_iter().partition(|failure| failure.error.may_pass());
    log.failures.extend(lasting);
    let again: HashSet<PathBuf> = may_pass.iter().map(|failure| failure.target.clone()).collect();
    let entries: Vec<Entry> =
        inventory.files().filter(|entry| again.contains(&entry.target)).cloned().collect();
    let planned: HashSet<&PathBuf> = entries.iter().map(|entry| &entry.target).collect();
    for failure in may_pass {
        if planned.contains(&failure.target) {
            log.record(Recorded::Retried(failure.error.to_string()), &failure.source, 0);
        } else {
            log.failures.push(failure);
        }
    }
    entries
}

/// The file as it is now: it may have been written to since the plan was made.
pub(super) fn as_it_is_now(entry: Entry) -> Entry {
    match files::stamp_of_path(&entry.source) {
        Ok(stat) if stat.kind == FileKind::Regular => Entry { stat, ..entry },
        _ => entry,
    }
}
