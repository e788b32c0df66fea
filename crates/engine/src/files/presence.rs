//! Checks whether an open file was replaced, truncated or removed while it was in use.

use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Unit of `st_blocks`, whatever the file system's block size.
const ALLOCATION_BYTES: u64 = 512;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathNow {
    /// Still the file that was opened.
    Same,
    Gone,
    Other,
}

impl PathNow {
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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileNow {
    pub size_bytes: u64,
    pub allocated_bytes: u64,
}

impl FileNow {
    pub fn of(file: &File) -> io::Result<Self> {
        let metadata = file.metadata()?;
        let allocated_bytes = metadata.blocks().saturating_mul(ALLOCATION_BYTES);
        Ok(Self { size_bytes: metadata.len(), allocated_bytes })
    }

    /// The smaller of two readings, field by field.
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
