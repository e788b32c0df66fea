//! Names: made durable, given at once, and never taken from another file.

use std::io;
use std::os::fd::AsFd;
use std::path::Path;

use rustix::fs::{CWD, FileType, Mode, OFlags, RenameFlags};
use rustix::io::Errno;
use rustix::process::{Resource, Rlimit};

/// `O_NOFOLLOW`: opening a symbolic link fails.
pub const NO_FOLLOW: i32 = libc::O_NOFOLLOW;

/// Gives `from` the name `to`, which nobody may have: `AlreadyExists` where somebody does.
pub fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    match rustix::fs::renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        Ok(()) => Ok(()),
        // A file system without this rename: a second name fails where there is one, and the first then goes.
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
            std::fs::hard_link(from, to)?;
            std::fs::remove_file(from)
        }
        Err(errno) => Err(errno.into()),
    }
}

/// Gives `from` the name `to`; who had it loses it in the same moment.
pub fn rename_over(from: &Path, to: &Path) -> io::Result<()> {
    std::fs::rename(from, to)
}

/// Makes the names in a directory durable.
pub fn sync_directory(path: &Path) -> io::Result<()> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let directory = rustix::fs::open(path, flags, Mode::empty())?;
    match rustix::fs::fsync(&directory) {
        // Some network file systems have nothing to sync in a directory and say so with an error.
        Ok(()) | Err(Errno::INVAL) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}

/// Makes everything on the file system of the open file or directory `any` durable.
///
/// # Errors
/// Also when anything could not be written back since `any` was opened (Linux 5.8): open it before writing what it is
/// to answer for, for somebody else's sync in between takes the failure away from all who come later.
pub fn sync_file_system(any: impl AsFd) -> io::Result<()> {
    Ok(rustix::fs::syncfs(any)?)
}

/// Whether a lock was refused because the file system has none: also what a network one says without its lock service.
pub fn has_no_locks(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::Unsupported || error.raw_os_error() == Some(libc::ENOLCK)
}

/// The user that this process acts as.
pub fn effective_user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Whether the file was opened with `O_DIRECT` and still has it.
pub fn is_direct(file: impl AsFd) -> bool {
    rustix::fs::fcntl_getfl(file).is_ok_and(|flags| flags.contains(OFlags::DIRECT))
}

/// Bytes free for this process on the file system of `path`.
pub fn free_bytes(path: &Path) -> io::Result<u64> {
    let stat = rustix::fs::statvfs(path)?;
    Ok(stat.f_bavail.saturating_mul(stat.f_frsize))
}

/// Makes at `target` a pipe, socket or device node like the one at `source`.
pub fn make_special(source: &Path, target: &Path) -> io::Result<()> {
    let stat = rustix::fs::lstat(source)?;
    let kind = FileType::from_raw_mode(stat.st_mode);
    Ok(rustix::fs::mknodat(CWD, target, kind, Mode::from_raw_mode(stat.st_mode & 0o7777), stat.st_rdev)?)
}

/// Lets this process open as many files as it is allowed to at all; answers how many that is.
pub fn raise_open_file_limit() -> u64 {
    let limit = rustix::process::getrlimit(Resource::Nofile);
    let raised = Rlimit { current: limit.maximum, maximum: limit.maximum };
    if rustix::process::setrlimit(Resource::Nofile, raised).is_ok() {
        return limit.maximum.unwrap_or(u64::MAX);
    }
    limit.current.unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

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
}
