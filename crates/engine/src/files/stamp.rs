//! Which file it is, and whether it is still what it was.

use std::io;
use std::os::fd::AsFd;
use std::path::Path;

use rustix::fs::{FileType, Stat};

/// What an inode is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// A regular file.
    Regular,
    /// A directory.
    Directory,
    /// A symbolic link.
    Symlink,
    /// A pipe, a socket or a device.
    Special,
}

/// Identity, size and times of a file at one moment. Two stamps of one open file without
/// a [`Self::change_since`] mean that nobody wrote to it in between, as far as the file system's clock can tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileStamp {
    /// Device that the file system is on, as the system numbers it.
    pub device: u64,
    /// Inode.
    pub inode: u64,
    /// What it is.
    pub kind: FileKind,
    /// Size, bytes.
    pub size_bytes: u64,
    /// Bytes that have blocks.
    pub allocated_bytes: u64,
    /// Last read, as far as the file system notes it, nanoseconds since 1970. Reading may move it: not a part of
    /// [`Self::change_since`].
    pub accessed_ns: i128,
    /// Last change of the content, nanoseconds since 1970.
    pub modified_ns: i128,
    /// Last change of anything, nanoseconds since 1970. Nobody can set it back.
    pub changed_ns: i128,
    /// Names it has.
    pub links: u64,
    /// Permission bits, set-id and sticky bits included.
    pub mode: u32,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// Device number of a device node.
    pub special_device: u64,
}

impl FileStamp {
    /// Whether both are the same file, by whatever name.
    pub fn is_same_file(&self, other: &Self) -> bool {
        (self.device, self.inode) == (other.device, other.inode)
    }

    /// What was changed since `earlier`, in words; `None` where nothing was.
    pub fn change_since(&self, earlier: &Self) -> Option<&'static str> {
        let metadata = (self.changed_ns != earlier.changed_ns).then_some("its metadata was changed");
        self.content_change_since(earlier).or(metadata)
    }

    /// What was changed of the content since `earlier`, in words. A new mode, attribute or name is none; but whoever sets
    /// the time of modification back has changed nothing by this measure, and something by [`Self::change_since`].
    pub fn content_change_since(&self, earlier: &Self) -> Option<&'static str> {
        match () {
            () if !self.is_same_file(earlier) => Some("another file has taken its name"),
            () if self.size_bytes != earlier.size_bytes => Some("its size changed"),
            () if self.modified_ns != earlier.modified_ns => Some("its content was modified"),
            () => None,
        }
    }
}

/// Of an open file.
pub fn stamp(file: impl AsFd) -> io::Result<FileStamp> {
    Ok(from_stat(&rustix::fs::fstat(file)?))
}

/// Of what a path names in the end, links followed.
pub fn stamp_of_path(path: &Path) -> io::Result<FileStamp> {
    Ok(from_stat(&rustix::fs::stat(path)?))
}

/// Whether a path names a block device in the end, links followed.
pub fn is_block_device(path: &Path) -> bool {
    let is_block = |stat: Stat| FileType::from_raw_mode(stat.st_mode) == FileType::BlockDevice;
    rustix::fs::stat(path).is_ok_and(is_block)
}

/// Of what a path names itself: a link is a link.
pub fn stamp_of_link(path: &Path) -> io::Result<FileStamp> {
    Ok(from_stat(&rustix::fs::lstat(path)?))
}

// The fields of `stat` have another width on every architecture.
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::io::Write as _;

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
}
