//! Deletes the backups that no rule keeps.

use std::collections::BTreeSet;
use std::path::PathBuf;

use iostall_measure::Nanos;
use iostall_model::backup_entry::{BackupEntry, BackupState, PruneAction, Pruned};
use iostall_model::retention::{Kept, Proof, Reason, Rules, reasons};
use iostall_model::wal_archive::WalPruned;
use iostall_transfer::backup::catalog::{FoundSet, RemoveError, ScanError, give_up_uploads, remove};
use iostall_transfer::backup::codec::Unlock;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use super::catalog::{CatalogEntry, catalog};
use super::known::KnownSets;
use super::others::keep_for_others;
use super::wal::prune::{KeptBase, prune as prune_log};
use crate::error::{SessionError, UseCaseError};

pub struct PruneRequest {
    pub directories: Vec<PathBuf>,
    pub rules: Rules,
    /// Reads the manifests of encrypted backups.
    pub unlock: Option<Unlock>,
    pub now: Timestamp,
    /// Whose days and weeks count.
    pub zone: TimeZone,
    /// An upload to which nothing was added for so long was killed.
    pub abandoned_after: Nanos,
    pub dry_run: bool,
    /// An archive of the log of PostgreSQL, of which only what kept backups need is to stay.
    pub wal: Option<PathBuf>,
}

pub struct PruneEnd {
    pub sets: Vec<Pruned>,
    pub wal: Option<WalPruned>,
}

impl PruneRequest {
    fn abandoned_utc(&self) -> Timestamp {
        let after = SignedDuration::from_nanos(i64::try_from(self.abandoned_after.0).unwrap_or(i64::MAX));
        self.now.checked_sub(after).unwrap_or(Timestamp::MIN)
    }
}

/// Deletes what no rule keeps, and then what of the log nothing needs that is left. What could not be deleted is in the
/// result.
pub fn prune(request: &PruneRequest, known: &KnownSets) -> Result<PruneEnd, SessionError> {
    let scanned = |error: ScanError| SessionError::OfUseCase(UseCaseError::new(error, None));
    let found = catalog(&request.directories, request.unlock.as_ref(), known).map_err(scanned)?;
    let sets = prune_sets(request, &found, known);
    let of_log = |directory: &PathBuf| {
        let kept: Vec<KeptBase> =
            sets.iter().zip(&found).flat_map(|(one, found)| kept_base(one, found)).collect();
        prune_log(directory, &kept, request.dry_run)
    };
    let wal = request.wal.as_ref().map(of_log).transpose()?;
    Ok(PruneEnd { sets, wal })
}

/// What it needs of the log. What is being written has what it needs itself, up to an end that is yet to come.
fn kept_base(one: &Pruned, found: &CatalogEntry) -> Vec<KeptBase> {
    match (one.action, one.backup.state) {
        (PruneAction::Delete, _) | (_, BackupState::NotCompleted | BackupState::BeingDeleted) => Vec::new(),
        _ => KeptBase::of(&one.backup.set, found.found.manifest.as_ref()),
    }
}

fn prune_sets(request: &PruneRequest, found: &[CatalogEntry], known: &KnownSets) -> Vec<Pruned> {
    let mut pruned = decide(found, request, known);
    if request.dry_run {
        return pruned;
    }
    let abandoned_utc = request.abandoned_utc();
    // The newest first: what could not be deleted still needs what it is based on.
    for at in (0..found.len()).rev() {
        if let Err(error) = carry_out(&pruned[at], &found[at].found, abandoned_utc) {
            let one = &mut pruned[at];
            let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}"));
            one.action = PruneAction::Failed;
            one.because = Some(format!("{error}{}", cause.unwrap_or_default()));
            keep_bases(&mut pruned);
        }
    }
    pruned
}

/// Of what was never completed only the parts of its uploads go: what was completed of it is for `rebuild`.
fn carry_out(one: &Pruned, found: &FoundSet, abandoned_utc: Timestamp) -> Result<(), RemoveError> {
    if found.uploaded_utc().is_some_and(|newest_utc| newest_utc <= abandoned_utc) {
        give_up_uploads(found)?;
    }
    let is_deleted = one.action == PruneAction::Delete && one.backup.state != BackupState::NotCompleted;
    if is_deleted { remove(found) } else { Ok(()) }
}

