//! Deletes the backups that no rule keeps.

use std::path::PathBuf;

use iostall_model::backup_entry::{BackupEntry, BackupState, PruneAction, Pruned};
use iostall_model::retention::{Kept, Proof, Rules, reasons};
use iostall_transfer::backup::catalog::{ScanError, remove};
use iostall_transfer::backup::codec::Unlock;
use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::catalog::{CatalogEntry, catalog};
use super::known::KnownSets;

/// What to delete.
pub struct PruneRequest {
    pub directories: Vec<PathBuf>,
    pub rules: Rules,
    /// Reads the manifests of encrypted backups.
    pub unlock: Option<Unlock>,
    pub now: Timestamp,
    /// Whose days and weeks count.
    pub zone: TimeZone,
    /// Nothing is deleted.
    pub dry_run: bool,
}

/// What happened to each backup, oldest first.
pub fn prune(request: &PruneRequest, known: &KnownSets) -> Result<Vec<Pruned>, ScanError> {
    let found = catalog(&request.directories, request.unlock.as_ref(), known)?;
    let mut pruned = decide(&found, request);
    if request.dry_run {
        return Ok(pruned);
    }
    for (one, found) in pruned.iter_mut().zip(&found).filter(|(one, _)| one.action == PruneAction::Delete) {
        if let Err(error) = remove(&found.found) {
            let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}"));
            one.action = PruneAction::Failed;
            one.because = Some(format!("{error}{}", cause.unwrap_or_default()));
        }
    }
    Ok(pruned)
}

fn decide(found: &[CatalogEntry], request: &PruneRequest) -> Vec<Pruned> {
    let countable: Vec<usize> = (0..found.len()).filter(|&at| kept(&found[at].entry).is_some()).collect();
    let sets: Vec<Kept> = countable.iter().filter_map(|&at| kept(&found[at].entry)).collect();
    let reasons = reasons(&sets, &request.rules, request.now, &request.zone);
    let mut all: Vec<Pruned> = found.iter().map(|one| not_counted(&one.entry)).collect();
    for (at, reasons) in countable.into_iter().zip(reasons) {
        all[at].action = if reasons.is_empty() { PruneAction::Delete } else { PruneAction::Keep };
        all[at].because = None;
        all[at].reasons = reasons.into_iter().collect();
    }
    all
}

/// As the rules see it; `None` for what they cannot be applied to.
fn kept(entry: &BackupEntry) -> Option<Kept> {
    let proof = match entry.state {
        BackupState::Whole => entry.proof,
        BackupState::Damaged => Proof::Damaged,
        BackupState::NotCompleted
        | BackupState::BeingDeleted
        | BackupState::Elsewhere
        | BackupState::OnRecord => return None,
    };
    let (source, at) = (entry.source.clone()?, entry.created_utc?);
    Some(Kept { id: entry.set.clone(), source, at, base: None, proof })
}

/// What no rule applies to stays, except where a deletion was begun.
fn not_counted(entry: &BackupEntry) -> Pruned {
    let (action, because) = match entry.state {
        BackupState::BeingDeleted => (PruneAction::Delete, "its deletion was begun before"),
        BackupState::NotCompleted => {
            (PruneAction::Leave, "it has no manifest: it is being written, or was never completed")
        }
        BackupState::Elsewhere => {
            (PruneAction::Leave, "some of its stripes are in directories that were not named")
        }
        BackupState::Whole | BackupState::Damaged | BackupState::OnRecord => (
            PruneAction::Leave,
            "what it is a backup of cannot be read: it is encrypted, or its manifest is damaged",
        ),
    };
    Pruned { backup: entry.clone(), action, reasons: Vec::new(), because: Some(because.to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(state: BackupState, source: Option<&str>) -> BackupEntry {
        BackupEntry {
            set: "00".into(),
            created_utc: Some("2026-11-20T02:00:00Z".parse().unwrap()),
            source: source.map(str::to_owned),
            state,
            wrong: String::new(),
            proof: Proof::Unproven,
            is_encrypted: source.is_none(),
            size_bytes: None,
            stored_bytes: 0,
            stripes: 1,
            path: None,
            files: Vec::new(),
            run: None,
        }
    }

    /// The story: the backup that was just being written had no manifest yet, and a clean-up took it for rubbish.
    #[test]
    fn what_cannot_be_judged_is_left_and_a_deletion_that_was_begun_is_ended() {
        for (state, source, action) in [
            (BackupState::NotCompleted, Some("shop"), PruneAction::Leave),
            (BackupState::Elsewhere, Some("shop"), PruneAction::Leave),
            (BackupState::Whole, None, PruneAction::Leave),
            (BackupState::BeingDeleted, Some("shop"), PruneAction::Delete),
        ] {
            let entry = entry(state, source);
            assert!(kept(&entry).is_none(), "{state:?}");
            assert_eq!(not_counted(&entry).action, action, "{state:?}");
        }
        let damaged = kept(&entry(BackupState::Damaged, Some("shop"))).unwrap();
        assert_eq!(damaged.proof, Proof::Damaged);
    }
}
