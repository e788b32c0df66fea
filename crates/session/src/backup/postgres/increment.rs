//! Increments that a server makes itself, from version 17: it knows from its log which blocks have changed.

use std::fs::File;
use std::path::{Path, PathBuf};

use iostall_connect::postgres::ReplicationSession;
use iostall_engine::files;
use iostall_measure::clock::utc_now;
use iostall_model::backup::{PostgresRecord, Through};
use iostall_transfer::Progress;
use iostall_transfer::backup::read::OpenSet;
use iostall_transfer::backup::restore::{RestoreOptions, restore};

use super::base_files::MANIFEST;
use super::error::PostgresBackupError;

/// The first version that makes increments, and whose backups can be their base.
pub(super) const INCREMENTS: u32 = 17;
/// Files are put together in blocks of this size, which every server has that was not built otherwise.
const BLOCK_BYTES: u32 = 8192;
const SUMMARIES: &str = "summarize_wal";

/// Gives the server what it must know of `base`, a set on which an increment is to be made; returns where that began in
/// the log. If there can be no increment on it, that is an error and no reason for a whole backup: that might not fit,
/// or take all night.
pub(super) fn upload(
    session: &mut ReplicationSession,
    system_identifier: u64,
    page_bytes: u32,
    base: &OpenSet,
) -> Result<String, PostgresBackupError> {
    let no = |why: String| PostgresBackupError::NoIncrement { why };
    if session.version() < INCREMENTS {
        return Err(no(format!("PostgreSQL {} cannot make any, and {INCREMENTS} can", session.version())));
    }
    let record = usable(base, system_identifier).map_err(no)?;
    if page_bytes != BLOCK_BYTES {
        return Err(no(format!("its blocks have {page_bytes} bytes")));
    }
    if session.show(SUMMARIES)? != "on" {
        return Err(no(format!("{SUMMARIES} is off, so the server does not know what has changed")));
    }
    let kept = Kept::of(base)?;
    let mut manifest = File::open(&kept.file).map_err(PostgresBackupError::read(&kept.file))?;
    session.upload_manifest(&mut manifest)?;
    Ok(record.start_lsn.clone())
}

fn usable(base: &OpenSet, system_identifier: u64) -> Result<&PostgresRecord, String> {
    let (set, manifest) = (base.manifest.set, &base.manifest);
    let has_manifest = manifest.files.iter().any(|file| file.name == MANIFEST.into());
    match manifest.postgres().next() {
        Some(record) if manifest.sources.len() == 1 => match () {
            () if record.through != Through::Replication || !has_manifest => Err(format!(
                "set {set} was not sent by the server, so there is no manifest of the server's in it"
            )),
            () if record.system_identifier != system_identifier => {
                Err(format!("set {set} is of another cluster"))
            }
            () if !manifest.bases.is_empty() && record.increment_from.is_none() => Err(format!(
                "set {set} is based on another one, and was not made by the server as an increment"
            )),
            () => Ok(record),
        },
        _ => Err(format!("set {set} is not of this one server of PostgreSQL alone")),
    }
}

/// The manifest of a set, in a directory of its own. Removed when dropped.
struct Kept {
    directory: PathBuf,
    file: PathBuf,
}

impl Kept {
    fn of(base: &OpenSet) -> Result<Self, PostgresBackupError> {
        let own = format!("iostall-manifest-{}-{}", std::process::id(), utc_now().as_nanosecond());
        let directory = std::env::temp_dir().join(own);
        files::create_new_directory_private(&directory).map_err(PostgresBackupError::read(&directory))?;
        let kept = Self { file: directory.join(MANIFEST), directory };
        let only = [PathBuf::from(MANIFEST)];
        let options = RestoreOptions { only: &only, ..RestoreOptions::default() };
        let restored = restore(base, &kept.file, &options, &Progress::default());
        restored.map_err(|not| PostgresBackupError::NoIncrement {
            why: format!("the server's manifest in set {} cannot be read: {}", base.manifest.set, not.error),
        })?;
        Ok(kept)
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        let directory: &Path = &self.directory;
        let _ = std::fs::remove_dir_all(directory);
    }
}
