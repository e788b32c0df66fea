//! Renames and directory syncs that never replace another program's file, and names as bytes.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, OFlags, RenameFlags};
use rustix::io::Errno;
use rustix::process::{Resource, Rlimit};

/// Renames `from` to `to`; fails with `AlreadyExists` if `to` exists.
pub fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    match rustix::fs::renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        Ok(()) => Ok(()),
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => rename_new_by_link(from, to),
        Err(errno) => Err(errno.into()),
    }
}

/// Exchanges two names at once, so that at no moment one of them is missing. `false` if the file system cannot do it.
pub fn exchange(one: &Path, other: &Path) -> io::Result<bool> {
    match rustix::fs::renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE) {
        Ok(()) => Ok(true),
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => Ok(false),
        Err(errno) => Err(errno.into()),
    }
}

/// For file systems without that rename: a hard link, which fails if the name exists, then removal of the old
/// name.
fn rename_new_by_link(from: &Path, to: &Path) -> io::Result<()> {
    match rustix::fs::link(from, to) {
        Ok(()) => std::fs::remove_file(from),
        // FAT, exFAT and many FUSE file systems have no hard links.
        Err(Errno::PERM | Errno::NOSYS | Errno::OPNOTSUPP | Errno::MLINK) => rename_new_over_empty(from, to),
        Err(errno) => Err(errno.into()),
    }
}

