//! What a drill is to do, and which backup it is of.

use std::path::PathBuf;

use iostall_measure::Nanos;
use iostall_transfer::backup::catalog::{FoundSet, SetState, scan};
use iostall_transfer::backup::codec::Unlock;

use super::error::DrillError;
use crate::backup::wal::PointRequest;

pub struct DrillRequest {
    /// The manifest, a stripe, or all stripes; or directories, of which the newest whole set is drilled.
    pub from: Vec<PathBuf>,
    /// In directories: only sets of a source whose name contains this.
    pub source: Option<String>,
    pub scratch: PathBuf,
    pub keep: bool,
    /// Where the programs of PostgreSQL or MariaDB are, if not where distributions have them.
    pub engine_dir: Option<PathBuf>,
    pub user: Option<String>,
    /// A superuser of the copy.
    pub role: String,
    /// The database that statements are run in; the usual one of the engine, if it has one, if `None`.
    pub database: Option<String>,
    /// Statements that must run without an error, and be true if they say whether something is true.
    pub statements: Vec<String>,
    pub settings: Vec<(String, String)>,
    pub timeout: Nanos,
    /// Where the sets may be that an increment is based on, if not beside it.
    pub bases: Vec<PathBuf>,
    pub unlock: Option<Unlock>,
    /// Where a PostgreSQL is to be brought, if not to the end of the backup.
    pub point: Option<PointRequest>,
    pub workers: Option<u32>,
    /// Maximum read rate, bytes a second.
    pub limit: Option<u64>,
}

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
    found.manifest.as_ref().is_some_and(|manifest| manifest.source().contains(source))
}

fn files_of(found: &FoundSet) -> Vec<PathBuf> {
    let stripes = found.stripes.iter().filter(|stripe| !stripe.is_unfinished);
    found.manifests.iter().take(1).cloned().chain(stripes.map(|stripe| stripe.path.clone())).collect()
}
