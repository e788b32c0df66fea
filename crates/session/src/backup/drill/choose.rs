//! Which backup a drill is of.

use std::path::PathBuf;

use iostall_transfer::backup::catalog::{FoundSet, SetState, scan};
use iostall_transfer::backup::codec::Unlock;

use super::error::DrillError;
use crate::backup::known::source_name;

/// The files of the set to restore: those that were named, or those of the newest whole set in the directories that were named.
/// With `source`, only sets of a source whose name contains it count.
pub(super) fn files(
    named: &[PathBuf],
    source: Option<&str>,
    unlock: Option<&Unlock>,
) -> Result<Vec<PathBuf>, DrillError> {
    let directories = named.iter().filter(|path| path.is_dir()).count();
    if directories == 0 {
        return match (source, named.first()) {
            (Some(_), Some(path)) => Err(DrillError::NothingToChoose { path: path.clone() }),
            _ => Ok(named.to_vec()),
        };
    }
    if directories < named.len() {
        return Err(DrillError::FilesAndDirectories);
    }
    let found = scan(named, unlock)?;
    let is_it = |found: &&FoundSet| found.state() == SetState::Whole && is_of(found, source);
    let newest = found.iter().filter(is_it).max_by_key(|found| (found.created_unix_ns, found.set));
    newest.map(files_of).ok_or_else(|| DrillError::NoSet {
        directories: named.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(" "),
        source_text: source.map(str::to_owned),
    })
}

fn is_of(found: &FoundSet, source: Option<&str>) -> bool {
    let Some(source) = source else { return true };
    found.manifest.as_ref().is_some_and(|manifest| {
        let named: Vec<String> = manifest.sources.iter().map(|source| source.named.clone()).collect();
        source_name(&manifest.host, &named).contains(source)
    })
}

fn files_of(found: &FoundSet) -> Vec<PathBuf> {
    let stripes = found.stripes.iter().filter(|stripe| !stripe.is_unfinished);
    found.manifests.iter().take(1).cloned().chain(stripes.map(|stripe| stripe.path.clone())).collect()
}
