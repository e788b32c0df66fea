//! Files that this process has made and that must not stay as they are: parts of copies, scratch files.
//!
//! Whoever makes one removes it when it is done. This list is for an end that comes before that: a second Ctrl-C, when the work
//! that would clean up waits for a device. Without it a copy of many small files leaves thousands of parts behind.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::stamp::{FileStamp, stamp_of_link};

/// The files of this process.
static OURS: Files = Files::new();

/// A file on the list, for as long as this value lives. The file itself is its owner's affair.
#[derive(Debug)]
pub struct UnfinishedFile {
    number: u64,
}

impl UnfinishedFile {
    /// Puts the file at `path` on the list. Only for one that is surely this process's own: another's would be removed.
    pub fn at(path: &Path) -> Self {
        Self { number: OURS.add(path, None) }
    }

    /// The same, but the file stays where there is one at `journal`: then its content is worth going on from.
    pub fn at_unless(path: &Path, journal: &Path) -> Self {
        Self { number: OURS.add(path, Some(journal)) }
    }

    /// Takes it from the list before this value goes: it has its final name, or is to stay.
    pub fn finish(&self) {
        OURS.take(self.number);
    }
}

impl Drop for UnfinishedFile {
    fn drop(&mut self) {
        self.finish();
    }
}

/// Removes every file that is on the list, for as long as `goes_on` says so; how many there were and how many are gone.
///
/// Call it only to end the process then: from here on, whoever makes or finishes such a file waits, so that none is made behind
/// the back of this.
pub fn remove_unfinished(goes_on: impl FnMut() -> bool) -> (usize, usize) {
    OURS.remove_all(goes_on)
}

/// One file of the list.
struct Listed {
    path: PathBuf,
    /// What it is: another file that was put in its place since stays.
    stamp: FileStamp,
    /// The file that would keep it.
    journal: Option<PathBuf>,
}

impl Listed {
    fn is_to_go(&self) -> bool {
        let is_kept = self.journal.as_ref().is_some_and(|journal| journal.exists());
        !is_kept && stamp_of_link(&self.path).is_ok_and(|there| there.is_same_file(&self.stamp))
    }
}

struct Files {
    listed: Mutex<(u64, BTreeMap<u64, Listed>)>,
}

impl Files {
    const fn new() -> Self {
        Self { listed: Mutex::new((0, BTreeMap::new())) }
    }

    fn add(&self, path: &Path, journal: Option<&Path>) -> u64 {
        // Outside of the lock: a file system that hangs must not keep the others' files from being removed. One that is not
        // there by now needs nobody to remove it.
        let stamp = stamp_of_link(path).ok();
        let mut guard = self.listed.lock().unwrap_or_else(PoisonError::into_inner);
        let (last, listed) = &mut *guard;
        *last += 1;
        if let Some(stamp) = stamp {
            let one = Listed { path: path.to_owned(), stamp, journal: journal.map(Path::to_owned) };
            listed.insert(*last, one);
        }
        *last
    }

    fn take(&self, number: u64) {
        self.listed.lock().unwrap_or_else(PoisonError::into_inner).1.remove(&number);
    }

    fn remove_all(&self, mut goes_on: impl FnMut() -> bool) -> (usize, usize) {
        let mut guard = self.listed.lock().unwrap_or_else(PoisonError::into_inner);
        let to_go = std::mem::take(&mut guard.1);
        // Never given back: whoever would list another file now waits for the end.
        std::mem::forget(guard);
        let mut removed = 0;
        for one in to_go.values().take_while(|_| goes_on()).filter(|one| one.is_to_go()) {
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
        // Somebody took this one away and put another there.
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

    /// A file system that takes a second for each name must not hold up an end that was asked for twice.
    #[test]
    fn removing_ends_when_its_time_is_over() {
        let directory = tempfile::tempdir().unwrap();
        let files = Files::new();
        for name in ["1", "2", "3"] {
            fs::write(directory.path().join(name), "x").unwrap();
            files.add(&directory.path().join(name), None);
        }
        let mut left = 2;
        let goes_on = || {
            left -= 1;
            left >= 0
        };
        assert_eq!(files.remove_all(goes_on), (3, 2));
        assert!(directory.path().join("3").exists());
    }

    /// A worker that makes one more part while the parts are removed would leave that one behind.
    #[test]
    fn nobody_lists_another_file_once_they_are_being_removed() {
        let files = std::sync::Arc::new(Files::new());
        files.remove_all(|| true);
        assert!(files.listed.try_lock().is_err());
    }
}
