//! Opens targets, with direct I/O if possible, and otherwise with the reason why not.
//!
//! A path is resolved once, to an inode, and every later open goes through that inode, so that nothing can be
//! swapped in between the check and the use.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use iostall_measure::platform::{DirectIo, TargetKind};
use iostall_measure::{Caching, Durability};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, SeekFrom, StatxFlags};
use rustix::io::Errno;
use thiserror::Error;

use crate::buffer::{BufferPool, Pages};

/// `O_DSYNC`. rustix's constant of that name is `O_SYNC` on Linux, which also syncs metadata that no read of the data needs, such
/// as the time of the write: each write would wait for the file system's journal.
const DATA_SYNC: OFlags = OFlags::from_bits_retain(libc::O_DSYNC.cast_unsigned());

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Access {
    #[default]
    Read,
    Write,
    ReadWrite,
}

impl Access {
    fn flags(self) -> OFlags {
        match self {
            Self::Read => OFlags::RDONLY,
            Self::Write => OFlags::WRONLY,
            Self::ReadWrite => OFlags::RDWR,
        }
    }

    fn verb(self) -> &'static str {
        match self {
            Self::Read => "reading",
            Self::Write => "writing",
            Self::ReadWrite => "reading and writing",
        }
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub struct OpenOptions {
    pub access: Access,
    pub caching: Caching,
    /// What a completed write guarantees: write-through opens with `O_DSYNC`.
    pub durability: Durability,
    /// With write-through: `O_SYNC` instead of `O_DSYNC`, so that a completed write has made all metadata durable too.
    pub sync_metadata: bool,
    /// `O_EXCL` on a block device: fails with `EBUSY` while it is mounted or held, and keeps others from
    /// mounting it. The claim belongs to the open file: open once and share it among workers. No effect on a
    /// file.
    pub exclusive: bool,
}

#[derive(Debug)]
pub struct OpenTarget {
    pub path: PathBuf,
    pub kind: TargetKind,
    pub size_bytes: u64,
    /// Result of the direct I/O request; `None` if it was not requested.
    pub direct: Option<DirectIo>,
    file: File,
}

impl OpenTarget {
    pub fn file(&self) -> &File {
        &self.file
    }