fn decide(found: &[CatalogEntry], request: &PruneRequest, known: &KnownSets) -> Vec<Pruned> {
    let counted = counted(&found.iter().map(|one| &one.entry).collect::<Vec<_>>());
    let is_missing =
        |entry: &BackupEntry| entry.base.as_ref().is_some_and(|base| !counted.contains(base.as_str()));
    let can_count = |entry: &BackupEntry| counted.contains(entry.set.as_str());
    let countable: Vec<usize> = (0..found.len()).filter(|&at| can_count(&found[at].entry)).collect();
    let sets: Vec<Kept> = countable.iter().filter_map(|&at| kept(&found[at].entry)).collect();
    let reasons = reasons(&sets, &request.rules, request.now, &request.zone);
    let abandoned_utc = request.abandoned_utc();
    let not_counted = |one: &CatalogEntry| not_counted(&one.entry, is_missing(&one.entry), abandoned_utc);
    let mut all: Vec<Pruned> = found.iter().map(not_counted).collect();
    for (at, reasons) in countable.into_iter().zip(reasons) {
        all[at].action = if reasons.is_empty() { PruneAction::Delete } else { PruneAction::Keep };
        all[at].because = None;
        all[at].reasons = reasons.into_iter().collect();
    }
    for one in &mut all {
        keep_locked(one, request.now);
    }
    let here: BTreeSet<&str> = found.iter().map(|one| one.entry.set.as_str()).collect();
    for one in &mut all {
        keep_for_others(one, known, &here);
    }
    keep_bases(&mut all);
    all
}

/// The sets to which rules apply. An increment on what is left alone is left alone: without its base nothing says whether it is good.
fn counted<'a>(entries: &[&'a BackupEntry]) -> BTreeSet<&'a str> {
    let entries = || entries.iter().copied();
    let mut counted: BTreeSet<&str> =
        entries().filter(|entry| kept(entry).is_some()).map(|entry| entry.set.as_str()).collect();
    loop {
        let has_no_base = |entry: &&'a BackupEntry| {
            let base = entry.base.as_deref();
            counted.contains(entry.set.as_str()) && base.is_some_and(|base| !counted.contains(base))
        };
        let lost: Vec<&str> = entries().filter(has_no_base).map(|entry| entry.set.as_str()).collect();
        if lost.is_empty() {
            return counted;
        }
        counted.retain(|set| !lost.contains(set));
    }
}

/// What a store keeps is kept: to delete it would only hide it, and it would cost money unseen.
fn keep_locked(one: &mut Pruned, now: Timestamp) {
    let lock = one.backup.object_lock.filter(|lock| lock.until_utc > now);
    let locked = lock.map(|lock| Reason::LockedUntil(lock.until_utc));
    let reasons: Vec<Reason> =
        locked.into_iter().chain(one.backup.legal_hold.then_some(Reason::LegalHold)).collect();
    if one.action == PruneAction::Delete && !reasons.is_empty() {
        (one.action, one.because, one.reasons) = (PruneAction::Keep, None, reasons);
    }
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
    let (source, at) = (entry.key.clone()?, entry.created_utc?);
    let (id, base, is_doubted) = (entry.set.clone(), entry.base.clone(), !entry.content_warnings.is_empty());
    Some(Kept { id, source, at, base, proof, is_doubted })
}

/// What no rule applies to stays, except where a deletion was begun.
fn not_counted(entry: &BackupEntry, base_is_missing: bool, abandoned_utc: Timestamp) -> Pruned {
    let (action, because) = match entry.state {
        BackupState::BeingDeleted => (PruneAction::Delete, "its deletion was begun before"),
        BackupState::NotCompleted if entry.left.is_some_and(|left| left.newest_utc <= abandoned_utc) => {
            let (nothing, some) = (
                "its upload was killed: nothing was added to it any more",
                "its upload was killed: its parts go, and what was completed stays for `iostall backup rebuild`",
            );
            (PruneAction::Delete, if entry.stored_bytes == 0 { nothing } else { some })
        }
        BackupState::NotCompleted => {
            (PruneAction::Leave, "it has no manifest: it is being written, or was never completed")
        }
        BackupState::Elsewhere => {
            (PruneAction::Leave, "some of its stripes are in directories that were not named")
        }
        BackupState::Whole | BackupState::Damaged | BackupState::OnRecord if base_is_missing => {
            (PruneAction::Leave, "what it is based on is left, or not in the directories that were named")
        }
        BackupState::Whole | BackupState::Damaged | BackupState::OnRecord if entry.source.is_some() => (
            PruneAction::Leave,
            "it is of a stream without a name, or of a device without a serial number, so that nothing says which backups are \
             of the same source: make the next with --name, and delete this one yourself",
        ),
        BackupState::Whole | BackupState::Damaged | BackupState::OnRecord => (
            PruneAction::Leave,
            "what it is a backup of cannot be read: it is encrypted, or its manifest is damaged",
        ),
    };
    Pruned { backup: entry.clone(), action, reasons: Vec::new(), because: Some(because.to_owned()) }
}

