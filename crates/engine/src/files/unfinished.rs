//! Files that this process created and that must not be left behind: unfinished copies, scratch files.
//!
//! Normally the code that created such a file removes it. This list is for a second Ctrl-C, when that code is
//! blocked on a device. Without it, a copy of many small files would leave thousands of unfinished files
//! behind.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::stamp::{FileStamp, stamp_of_link};

static OURS: Files = Files::new();

/// An entry in the list for as long as this value lives. It does not own the file itself.
#[derive(Debug)]
pub struct UnfinishedFile {
    number: u64,
}

impl UnfinishedFile {
    /// Adds the file at `path`. Only for a file that this process created: it may be removed.
    pub fn at(path: &Path) -> Self {
        Self { number: OURS.add(path, None) }
    }

    /// As [`Self::at`], but the file is kept if there is one at `journal`, because the copy can then be
    /// resumed.
    pub fn at_unless(path: &Path, journal: &Path) -> Self {
        Self { number: OURS.add(path, Some(journal)) }
    }

    /// Removes the entry early: the file has its final name, or is to be kept.
    pub fn finish(&self) {
        OURS.take(self.number);
    }
}

impl Drop for UnfinishedFile {
    fn drop(&mut self) {
        self.finish();
    }
}

/// Removes every listed file for as long as `continues` returns true; returns how many were listed and how many
/// were removed.
///
/// Call it only to end the process: from here on, anything that creates or finishes such a file blocks, so
/// that no new ones appear during the cleanup.
pub fn remove_unfinished(continues: impl FnMut() -> bool) -> (usize, usize) {
    OURS.remove_all(continues)
}

struct Listed {
    path: PathBuf,
    /// Device and inode, so that a different file put in its place is kept.
    identity: (u64, u64),
    /// If this file exists, the listed one is kept.
    journal: Option<PathBuf>,
}

impl Listed {
    fn is_to_go(&self) -> bool {
        let is_kept = self.journal.as_ref().is_some_and(|journal| journal.exists());
        !is_kept && stamp_of_link(&self.path).is_ok_and(|there| identity(&there) == self.identity)
    }
}

fn identity(stamp: &FileStamp) -> (u64, u64) {
    (stamp.device, stamp.inode)
}

struct Files {
    listed: Mutex<(u64, BTreeMap<u64, Listed>)>,
}

impl Files {
    const fn new() -> Self {
        Self { listed: Mutex::new((0, BTreeMap::new())) }
    }

    fn add(&self, path: &Path, journal: Option<&Path>) -> u64 {
        // Outside the lock: a file system that hangs must not block the removal of other files. A file that
        // is already gone needs no entry.
        let stamp = stamp_of_link(path).ok();
        let mut guard = self.listed.lock().unwrap_or_else(PoisonError::into_inner);
        let (last, listed) = &mut *guard;
        *last += 1;
        if let Some(stamp) = stamp {
            let (identity, journal) = (identity(&stamp), journal.map(Path::to_owned));
            let one = Listed { path: path.to_owned(), identity, journal };
            listed.insert(*last, one);
        }
        *last
    }

    fn take(&self, number: u64) {
        self.listed.lock().unwrap_or_else(PoisonError::into_inner).1.remove(&number);
    }

    fn remove_all(&self, mut continues: impl FnMut() -> bool) -> (usize, usize) {
        let mut guard = self.listed.lock().unwrap_or_else(PoisonError::into_inner);
        let to_go = std::mem::take(&mut guard.1);
        // Never unlocked: a thread that would list another file now waits until the process ends.
        std::mem::forget(guard);
        let mut removed = 0;
        for one in to_go.values().take_while(|_| continues()).filter(|one| one.is_to_go()) {
            // Its owner may just have removed it.
            removed += usize::from(std::fs::remove_file(&one.path).is_ok());
        }
        (to_go.len(), removed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn what_is_listed_goes_but_what_a_journal_keeps_and_what_is_finished_stays() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        for name in ["part", "kept", "kept.journal", "lost", "done"] {
            fs::write(path(name), "x").unwrap();
        }
        let files = Files::new();
        files.add(&path("part"), None);
        files.add(&path("kept"), Some(&path("kept.journal")));
        files.add(&path("lost"), Some(&path("lost.journal")));
        files.add(&path("never made"), None);
        let done = files.add(&path("done"), None);
        files.take(done);
        // Another program replaced this one.
        fs::write(path("replaced"), "x").unwrap();
        files.add(&path("replaced"), None);
        fs::rename(path("replaced"), path("away")).unwrap();
        fs::write(path("replaced"), "precious").unwrap();
        assert_eq!(
            files.remove_all(|| true),
            (4, 2),
            "of four that were there, one is kept and one is another by now"
        );
        assert_eq!(fs::read(path("replaced")).unwrap(), b"precious");
        let left = |name: &str| path(name).exists();
        assert!(!left("part") && !left("lost"));
        assert!(left("kept") && left("kept.journal") && left("done"));
    }

    /// A file system that takes a second for each name must not delay an exit that was requested twice.
    #[test]
    fn removing_ends_when_its_time_is_over() {
        let directory = tempfile::tempdir().unwrap();
        let files = Files::new();
        for name in ["1", "2", "3"] {
            fs::write(directory.path().join(name), "x").unwrap();
            files.add(&directory.path().join(name), None);
        }
        let mut left = 2;
        let continues = || {
            left -= 1;
            left >= 0
        };
        assert_eq!(files.remove_all(continues), (3, 2));
        assert!(directory.path().join("3").exists());
    }

    /// A worker that creates another file during the cleanup would leave it behind.
    #[test]
    fn nobody_lists_another_file_once_they_are_being_removed() {
        let files = std::sync::Arc::new(Files::new());
        files.remove_all(|| true);
        assert!(files.listed.try_lock().is_err());
    }
}