    /// A path to reopen it by, even if its own path now refers to something else.
    pub fn open_path(&self) -> PathBuf {
        open_path(&self.file)
    }
}

impl AsFd for OpenTarget {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

#[derive(Debug, Error)]
pub enum OpenError {
    #[error("cannot open {} for {access}: {source}", path.display())]
    Refused { path: PathBuf, access: &'static str, source: io::Error },
    #[error("{} is {found}: name a regular file or a block device", path.display())]
    Kind { path: PathBuf, found: &'static str },
}

/// Opens a regular file or a block device and reports whether direct I/O works.
///
/// Direct I/O is granted when the file opens with `O_DIRECT` and `statx` reports an alignment for it. If the
/// file system accepts `O_DIRECT` without reporting an alignment, the file stays open with `O_DIRECT` and the
/// result carries the reason; on tmpfs, for example, reads still come from memory. If it is refused, the file
/// is opened through the page cache, again with the reason.
pub fn open_target(path: &Path, options: &OpenOptions) -> Result<OpenTarget, OpenError> {
    let refused = |source: Errno| OpenError::Refused {
        path: path.to_owned(),
        access: options.access.verb(),
        source: source.into(),
    };
    let inode = rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).map_err(refused)?;
    let kind = kind_of(&inode, path)?;
    let mut flags = options.access.flags() | OFlags::CLOEXEC;
    if options.durability == Durability::WriteThrough {
        flags |= if options.sync_metadata { OFlags::SYNC } else { DATA_SYNC };
    }
    if options.exclusive && kind == TargetKind::BlockDevice {
        flags |= OFlags::EXCL;
    }
    let (file, direct) = match options.caching {
        Caching::Buffered => (reopen(&inode, flags).map_err(refused)?, None),
        Caching::Direct => {
            let (file, direct) = open_direct(&inode, flags, options.access).map_err(refused)?;
            (file, Some(direct))
        }
    };
    if matches!(file_system_of(&file).as_str(), "tmpfs" | "ramfs") {
        spare_hand_over(&file).map_err(refused)?;
    }
    let size_bytes = match kind {
        TargetKind::BlockDevice => rustix::fs::seek(&file, SeekFrom::End(0)).map_err(refused)?,
        TargetKind::File | TargetKind::Synthetic => {
            u64::try_from(rustix::fs::fstat(&file).map_err(refused)?.st_size).unwrap_or(0)
        }
    };
    Ok(OpenTarget { path: path.to_owned(), kind, size_bytes, direct, file: File::from(file) })
}

/// Opens the file behind `file` once more, with other options; its path does not matter.
pub fn open_again(file: &File, options: &OpenOptions) -> Result<OpenTarget, OpenError> {
    open_target(&open_path(file), options)
}

fn kind_of(inode: &OwnedFd, path: &Path) -> Result<TargetKind, OpenError> {
    let stat = rustix::fs::fstat(inode).map_err(|source| OpenError::Refused {
        path: path.to_owned(),
        access: "its kind",
        source: source.into(),
    })?;
    let found = match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => return Ok(TargetKind::File),
        FileType::BlockDevice => return Ok(TargetKind::BlockDevice),
        FileType::Directory => "a directory",
        FileType::CharacterDevice => "a character device",
        FileType::Fifo => "a pipe",
        FileType::Socket => "a socket",
        _ => "neither",
    };
    Err(OpenError::Kind { path: path.to_owned(), found })
}

/// Reopens the inode behind `inode`, even if its path now refers to something else.
fn reopen(inode: &OwnedFd, flags: OFlags) -> Result<OwnedFd, Errno> {
    rustix::fs::open(open_path(inode), flags, Mode::empty())
}

/// The path to reopen an open file by, while it is open.
pub fn open_path(file: &impl AsRawFd) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

/// Tries `O_DIRECT`, then asks `statx`, then (if that has no answer) tries one read.
fn open_direct(inode: &OwnedFd, flags: OFlags, access: Access) -> Result<(OwnedFd, DirectIo), Errno> {
    let file = match reopen(inode, flags | OFlags::DIRECT) {
        Ok(file) => file,
        Err(Errno::INVAL | Errno::OPNOTSUPP) => {
            let file = reopen(inode, flags)?;
            let reason =
                format!("{} refuses O_DIRECT: through the page cache instead", file_system_of(&file));
            return Ok((file, not_granted(reason)));
        }
        Err(errno) => return Err(errno),
    };
    match dio_alignment(&file) {
        DioAlignment::Bytes { memory, offset } => {
            let granted = DirectIo {
                granted: true,
                memory_align: Some(memory),
                offset_align: Some(offset),
                reason: None,
            };
            Ok((file, granted))
        }
        DioAlignment::Unsupported => {
            let kind = file_system_of(&file);
            drop(file);
            let reason = format!("{kind} has no direct I/O for this file: through the page cache instead");
            Ok((reopen(inode, flags)?, not_granted(reason)))
        }
        DioAlignment::Untold => {
            let kind = file_system_of(&file);
            if access != Access::Write && one_read_is_refused(&file) {
                drop(file);
                let reason =
                    format!("{kind} opens with O_DIRECT but refuses to read: through the page cache instead");
                return Ok((reopen(inode, flags)?, not_granted(reason)));
            }
            let reason = if matches!(kind.as_str(), "tmpfs" | "ramfs") {
                format!("{kind} accepts O_DIRECT but answers from memory: no device is involved")
            } else {
                format!(
                    "{kind} accepts O_DIRECT but reports no alignment for it: \
                     it is unknown whether requests bypass the page cache"
                )
            };
            Ok((file, not_granted(reason)))
        }
    }
}

/// Lets a ring complete requests on in-memory files inline.
///
/// A ring first tries a request without blocking, and passes it to a kernel thread unless the file guarantees
/// that. tmpfs does not guarantee it although it only copies memory, so each 4 KiB read cost two context
/// switches, more than the read itself. `O_NONBLOCK` provides the guarantee and has no other effect on a
/// regular file.
fn spare_hand_over(file: &OwnedFd) -> Result<(), Errno> {
    let flags = rustix::fs::fcntl_getfl(file)?;
    rustix::fs::fcntl_setfl(file, flags | OFlags::NONBLOCK)
}

fn not_granted(reason: String) -> DirectIo {
    DirectIo { granted: false, memory_align: None, offset_align: None, reason: Some(reason) }
}

enum DioAlignment {
    Bytes {
        memory: u32,
        offset: u32,
    },
    /// The file system reports that it does not support direct I/O.
    Unsupported,
    /// The file system or the kernel (before 6.1) does not report it.
    Untold,
}

fn dio_alignment(file: &OwnedFd) -> DioAlignment {
    let Ok(statx) = rustix::fs::statx(file, "", AtFlags::EMPTY_PATH, StatxFlags::DIOALIGN) else {
        return DioAlignment::Untold;
    };
    if !StatxFlags::from_bits_retain(statx.stx_mask).contains(StatxFlags::DIOALIGN) {
        return DioAlignment::Untold;
    }
    match (statx.stx_dio_mem_align, statx.stx_dio_offset_align) {
        (_, 0) => DioAlignment::Unsupported,
        (memory, offset) => DioAlignment::Bytes { memory, offset },
    }
}

/// Whether a fully aligned read fails as unaligned or unsupported. Other errors are the device's, and the
/// load will report them.
fn one_read_is_refused(file: &OwnedFd) -> bool {
    let Ok((_pool, mut buffers)) = BufferPool::new(1, 4096, Pages::Small) else { return false };
    let read = rustix::io::pread(file, &mut buffers[0][..], 0);
    matches!(read, Err(Errno::INVAL | Errno::OPNOTSUPP))
}

/// The name of the file system of an open file, as `mount` spells it, by its magic number.
fn file_system_of(file: &OwnedFd) -> String {
    let Ok(stat) = rustix::fs::fstatfs(file) else { return "the file system".into() };
    // Magic numbers from `linux/magic.h`; those of ZFS and bcachefs from their own headers.
    let name = match u32::try_from(stat.f_type & 0xffff_ffff).unwrap_or(0) {
        0xef53 => "ext4",
        0x5846_5342 => "xfs",
        0x9123_683e => "btrfs",
        0x0102_1994 => "tmpfs",
        0x8584_58f6 => "ramfs",
        0x9584_58f6 => "hugetlbfs",
        0x794c_7630 => "overlay",
        0x6573_5546 => "fuse",
        0x6969 => "nfs",
        0xff53_4d42 | 0xfe53_4d42 => "cifs",
        0xf2f5_2010 => "f2fs",
        0x2fc1_2fc1 => "zfs",
        0xca45_1a4e => "bcachefs",
        0x0102_1997 => "9p",
        0x4d44 => "vfat",
        0x2011_bab0 => "exfat",
        0xf15f => "ecryptfs",
        0x7371_7368 => "squashfs",
        0x6265_6572 => "sysfs",
        0x9fa0 => "proc",
        other => return format!("the file system of type {other:#x}"),
    };
    name.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn direct(access: Access) -> OpenOptions {
        OpenOptions { access, ..OpenOptions::default() }
    }

    fn flags_of(target: &OpenTarget) -> OFlags {
        rustix::fs::fcntl_getfl(target).unwrap()
    }

    #[test]
    fn direct_io_is_granted_only_with_an_alignment_and_refused_only_with_a_reason() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("data");
        fs::write(&path, vec![7u8; 12_288]).unwrap();
        let target = open_target(&path, &direct(Access::ReadWrite)).unwrap();
        assert_eq!((target.kind, target.size_bytes), (TargetKind::File, 12_288));
        let outcome = target.direct.as_ref().unwrap();
        assert_eq!(outcome.granted, outcome.offset_align.is_some());
        assert_eq!(outcome.granted, outcome.reason.is_none());
        assert!(!outcome.granted || flags_of(&target).contains(OFlags::DIRECT));
        assert!(!outcome.granted || !flags_of(&target).contains(OFlags::NONBLOCK));
    }

