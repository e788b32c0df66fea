//! The user's consent to overwrite, and whether it covers a given target.

use std::fs::Metadata;
use std::path::{Path, PathBuf};

use super::place::{LINKS_MAX, place_of, same_inode};

/// Paths that the user allowed to be destroyed, one list per flag.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WriteConsent {
    /// `--overwrite PATH`: a file that iostall did not create, a new file in a database's directory, or a
    /// block device without a signature.
    pub overwrite: Vec<PathBuf>,
    /// `--destroy-database PATH`: a file that belongs to a database.
    pub destroy_database: Vec<PathBuf>,
    /// `--destroy PATH`: a block device that has a file system, partition table or similar on it.
    pub destroy_signature: Vec<PathBuf>,
}

impl WriteConsent {
    pub fn none() -> Self {
        Self::default()
    }

    pub(super) fn overwrites(&self, target: &Named<'_>) -> bool {
        target.is_in(&self.overwrite)
    }

    /// Whether the user named the file that would be created at `place`, following links.
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

/// The target as consent must name it: the same resolved path *and* the same inode. A hard link elsewhere
/// leads to the same data but is not what the user named.
pub(super) struct Named<'a> {
    /// With every link resolved.
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
