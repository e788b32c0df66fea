//! Identifies a file and detects whether it has changed or was replaced.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::{FileType, Stat};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    Regular,
    Directory,
    Symlink,
    /// A pipe, a socket or a device.
    Special,
}

/// Identity, size and times of a file at one time. If [`Self::change_since`] finds no difference between two
/// stamps of an open file, nobody wrote to it in between, within the resolution of the file system's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileStamp {
    /// Device number of the file system.
    pub device: u64,
    pub inode: u64,
    pub kind: FileKind,
    pub size_bytes: u64,
    pub allocated_bytes: u64,
    /// Last access, if the file system records it, nanoseconds since 1970. Not part of
    /// [`Self::change_since`], because reading may update it.
    pub accessed_ns: i128,
    /// Last change of the content (mtime), nanoseconds since 1970.
    pub modified_ns: i128,
    /// Last change of content or metadata (ctime), nanoseconds since 1970. No program can set it back.
    pub changed_ns: i128,
    pub links: u64,
    /// Permission bits, including set-id and sticky.
    pub mode: u32,
    pub uid: u32,
    pub gid: u32,
    pub special_device: u64,
}

impl FileStamp {
    pub fn is_same_file(&self, other: &Self) -> bool {
        (self.device, self.inode) == (other.device, other.inode)
    }

    /// What changed since `earlier`, in words; `None` if nothing did.
    pub fn change_since(&self, earlier: &Self) -> Option<&'static str> {
        let metadata = (self.changed_ns != earlier.changed_ns).then_some("its metadata was changed");
        self.content_change_since(earlier).or(metadata)
    }

    /// What changed in the content since `earlier`, in words. A new mode, attribute or name does not count. A
    /// program that sets the modification time back is caught only by [`Self::change_since`].
    pub fn content_change_since(&self, earlier: &Self) -> Option<&'static str> {
        match () {
            () if !self.is_same_file(earlier) => Some("another file has taken its name"),
            () if self.size_bytes != earlier.size_bytes => Some("its size changed"),
            () if self.modified_ns != earlier.modified_ns => Some("its content was modified"),
            () => None,
        }
    }
}

pub fn stamp(file: impl AsFd) -> io::Result<FileStamp> {
    Ok(from_stat(&rustix::fs::fstat(file)?))
}

/// Stamp of what a path refers to, following links.
pub fn stamp_of_path(path: &Path) -> io::Result<FileStamp> {
    Ok(from_stat(&rustix::fs::stat(path)?))
}

/// Stamp of a name in an open directory, not following a link.
pub(super) fn stamp_in(directory: impl AsFd, name: &std::ffi::OsStr) -> io::Result<FileStamp> {
    Ok(from_stat(&rustix::fs::statat(directory, name, rustix::fs::AtFlags::SYMLINK_NOFOLLOW)?))
}

/// Whether a path refers to a block device, following links.
pub fn is_block_device(path: &Path) -> bool {
    let is_block = |stat: Stat| FileType::from_raw_mode(stat.st_mode) == FileType::BlockDevice;
    rustix::fs::stat(path).is_ok_and(is_block)
}

/// Stamp of the path itself, not following a link.
pub fn stamp_of_link(path: &Path) -> io::Result<FileStamp> {
    Ok(from_stat(&rustix::fs::lstat(path)?))
}

// The fields of `stat` have a different width on each architecture.
#[allow(
    clippy::unnecessary_cast,
    clippy::cast_lossless,
    clippy::useless_conversion,
    reason = "the same on this architecture is not the same on all"
)]
fn from_stat(stat: &Stat) -> FileStamp {
    let kind = match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => FileKind::Regular,
        FileType::Directory => FileKind::Directory,
        FileType::Symlink => FileKind::Symlink,
        _ => FileKind::Special,
    };
    let nanos = |seconds: i64, nanos: u64| i128::from(seconds) * 1_000_000_000 + i128::from(nanos);
    FileStamp {
        device: stat.st_dev as u64,
        inode: stat.st_ino as u64,
        kind,
        size_bytes: u64::try_from(stat.st_size).unwrap_or(0),
        allocated_bytes: u64::try_from(stat.st_blocks).unwrap_or(0) * 512,
        accessed_ns: nanos(stat.st_atime as i64, stat.st_atime_nsec as u64),
        modified_ns: nanos(stat.st_mtime as i64, stat.st_mtime_nsec as u64),
        changed_ns: nanos(stat.st_ctime as i64, stat.st_ctime_nsec as u64),
        links: stat.st_nlink as u64,
        mode: stat.st_mode & 0o7777,
        uid: stat.st_uid,
        gid: stat.st_gid,
        special_device: stat.st_rdev as u64,
    }
}

/// Unit of `st_blocks`, whatever the file system's block size.
const ALLOCATION_BYTES: u64 = 512;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathNow {
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
    use std::fs;
    use std::io::Write as _;

    use super::*;

    #[test]
    fn a_file_that_was_written_to_no_longer_has_its_stamp() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("data");
        fs::write(&path, b"one").unwrap();
        let before = stamp_of_path(&path).unwrap();
        assert_eq!(stamp_of_path(&path).unwrap().change_since(&before), None);
        fs::OpenOptions::new().append(true).open(&path).unwrap().write_all(b"two").unwrap();
        assert_eq!(stamp_of_path(&path).unwrap().change_since(&before), Some("its size changed"));
    }

    #[test]
    fn two_names_of_one_inode_are_one_file_and_a_link_is_itself() {
        let dir = tempfile::tempdir().unwrap();
        let (path, hard, soft) = (dir.path().join("a"), dir.path().join("b"), dir.path().join("c"));
        fs::write(&path, b"one").unwrap();
        fs::hard_link(&path, &hard).unwrap();
        std::os::unix::fs::symlink(&path, &soft).unwrap();
        let first = stamp_of_path(&path).unwrap();
        assert!(first.is_same_file(&stamp_of_path(&hard).unwrap()));
        assert!(first.is_same_file(&stamp_of_path(&soft).unwrap()));
        assert_eq!(first.links, 2);
        assert_eq!(stamp_of_link(&soft).unwrap().kind, FileKind::Symlink);
    }

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
