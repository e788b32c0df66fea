//! What `prune` keeps for increments in directories that it was not told to look through.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use iostall_measure::foreign::shown;
use iostall_model::backup_entry::{BackupEntry, BackupState, PruneAction, Pruned};
use iostall_model::retention::Reason;
use iostall_transfer::backup::catalog::Place;

use super::known::KnownSets;
use super::set::short;

/// Keeps what an increment is based on that a run has made and that is not among the sets `here`, unless it is gone.
pub(super) fn keep_for_others(one: &mut Pruned, known: &KnownSets, here: &BTreeSet<&str>) {
    if one.action != PruneAction::Delete
        || matches!(one.backup.state, BackupState::BeingDeleted | BackupState::NotCompleted)
    {
        return;
    }
    let is_elsewhere = |entry: &&BackupEntry| !here.contains(entry.set.as_str()) && !is_gone(entry);
    let Some(entry) = known.increments_on(&one.backup.set).find(is_elsewhere) else { return };
    let place = entry.path.as_deref().map(shown).unwrap_or_default();
    one.action = PruneAction::Keep;
    one.reasons.push(Reason::BaseOf(entry.set.clone()));
    one.because = Some(format!(
        "increment {} ({place}) is based on it and is in a directory that was not named: name that directory, too",
        short(&entry.set)
    ));
}

/// Whether the manifest is certainly not where the run wrote it. A directory that is not there or empty may be a disk that is not
/// mounted.
fn is_gone(entry: &BackupEntry) -> bool {
    let Some(path) = entry.path.as_deref().map(Path::new) else { return false };
    if !matches!(Place::at(path), Ok(Place::Missing)) {
        return false;
    }
    let directory = path.parent().filter(|directory| !directory.as_os_str().is_empty());
    let directory = directory.unwrap_or(Path::new("."));
    // Of a store, which answered, there are no disks to be mounted.
    let is_store = path.to_string_lossy().contains("://");
    is_store || fs::read_dir(directory).is_ok_and(|mut entries| entries.next().is_some())
}