/// For file systems without hard links too: creates an empty file, which fails if the name exists, then
/// renames `from` over it. A program that wants to create the same name meanwhile gets "exists"; if another
/// program has written to the empty file, it is not replaced.
fn rename_new_over_empty(from: &Path, to: &Path) -> io::Result<()> {
    drop(File::create_new(to)?);
    let is_empty = || std::fs::symlink_metadata(to).is_ok_and(|there| there.is_file() && there.len() == 0);
    if !is_empty() {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    std::fs::rename(from, to).inspect_err(|_| {
        if is_empty() {
            // Report the failed rename, not a failed cleanup.
            let _ = std::fs::remove_file(to);
        }
    })
}

/// The largest file that the file system of directory `path` supports, bytes; `None` if unknown or
/// irrelevant.
pub fn largest_file_bytes(path: &Path) -> io::Result<Option<u64>> {
    let stat = rustix::fs::statfs(path)?;
    let block_bytes = u64::try_from(stat.f_bsize).unwrap_or(4096);
    Ok(largest_file(i128::from(stat.f_type) & 0xffff_ffff, block_bytes))
}

/// Magic numbers of `linux/magic.h`.
fn largest_file(file_system: i128, block_bytes: u64) -> Option<u64> {
    match file_system {
        // FAT: a 32-bit size.
        0x4d44 => Some(u64::from(u32::MAX)),
        // ext4: a 32-bit number of blocks. ext2 and ext3 support less.
        0xef53 => Some(u64::from(u32::MAX) * block_bytes),
        _ => None,
    }
}

pub fn rename_over(from: &Path, to: &Path) -> io::Result<()> {
    std::fs::rename(from, to)
}

pub fn sync_directory(path: &Path) -> io::Result<()> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let directory = rustix::fs::open(path, flags, Mode::empty())?;
    match rustix::fs::fsync(&directory) {
        // Some network file systems return an error because a directory needs no sync.
        Ok(()) | Err(Errno::INVAL) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}

/// Makes everything on the file system of the open file or directory `any` durable. Fails also when anything
/// could not be written back since `any` was opened (Linux 5.8). Open it before writing: another program's
/// sync in between would clear the error for everyone who opens later.
pub fn sync_file_system(any: impl AsFd) -> io::Result<()> {
    Ok(rustix::fs::syncfs(any)?)
}

/// Whether a lock failed because the file system does not support locks, such as NFS without its lock
/// service.
pub fn has_no_locks(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::Unsupported || error.raw_os_error() == Some(libc::ENOLCK)
}

/// Whether a hard link failed because the file system does not support them.
pub fn has_no_links(error: &io::Error) -> bool {
    [libc::EPERM, libc::ENOSYS, libc::EOPNOTSUPP, libc::EMLINK].map(Some).contains(&error.raw_os_error())
}

pub fn effective_user() -> u32 {
    rustix::process::geteuid().as_raw()
}

pub fn effective_group() -> u32 {
    rustix::process::getegid().as_raw()
}

pub fn is_direct(file: impl AsFd) -> bool {
    rustix::fs::fcntl_getfl(file).is_ok_and(|flags| flags.contains(OFlags::DIRECT))
}

pub fn free_bytes(path: &Path) -> io::Result<u64> {
    let stat = rustix::fs::statvfs(path)?;
    // Some file systems reserve the last few percent for root.
    let blocks = if effective_user() == 0 { stat.f_bfree } else { stat.f_bavail };
    Ok(blocks.saturating_mul(stat.f_frsize))
}

/// As above to the last byte, including the space reserved for root if this process is root. A file system
/// that does not report its size, such as some FUSE ones, counts as unlimited.
pub fn usable_bytes(path: &Path) -> io::Result<u64> {
    let stat = rustix::fs::statvfs(path)?;
    if stat.f_blocks == 0 {
        return Ok(u64::MAX);
    }
    let blocks = if effective_user() == 0 { stat.f_bfree } else { stat.f_bavail };
    Ok(blocks.saturating_mul(stat.f_frsize))
}

/// Creates a pipe, socket or device node at `target` like the one at `source`.
pub fn make_special(source: &Path, target: &Path) -> io::Result<()> {
    let stat = rustix::fs::lstat(source)?;
    let kind = FileType::from_raw_mode(stat.st_mode);
    Ok(rustix::fs::mknodat(CWD, target, kind, Mode::from_raw_mode(stat.st_mode & 0o7777), stat.st_rdev)?)
}

/// Raises the soft limit on open files to the hard limit, and returns it.
pub fn raise_open_file_limit() -> u64 {
    let limit = rustix::process::getrlimit(Resource::Nofile);
    let raised = Rlimit { current: limit.maximum, maximum: limit.maximum };
    if rustix::process::setrlimit(Resource::Nofile, raised).is_ok() {
        return limit.maximum.unwrap_or(u64::MAX);
    }
    limit.current.unwrap_or(u64::MAX)
}

pub fn path_bytes(path: &Path) -> &[u8] {
    path.as_os_str().as_bytes()
}

pub fn path_from_bytes(bytes: Vec<u8>) -> PathBuf {
    OsString::from_vec(bytes).into()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_file_system_without_locks_is_told_from_one_where_somebody_has_it() {
        for (errno, has_none) in [(libc::ENOLCK, true), (libc::EOPNOTSUPP, true), (libc::EIO, false)] {
            assert_eq!(has_no_locks(&io::Error::from_raw_os_error(errno)), has_none, "{errno}");
        }
    }

    #[test]
    fn a_new_name_is_never_taken_from_another_file() {
        let dir = tempfile::tempdir().unwrap();
        let (from, to) = (dir.path().join("from"), dir.path().join("to"));
        fs::write(&from, b"new").unwrap();
        fs::write(&to, b"old").unwrap();
        assert_eq!(rename_new(&from, &to).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read(&from).unwrap(), b"new");
        rename_over(&from, &to).unwrap();
        assert_eq!(fs::read(&to).unwrap(), b"new");
        rename_new(&to, &from).unwrap();
        assert!(!to.exists());
        sync_directory(dir.path()).unwrap();
        sync_file_system(fs::File::open(dir.path()).unwrap()).unwrap();
    }

    /// On exFAT, and on a remote share mounted with rclone, a copy that took hours could not be renamed at
    /// the end: such file systems support neither a rename that fails if the target exists nor hard links.
    #[test]
    fn without_that_rename_and_without_links_a_name_is_still_never_taken_from_another_file() {
        let dir = tempfile::tempdir().unwrap();
        let (from, to) = (dir.path().join("from"), dir.path().join("to"));
        fs::write(&from, b"new").unwrap();
        fs::write(&to, b"old").unwrap();
        for rename in [rename_new_by_link, rename_new_over_empty] {
            assert_eq!(rename(&from, &to).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        }
        assert_eq!((fs::read(&from).unwrap(), fs::read(&to).unwrap()), (b"new".to_vec(), b"old".to_vec()));
        fs::remove_file(&to).unwrap();
        rename_new_over_empty(&from, &to).unwrap();
        assert_eq!(fs::read(&to).unwrap(), b"new");
        assert!(!from.exists());
        rename_new_over_empty(&from, &dir.path().join("other")).unwrap_err();
        assert!(!dir.path().join("other").exists(), "the empty file goes where the rename fails");
    }

    #[test]
    fn two_names_are_exchanged_or_it_is_said_that_they_cannot_be() {
        let dir = tempfile::tempdir().unwrap();
        let (one, other) = (dir.path().join("one"), dir.path().join("other"));
        fs::create_dir(&one).unwrap();
        fs::write(&other, b"other").unwrap();
        if exchange(&one, &other).unwrap() {
            assert!(other.is_dir());
            assert_eq!(fs::read(&one).unwrap(), b"other");
        }
        assert!(exchange(&one, &dir.path().join("absent")).is_err());
    }

    #[test]
    fn fat_takes_no_file_of_four_gibibytes() {
        assert_eq!(largest_file(0x4d44, 32_768), Some((4 << 30) - 1));
        assert_eq!(largest_file(0xef53, 4096), Some((16 << 40) - 4096));
        assert_eq!(largest_file(0x5846_5342, 4096), None);
    }

    #[test]
    fn a_name_that_is_no_text_comes_back_as_it_was() {
        let bytes = b"so\nurce \xff".to_vec();
        assert_eq!(path_bytes(&path_from_bytes(bytes.clone())), bytes);
    }
}
