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

impl PathNow {
    /// Whether `path` still leads to `file`.
    ///
    /// # Errors
    /// When the file system does not answer.
    pub fn of(file: &File, path: &Path) -> io::Result<Self> {
        let opened = file.metadata()?;
        match std::fs::metadata(path) {
            Ok(there) if (there.dev(), there.ino()) == (opened.dev(), opened.ino()) => Ok(Self::Same),
            Ok(_) => Ok(Self::Other),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self::Gone),
            Err(error) => Err(error),
        }
    }
}

/// The room of an open file at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileNow {
    /// Its length.
    pub size_bytes: u64,
    /// What the file system has allocated for it.
    pub allocated_bytes: u64,
}

impl FileNow {
    /// Looks at an open file.
    ///
    /// # Errors
    /// When the file system does not answer.
    pub fn of(file: &File) -> io::Result<Self> {
        let metadata = file.metadata()?;
        let allocated_bytes = metadata.blocks().saturating_mul(ALLOCATION_BYTES);
        Ok(Self { size_bytes: metadata.len(), allocated_bytes })
    }

    /// The least of two looks.
    #[must_use]
    pub fn least_with(self, other: Self) -> Self {
        Self {
            size_bytes: self.size_bytes.min(other.size_bytes),
            allocated_bytes: self.allocated_bytes.min(other.allocated_bytes),
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
        let first = FileNow::of(&file).unwrap();
        assert_eq!((first.size_bytes, PathNow::of(&file, &path).unwrap()), (8192, PathNow::Same));
        file.set_len(0).unwrap();
        file.set_len(8192).unwrap();
        let regrown = FileNow::of(&file).unwrap();
        assert_eq!((regrown.size_bytes, regrown.allocated_bytes), (8192, 0));
        std::fs::remove_file(&path).unwrap();
        assert_eq!(PathNow::of(&file, &path).unwrap(), PathNow::Gone);
        std::fs::write(&path, "another").unwrap();
        assert_eq!(PathNow::of(&file, &path).unwrap(), PathNow::Other);
        assert_eq!(first.least_with(regrown).allocated_bytes, 0);
    }
}
