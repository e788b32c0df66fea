//! Deletes the backups that no rule keeps.

use std::path::PathBuf;

use iostall_model::backup_entry::{BackupEntry, BackupState, PruneAction, Pruned};
use iostall_model::retention::{Kept, Proof, Reason, Rules, reasons};
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
    // The newest first: what could not be deleted still needs what it is based on.
    for at in (0..found.len()).rev() {
        if pruned[at].action != PruneAction::Delete {
            continue;
        }
        if let Err(error) = remove(&found[at].found) {
            let one = &mut pruned[at];
            let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}"));
            one.action = PruneAction::Failed;
            one.because = Some(format!("{error}{}", cause.unwrap_or_default()));
            keep_bases(&mut pruned);
        }
    }
    Ok(pruned)
}

fn decide(found: &[CatalogEntry], request: &PruneRequest) -> Vec<Pruned> {
    let is_there = |set: &String| found.iter().any(|one| one.entry.set == *set);
    let is_missing = |entry: &BackupEntry| entry.base.as_ref().is_some_and(|base| !is_there(base));
    let can_count = |entry: &BackupEntry| kept(entry).is_some() && !is_missing(entry);
    let countable: Vec<usize> = (0..found.len()).filter(|&at| can_count(&found[at].entry)).collect();
    let sets: Vec<Kept> = countable.iter().filter_map(|&at| kept(&found[at].entry)).collect();
    let reasons = reasons(&sets, &request.rules, request.now, &request.zone);
    let mut all: Vec<Pruned> =
        found.iter().map(|one| not_counted(&one.entry, is_missing(&one.entry))).collect();
    for (at, reasons) in countable.into_iter().zip(reasons) {
        all[at].action = if reasons.is_empty() { PruneAction::Delete } else { PruneAction::Keep };
        all[at].because = None;
        all[at].reasons = reasons.into_iter().collect();
    }
    keep_bases(&mut all);
    all
}

/// What is left, such as an increment that is being written, needs what it is based on as much as what a rule keeps.
fn keep_bases(all: &mut [Pruned]) {
    let mut at = 0;
    while let Some(one) = all.get(at) {
        let set = one.backup.set.clone();
        let base = one.backup.base.clone().filter(|_| one.action != PruneAction::Delete);
        let is_it = |other: &&mut Pruned| {
            other.action == PruneAction::Delete
                && other.backup.state != BackupState::BeingDeleted
                && Some(&other.backup.set) == base.as_ref()
        };
        match all.iter_mut().find(is_it) {
            Some(base) => {
                base.action = PruneAction::Keep;
                base.reasons.push(Reason::BaseOf(set));
                // It may have a base itself.
                at = 0;
            }
            None => at += 1,
        }
    }
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
    Some(Kept { id: entry.set.clone(), source, at, base: entry.base.clone(), proof })
}

/// What no rule applies to stays, except where a deletion was begun.
fn not_counted(entry: &BackupEntry, base_is_missing: bool) -> Pruned {
    let (action, because) = match entry.state {
        BackupState::BeingDeleted => (PruneAction::Delete, "its deletion was begun before"),
        BackupState::NotCompleted => {
            (PruneAction::Leave, "it has no manifest: it is being written, or was never completed")
        }
        BackupState::Elsewhere => {
            (PruneAction::Leave, "some of its stripes are in directories that were not named")
        }
        BackupState::Whole | BackupState::Damaged | BackupState::OnRecord if base_is_missing => {
            (PruneAction::Leave, "what it is based on is not in the directories that were named")
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
            base: None,
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
            assert_eq!(not_counted(&entry, false).action, action, "{state:?}");
        }
        let damaged = kept(&entry(BackupState::Damaged, Some("shop"))).unwrap();
        assert_eq!(damaged.proof, Proof::Damaged);
    }

    /// While an increment was written, a clean-up deleted the backup that it was compared with.
    #[test]
    fn what_is_left_keeps_what_it_is_based_on() {
        let named = |set: &str, base: Option<&str>, action| {
            let base = base.map(str::to_owned);
            let backup = BackupEntry { set: set.into(), base, ..entry(BackupState::Whole, Some("shop")) };
            Pruned { backup, action, reasons: Vec::new(), because: None }
        };
        let (delete, leave) = (PruneAction::Delete, PruneAction::Leave);
        let mut all = [
            named("a", None, delete),
            named("b", Some("a"), delete),
            named("c", Some("a"), delete),
            named("d", Some("b"), leave),
        ];
        keep_bases(&mut all);
        let actions: Vec<_> = all.iter().map(|one| one.action).collect();
        assert_eq!(actions, [PruneAction::Keep, PruneAction::Keep, delete, leave]);
        assert_eq!(all[0].reasons, [Reason::BaseOf("b".into())]);
    }
}
