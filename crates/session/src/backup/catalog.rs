//! The backups in directories, with what the store knows of them.

use std::path::{Path, PathBuf};

use iostall_model::backup::Manifest;
use iostall_model::backup_entry::{BackupEntry, BackupState, LeftUploads};
use iostall_transfer::backup::catalog::{FoundSet, ScanError, SetState, scan};
use iostall_transfer::backup::codec::Unlock;
use jiff::Timestamp;

use super::known::KnownSets;
use super::set::short;

#[derive(Clone, Debug)]
pub struct CatalogEntry {
    pub entry: BackupEntry,
    pub(super) found: FoundSet,
}

pub fn catalog(
    directories: &[PathBuf],
    unlock: Option<&Unlock>,
    known: &KnownSets,
) -> Result<Vec<CatalogEntry>, ScanError> {
    let found = scan(directories, unlock)?;
    let mut all: Vec<CatalogEntry> =
        found.into_iter().map(|found| CatalogEntry { entry: entry(&found, known), found }).collect();
    let whole = all.iter().filter(|one| one.entry.state == BackupState::Whole);
    let whole: Vec<String> = whole.map(|one| one.entry.set.clone()).collect();
    for one in &mut all {
        let missing = one.entry.base.as_ref().filter(|base| !whole.contains(base));
        if let Some(base) = missing.filter(|_| one.entry.wrong.is_empty()) {
            one.entry.wrong = format!("set {}, which it is based on, is not whole here", short(base));
        }
    }
    Ok(all)
}

fn entry(found: &FoundSet, known: &KnownSets) -> BackupEntry {
    let set = found.set.to_string();
    let (state, wrong) = match found.state() {
        SetState::Whole => (BackupState::Whole, String::new()),
        SetState::NotCompleted => (BackupState::NotCompleted, String::new()),
        SetState::BeingDeleted => (BackupState::BeingDeleted, String::new()),
        SetState::Damaged(why) => (BackupState::Damaged, why),
        SetState::Elsewhere(missing) => (BackupState::Elsewhere, missing_words(&missing)),
    };
    let manifest = found.manifest.as_ref();
    let source = manifest.map(Manifest::source).or_else(|| known.source(&set).map(str::to_owned));
    let key = match manifest {
        Some(manifest) => manifest.source_key(),
        None => known.key(&set).map(str::to_owned),
    };
    let stripes = found.stripes.iter().map(|stripe| stripe.path.as_path());
    let manifests = found.manifests.iter().chain(&found.removed).map(PathBuf::as_path);
    let notes = found.notes.iter().map(PathBuf::as_path);
    let files: Vec<String> = manifests.chain(stripes).chain(notes).map(shown).collect();
    let created = found.created_unix_ns.and_then(|ns| Timestamp::from_nanosecond(ns.into()).ok());
    BackupEntry {
        created_utc: created,
        source,
        key,
        base: found.base.map(|base| base.to_string()),
        state,
        wrong,
        proof: known.proof(&set),
        content_warnings: manifest.map_or_else(|| known.content_warnings(&set), Manifest::content_warnings),
        is_encrypted: found.is_encrypted,
        object_lock: found.protection().lock,
        legal_hold: found.protection().legal_hold,
        left: left(found),
        size_bytes: manifest.map(|manifest| manifest.totals.bytes),
        stored_bytes: found.stripes.iter().map(|stripe| stripe.bytes).sum(),
        stripes: found.stripe_count.unwrap_or_default(),
        path: files.first().cloned(),
        files,
        run: known.run(&set).map(Into::into),
        set,
    }
}

/// In a set that is whole, a note alone says nothing.
fn left(found: &FoundSet) -> Option<LeftUploads> {
    let newest_utc = found.uploaded_utc().filter(|_| found.manifests.is_empty())?;
    let bytes = found.uploads.iter().map(|upload| upload.bytes).sum();
    Some(LeftUploads { uploads: found.uploads.len() as u64, bytes, newest_utc })
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

fn missing_words(missing: &[u16]) -> String {
    let numbers: Vec<String> = missing.iter().map(|number| (number + 1).to_string()).collect();
    let plural = if numbers.len() == 1 { "stripe" } else { "stripes" };
    format!("{plural} {} not found here", numbers.join(", "))
}
