//! Files that may change while a collector runs.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

const LOOK_EVERY_NS: u64 = 1_000_000_000;

/// What shows that a file has changed, without reading it.
type Stamp = Vec<Option<(SystemTime, u64)>>;

/// Looks at files, and says when they have changed and are left alone again.
#[derive(Debug)]
pub(crate) struct FileWatch {
    paths: Vec<PathBuf>,
    /// As they were when they were read.
    read: Stamp,
    /// As they were at the last look.
    seen: Stamp,
    looked_ns: u64,
}

impl FileWatch {
    /// Watches `paths`, which have just been read.
    pub(crate) fn new(paths: Vec<PathBuf>) -> Self {
        let read = stamp(&paths);
        Self { paths, seen: read.clone(), read, looked_ns: 0 }
    }

    pub(crate) fn follow(&mut self, paths: Vec<PathBuf>) {
        if paths != self.paths {
            (self.read, self.paths) = (stamp(&paths), paths);
            self.seen.clone_from(&self.read);
        }
    }

    /// Whether they are to be read again. An editor that is still writing is given until the next look.
    pub(crate) fn has_changed(&mut self, now_ns: u64) -> bool {
        if now_ns.saturating_sub(self.looked_ns) < LOOK_EVERY_NS {
            return false;
        }
        self.looked_ns = now_ns;
        let now = stamp(&self.paths);
        let is_still = now == self.seen;
        self.seen = now;
        if !is_still || self.seen == self.read {
            return false;
        }
        self.read.clone_from(&self.seen);
        true
    }
}

fn stamp(paths: &[PathBuf]) -> Stamp {
    paths.iter().map(|path| stamp_of(path)).collect()
}

fn stamp_of(path: &Path) -> Option<(SystemTime, u64)> {
    let metadata = std::fs::metadata(path).ok()?;
    Some((metadata.modified().ok()?, metadata.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    #[test]
    fn a_file_is_read_again_once_after_it_changed_and_not_while_it_is_being_written() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("c.toml");
        std::fs::write(&path, "a").unwrap();
        let mut watch = FileWatch::new(vec![path.clone()]);
        assert!(!watch.has_changed(S) && !watch.has_changed(2 * S));
        std::fs::write(&path, "ab").unwrap();
        assert!(!watch.has_changed(3 * S), "somebody may still be writing");
        std::fs::write(&path, "abc").unwrap();
        assert!(!watch.has_changed(4 * S));
        assert!(!watch.has_changed(4 * S + 1), "a second has not passed");
        assert!(watch.has_changed(5 * S));
        assert!(!watch.has_changed(6 * S), "once is enough");
        std::fs::remove_file(&path).unwrap();
        assert!(!watch.has_changed(7 * S));
        assert!(watch.has_changed(8 * S), "that it is gone is news, too");
    }
}
