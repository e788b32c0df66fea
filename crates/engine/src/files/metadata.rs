//! Everything about a file that is not its content.

use std::ffi::CString;
use std::fs::File;
use std::io;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Gid, Mode, Timespec, Timestamps, Uid, XattrFlags};
use rustix::io::Errno;

use super::stamp::{FileKind, FileStamp};

/// Something that could not be kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loss {
    /// `owner`, `mode`, `times`, or the name of an extended attribute.
    pub what: String,
    /// What the system said.
    pub cause: String,
}

fn loss(what: &str, errno: Errno) -> Loss {
    Loss { what: what.to_owned(), cause: io::Error::from(errno).to_string() }
}

/// Gives `target` owner, extended attributes (access control lists are among them), mode and times of
/// `source`, whose stamp is `stamp`. Answers what could not be kept.
///
/// Owner first, because changing it clears set-id bits; times last, because everything else sets them.
pub fn copy_metadata(source: &File, stamp: &FileStamp, target: &File) -> Vec<Loss> {
    let mut losses = Vec::new();
    let owner = (Uid::from_raw(stamp.uid), Gid::from_raw(stamp.gid));
    let there = rustix::fs::fstat(target).ok();
    if there.is_none_or(|stat| (stat.st_uid, stat.st_gid) != (stamp.uid, stamp.gid))
        && let Err(errno) = rustix::fs::fchown(target, Some(owner.0), Some(owner.1))
    {
        losses.push(loss("owner", errno));
    }
    let owner_is_lost = !losses.is_empty();
    copy_attributes(source, target, &mut losses);
    // Set-id bits under another owner would lend that owner's rights to whoever runs the file.
    let mode = if owner_is_lost { stamp.mode & 0o1777 } else { stamp.mode };
    // A file made with its mode is spared one change of its inode, which is much of what a small file costs.
    if there.is_none_or(|stat| stat.st_mode & 0o7777 != mode)
        && let Err(errno) = rustix::fs::fchmod(target, Mode::from_raw_mode(mode))
    {
        losses.push(loss("mode", errno));
    }
    if let Err(errno) = set_times(target, source) {
        losses.push(loss("times", errno));
    }
    losses
}

fn copy_attributes(source: &File, target: &File, losses: &mut Vec<Loss>) {
    // 64 KiB is the most that Linux lets a list of names or one value be. Most files have few or none, so a small
    // buffer is tried first. An empty one, by which C asks for the length alone, tells nothing through this library.
    let mut names = vec![0; 1 << 10];
    let mut listed = rustix::fs::flistxattr(source, &mut names[..]);
    if listed == Err(Errno::RANGE) {
        names.resize(64 << 10, 0);
        listed = rustix::fs::flistxattr(source, &mut names[..]);
    }
    let length = match listed {
        Ok(0) | Err(Errno::OPNOTSUPP | Errno::NOSYS) => return,
        Ok(length) => length,
        Err(errno) => return losses.push(loss("extended attributes", errno)),
    };
    let mut value = Vec::new();
    for name in names[..length].split(|byte| *byte == 0).filter(|name| !name.is_empty()) {
        let Ok(c_name) = CString::new(name) else { continue };
        value.resize(64 << 10, 0);
        let set = rustix::fs::fgetxattr(source, &c_name, &mut value[..])
            .and_then(|length| rustix::fs::fsetxattr(target, &c_name, &value[..length], XattrFlags::empty()));
        if let Err(errno) = set {
            losses.push(loss(&String::from_utf8_lossy(name), errno));
        }
    }
}

fn set_times(target: &File, source: &File) -> Result<(), Errno> {
    let stat = rustix::fs::fstat(source)?;
    rustix::fs::futimens(target, &times(&stat))
}

fn times(stat: &rustix::fs::Stat) -> Timestamps {
    let time = |seconds, nanos| Timespec { tv_sec: seconds, tv_nsec: i64::try_from(nanos).unwrap_or(0) };
    Timestamps {
        last_access: time(stat.st_atime, stat.st_atime_nsec),
        last_modification: time(stat.st_mtime, stat.st_mtime_nsec),
    }
}

/// Gives the directory `target` the times of the directory `source`. To be called when nothing will be made
/// in it any more.
pub fn set_times_of_directory(source: &Path, target: &Path) -> io::Result<()> {
    let stat = rustix::fs::stat(source)?;
    Ok(rustix::fs::utimensat(CWD, target, &times(&stat), AtFlags::empty())?)
}

/// Gives the symbolic link `target` (or a device node, pipe or socket) owner and times of `source`.
pub fn copy_symlink_metadata(source: &Path, stamp: &FileStamp, target: &Path) -> Vec<Loss> {
    let mut losses = Vec::new();
    let owner = (Some(Uid::from_raw(stamp.uid)), Some(Gid::from_raw(stamp.gid)));
    if let Err(errno) = rustix::fs::chownat(CWD, target, owner.0, owner.1, AtFlags::SYMLINK_NOFOLLOW) {
        losses.push(loss("owner", errno));
    }
    if stamp.kind == FileKind::Special
        && let Err(errno) =
            rustix::fs::chmodat(CWD, target, Mode::from_raw_mode(stamp.mode), AtFlags::empty())
    {
        losses.push(loss("mode", errno));
    }
    let set = rustix::fs::lstat(source)
        .and_then(|stat| rustix::fs::utimensat(CWD, target, &times(&stat), AtFlags::SYMLINK_NOFOLLOW));
    if let Err(errno) = set {
        losses.push(loss("times", errno));
    }
    losses
}

#[cfg(test)]
mod tests {
    use super::super::stamp::stamp;
    use super::*;
    use std::fs;

    #[test]
    fn mode_times_and_attributes_arrive() {
        let dir = tempfile::tempdir().unwrap();
        let (from, to) = (dir.path().join("from"), dir.path().join("to"));
        fs::write(&from, b"x").unwrap();
        fs::write(&to, b"x").unwrap();
        let (source, target) = (File::open(&from).unwrap(), File::options().write(true).open(&to).unwrap());
        rustix::fs::fchmod(&source, Mode::from_raw_mode(0o640)).unwrap();
        source
            .set_modified(std::time::UNIX_EPOCH + std::time::Duration::new(1_000_000, 123_456_789))
            .unwrap();
        let has_attributes =
            rustix::fs::fsetxattr(&source, c"user.note", b"kept", XattrFlags::empty()).is_ok();

        let before = stamp(&source).unwrap();
        assert_eq!(copy_metadata(&source, &before, &target), []);
        let after = stamp(&target).unwrap();
        assert_eq!((after.mode, after.modified_ns), (0o640, 1_000_000_123_456_789));
        assert_eq!((after.uid, after.gid), (before.uid, before.gid));
        if has_attributes {
            let mut value = [0u8; 16];
            let length = rustix::fs::fgetxattr(&target, c"user.note", &mut value[..]).unwrap();
            assert_eq!(&value[..length], b"kept");
        }
    }
}
