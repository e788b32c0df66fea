//! What became of an open file while it was worked on.

use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Unit of `st_blocks`, whatever the file system's own.
const ALLOCATION_BYTES: u64 = 512;

/// What a path leads to by now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathNow {
    /// The file that was opened.
    Same,
    /// Nothing.
    Gone,
    /// Another file.
    Other,
}

/// An open file at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileNow {
    /// Its length.
    pub size_bytes: u64,
    /// What the file system has allocated for it.
    pub allocated_bytes: u64,
    /// Whether it is still what its path leads to.
    pub path: PathNow,
}

impl FileNow {
    /// Looks at `file`, which was opened at `path`.
    ///
    /// # Errors
    /// When the file system does not answer.
    pub fn of(file: &File, path: &Path) -> io::Result<Self> {
        let metadata = file.metadata()?;
        let there = match std::fs::metadata(path) {
            Ok(there) if (there.dev(), there.ino()) == (metadata.dev(), metadata.ino()) => PathNow::Same,
            Ok(_) => PathNow::Other,
            Err(_) => PathNow::Gone,
        };
        let allocated_bytes = metadata.blocks().saturating_mul(ALLOCATION_BYTES);
        Ok(Self { size_bytes: metadata.len(), allocated_bytes, path: there })
    }

    /// The least that was there in two looks, and what the later one found at the path.
    #[must_use]
    pub fn least_with(self, later: Self) -> Self {
        Self {
            size_bytes: self.size_bytes.min(later.size_bytes),
            allocated_bytes: self.allocated_bytes.min(later.allocated_bytes),
            path: later.path,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_cut_removed_or_replaced_is_seen_to_be() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        std::fs::write(&path, vec![1; 8192]).unwrap();
        let file = File::options().read(true).write(true).open(&path).unwrap();
        let first = FileNow::of(&file, &path).unwrap();
        assert_eq!((first.size_bytes, first.path), (8192, PathNow::Same));
        file.set_len(0).unwrap();
        file.set_len(8192).unwrap();
        let regrown = FileNow::of(&file, &path).unwrap();
        assert_eq!((regrown.size_bytes, regrown.allocated_bytes), (8192, 0));
        std::fs::remove_file(&path).unwrap();
        assert_eq!(FileNow::of(&file, &path).unwrap().path, PathNow::Gone);
        std::fs::write(&path, "another").unwrap();
        assert_eq!(FileNow::of(&file, &path).unwrap().path, PathNow::Other);
        assert_eq!(first.least_with(regrown).allocated_bytes, 0);
    }
}
