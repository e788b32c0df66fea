//! Sets that are restored, checked and rebuilt; and what was done to some of them before.

mod attacks;
mod damage;
pub(in crate::backup) mod increments;
mod real;
mod trial;
mod whole;
mod without_key;
mod writer;

use std::path::{Path, PathBuf};

use iostall_model::backup::FileKind;

use super::codec::Unlock;
use super::read::{ReadError, open, open_with};
use super::restore::{RestoreError, RestoreOptions, Restored, restore};
use super::verify::{Verified, VerifyOptions, verify};
use crate::progress::Progress;
use writer::{Made, OnDisk};

fn restored(paths: &[PathBuf], to: &Path, unlock: Option<&Unlock>) -> Result<Restored, RestoreError> {
    restored_with(paths, to, unlock, &RestoreOptions::default())
}

fn restored_with(
    paths: &[PathBuf],
    to: &Path,
    unlock: Option<&Unlock>,
    options: &RestoreOptions<'_>,
) -> Result<Restored, RestoreError> {
    let set = open(paths, unlock)?;
    restore(&set, to, options, &Progress::default()).map_err(|failed| {
        assert_eq!(failed.left, None, "{}", failed.error);
        failed.error
    })
}

fn verified(paths: &[PathBuf], unlock: Option<&Unlock>, headers_only: bool) -> Result<Verified, ReadError> {
    let set = open(paths, unlock)?;
    verify(&set, &VerifyOptions { headers_only, rate: None }, &Progress::default())
}

/// What is wrong, in words, whether it was found while opening or while reading.
fn damage(paths: &[PathBuf], unlock: Option<&Unlock>, headers_only: bool) -> Vec<String> {
    let found = match verified(paths, unlock, headers_only) {
        Ok(found) => found.damage,
        Err(ReadError::Damaged(damage)) => damage,
        Err(other) => panic!("{other}"),
    };
    found.iter().map(|one| format!("{}: {}", one.path.display(), one.message)).collect()
}

/// Everything of `made` is at `to` as it was.
fn assert_restored(made: &Made, to: &Path) {
    for (entry, content) in &made.entries {
        let path = writer::at(to, &entry.name);
        let metadata =
            std::fs::symlink_metadata(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        match &entry.kind {
            FileKind::Directory => assert!(metadata.is_dir()),
            FileKind::Symlink { to } => {
                assert_eq!(std::fs::read_link(&path).unwrap().to_str().unwrap(), to.to_string());
            }
            FileKind::HardLink { to: other } => {
                assert_eq!(std::fs::read(&path).unwrap(), std::fs::read(writer::at(to, other)).unwrap());
            }
            FileKind::File | FileKind::BlockDevice | FileKind::Stream => {
                assert!(std::fs::read(&path).unwrap() == *content, "{}", path.display());
            }
        }
        if !matches!(entry.kind, FileKind::HardLink { .. }) {
            let modified = metadata.modified().unwrap().duration_since(std::time::UNIX_EPOCH).unwrap();
            assert_eq!(modified.as_nanos(), 1_700_000_000_123_456_789, "{}", path.display());
        }
    }
}

/// Nothing is there, under the name or a temporary one.
fn assert_nothing(directory: &Path, except: &OnDisk) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let is_of_set = path == except.manifest || except.stripes.contains(&path);
        assert!(is_of_set, "{} was left", path.display());
    }
}