#[cfg(test)]
mod tests {
    use iostall_model::backup::{LockMode, ObjectLock};
    use iostall_model::backup_entry::LeftUploads;

    use super::*;

    fn entry(state: BackupState, source: Option<&str>) -> BackupEntry {
        BackupEntry {
            set: "00".into(),
            created_utc: Some("2026-11-20T02:00:00Z".parse().unwrap()),
            source: source.map(str::to_owned),
            key: source.map(str::to_owned),
            base: None,
            state,
            wrong: String::new(),
            proof: Proof::Unproven,
            content_warnings: Vec::new(),
            is_encrypted: source.is_none(),
            object_lock: None,
            legal_hold: false,
            left: None,
            size_bytes: None,
            stored_bytes: 0,
            stripes: 1,
            path: None,
            files: Vec::new(),
            run: None,
        }
    }

    /// The story: `prune` deleted a locked backup, which hid it; the store kept it, and its price was paid for a month.
    #[test]
    fn what_a_store_keeps_is_kept_until_its_lock_is_over() {
        let until = "2026-12-01T00:00:00Z".parse().unwrap();
        let locked = |now: &str| {
            let mut backup = entry(BackupState::BeingDeleted, Some("shop"));
            backup.object_lock = Some(ObjectLock { until_utc: until, mode: LockMode::Governance });
            let mut one = not_counted(&backup, false, Timestamp::MIN);
            keep_locked(&mut one, now.parse().unwrap());
            (one.action, one.reasons)
        };
        assert_eq!(locked("2026-11-30T23:59:59Z"), (PruneAction::Keep, vec![Reason::LockedUntil(until)]));
        assert_eq!(locked("2026-12-01T00:00:00Z"), (PruneAction::Delete, Vec::new()));
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
            assert_eq!(not_counted(&entry, false, Timestamp::MAX).action, action, "{state:?}");
        }
        let mut uploading = entry(BackupState::NotCompleted, Some("shop"));
        let newest_utc = "2026-11-20T03:00:00Z".parse().unwrap();
        uploading.left = Some(LeftUploads { uploads: 1, bytes: 8, newest_utc });
        let action = |abandoned: &str| not_counted(&uploading, false, abandoned.parse().unwrap()).action;
        assert_eq!(action("2026-11-20T02:59:59Z"), PruneAction::Leave, "it may be on its way");
        assert_eq!(action("2026-11-20T03:00:00Z"), PruneAction::Delete);
        let doubted = BackupEntry {
            content_warnings: vec!["a page is wrong".into()],
            ..entry(BackupState::Whole, Some("shop"))
        };
        assert!(
            kept(&doubted).unwrap().is_doubted
                && !kept(&entry(BackupState::Whole, Some("shop"))).unwrap().is_doubted
        );
        let unnamed = BackupEntry { key: None, ..entry(BackupState::Whole, Some("db1: standard input")) };
        assert!(kept(&unnamed).is_none());
        let damaged = kept(&entry(BackupState::Damaged, Some("shop"))).unwrap();
        assert_eq!(damaged.proof, Proof::Damaged);
    }

    /// Today's increment was deleted, because its base had a stripe elsewhere and so no rule applied to it.
    #[test]
    fn an_increment_is_left_where_what_it_is_based_on_is_left() {
        let named = |set: &str, base: Option<&str>, state| {
            let base = base.map(str::to_owned);
            BackupEntry { set: set.into(), base, ..entry(state, Some("shop")) }
        };
        let all = [
            named("whole", None, BackupState::Whole),
            named("away", None, BackupState::Elsewhere),
            named("today", Some("away"), BackupState::Whole),
            named("later", Some("today"), BackupState::Whole),
            named("good", Some("whole"), BackupState::Whole),
            named("alone", Some("gone"), BackupState::Whole),
        ];
        let counted = counted(&all.iter().collect::<Vec<_>>());
        assert_eq!(counted.into_iter().collect::<Vec<_>>(), ["good", "whole"]);
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
