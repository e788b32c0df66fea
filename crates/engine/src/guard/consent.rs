//! The user's word, and whether it names a given target.

use std::fs::Metadata;
use std::path::{Path, PathBuf};

use super::inode::same_inode;
use super::place::{LINKS_MAX, place_of};

/// What the user has said may be destroyed, each list by the flag it was given with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WriteConsent {
    /// `--overwrite PATH`: a file that iostall did not make, a new one in a directory of a database, or a block device
    /// without a signature.
    pub overwrite: Vec<PathBuf>,
    /// `--destroy-database PATH`: a file that belongs to a database.
    pub destroy_database: Vec<PathBuf>,
    /// `--destroy PATH`: a block device with a file system, partition table or the like on it.
    pub destroy_signature: Vec<PathBuf>,
}

impl WriteConsent {
    /// Permission for nothing.
    pub fn none() -> Self {
        Self::default()
    }

    pub(super) fn overwrites(&self, target: &Named<'_>) -> bool {
        target.is_in(&self.overwrite)
    }

    /// Whether the user named the file that would be made at `place`, every link followed.
    pub(super) fn names_new_file(&self, place: &Path) -> bool {
        let leads_there = |word: &PathBuf| {
            std::path::absolute(word)
                .and_then(|word| place_of(&word, LINKS_MAX))
                .is_ok_and(|word| word == place)
        };
        self.overwrite.iter().chain(&self.destroy_database).any(leads_there)
    }

    pub(super) fn destroys_database(&self, target: &Named<'_>) -> bool {
        target.is_in(&self.destroy_database)
    }

    pub(super) fn destroys_signature(&self, target: &Named<'_>) -> bool {
        target.is_in(&self.destroy_signature)
    }
}

/// A target as the word must name it: the same resolved path *and* the same inode. A hard link elsewhere is
/// another name for the data, but not what the user had in mind when writing this one.
pub(super) struct Named<'a> {
    /// Every link in it followed.
    pub(super) path: &'a Path,
    /// Of the open descriptor.
    pub(super) metadata: &'a Metadata,
}

impl Named<'_> {
    fn is_in(&self, words: &[PathBuf]) -> bool {
        words.iter().any(|word| {
            let Ok(path) = std::fs::canonicalize(word) else { return false };
            let Ok(metadata) = std::fs::metadata(&path) else { return false };
            path == self.path && same_inode(&metadata, self.metadata)
        })
    }
}