    #[test]
    fn tmpfs_keeps_o_direct_but_is_told_to_answer_from_memory() {
        let shm = Path::new("/dev/shm");
        let dir = tempfile::tempdir_in(shm).unwrap();
        let path = dir.path().join("data");
        fs::write(&path, vec![7u8; 4096]).unwrap();
        let target = open_target(&path, &direct(Access::Read)).unwrap();
        let outcome = target.direct.as_ref().unwrap();
        assert!(!outcome.granted);
        let reason = outcome.reason.as_deref().unwrap();
        // Kernels before 6.6 refuse O_DIRECT on tmpfs; both results name it.
        assert!(reason.starts_with("tmpfs "), "{reason}");
        assert_eq!(flags_of(&target).contains(OFlags::DIRECT), reason.contains("answers from memory"));
        assert!(flags_of(&target).contains(OFlags::NONBLOCK));
    }

    #[test]
    fn a_file_system_that_refuses_o_direct_is_read_through_the_page_cache() {
        let target = open_target(Path::new("/proc/self/status"), &direct(Access::Read)).unwrap();
        let reason = target.direct.as_ref().unwrap().reason.clone().unwrap();
        assert!(reason.starts_with("proc refuses O_DIRECT"), "{reason}");
        assert!(!flags_of(&target).contains(OFlags::DIRECT));
    }

    #[test]
    fn buffered_and_write_through_are_what_was_asked_for() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("data");
        fs::write(&path, b"x").unwrap();
        let options = OpenOptions {
            access: Access::Write,
            caching: Caching::Buffered,
            durability: Durability::WriteThrough,
            sync_metadata: false,
            exclusive: true,
        };
        let target = open_target(&path, &options).unwrap();
        assert!(target.direct.is_none());
        let flags = flags_of(&target);
        assert!(flags.contains(DATA_SYNC | OFlags::WRONLY) && !flags.contains(OFlags::DIRECT));
        assert!(
            !flags.contains(OFlags::SYNC),
            "metadata that nobody asked for would be synced with each write"
        );
        let target = open_target(&path, &OpenOptions { sync_metadata: true, ..options }).unwrap();
        assert!(flags_of(&target).contains(OFlags::SYNC));
    }

    #[test]
    fn what_cannot_be_loaded_is_refused_by_name() {
        let dir = tempfile::tempdir().unwrap();
        let message = |path: &Path| open_target(path, &direct(Access::Read)).unwrap_err().to_string();
        assert!(message(dir.path()).contains("is a directory: name a regular file or a block device"));
        assert!(message(Path::new("/dev/null")).contains("is a character device"));
        let missing = dir.path().join("missing");
        assert!(message(&missing).starts_with(&format!("cannot open {} for reading: ", missing.display())));
    }
}
