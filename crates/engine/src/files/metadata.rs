//! Metadata of a file: owner, mode, times and extended attributes.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Gid, Mode, Timespec, Timestamps, Uid};

use super::attributes::{Attribute, Bearer, Loss, attributes, loss, not_kept, not_there, set_attributes};
use super::stamp::{FileKind, FileStamp};

/// Copies owner, extended attributes (including ACLs), mode and times of `source`, whose stamp is `stamp`, to
/// `target`. Returns what could not be copied, or cannot be read back.
///
/// Owner first, because changing it clears set-id bits; times last, because every other change updates them.
/// Times come from the stamp, because reading the source since then has changed its access time.
pub fn copy_metadata(source: &File, stamp: &FileStamp, target: &File) -> Vec<Loss> {
    let mut losses = Vec::new();
    let there = rustix::fs::fstat(target).ok();
    if there.is_none_or(|stat| (stat.st_uid, stat.st_gid) != (stamp.uid, stamp.gid)) {
        set_owner(target, stamp.uid, stamp.gid, &mut losses);
    }
    let owner_is_lost = !losses.is_empty();
    let all = copy_attributes(Bearer::Open(source.as_fd()), Bearer::Open(target.as_fd()), &mut losses);
    // Set-id bits under a different owner would give that owner's rights to anyone who runs the file.
    let mode = if owner_is_lost { stamp.mode & 0o1777 } else { stamp.mode };
    // Skipping a mode that is already right saves an inode update, a large part of the cost of a small file.
    if there.is_none_or(|stat| stat.st_mode & 0o7777 != mode)
        && let Err(errno) = rustix::fs::fchmod(target, Mode::from_raw_mode(mode))
    {
        losses.push(loss("mode", errno));
    }
    if let Err(errno) = rustix::fs::futimens(target, &times(stamp)) {
        losses.push(loss("times", errno));
    }
    read_back(Bearer::Open(target.as_fd()), &FileStamp { mode, ..*stamp }, &all, losses)
}

/// What was read of the source.
fn copy_attributes(source: Bearer<'_>, target: Bearer<'_>, losses: &mut Vec<Loss>) -> Vec<Attribute> {
    match attributes(source) {
        Ok((all, unread)) => {
            losses.extend(unread);
            set_attributes(target, &all, losses);
            all
        }
        Err(cause) => {
            losses.push(Loss { what: "extended attributes".to_owned(), cause: cause.to_string() });
            Vec::new()
        }
    }
}

/// `losses`, and what is not there although every call succeeded: ntfs-3g takes a mode and a list, and keeps neither; an NFS
/// server may give a file to another account.
fn read_back(
    target: Bearer<'_>,
    wanted: &FileStamp,
    attributes: &[Attribute],
    mut losses: Vec<Loss>,
) -> Vec<Loss> {
    for found in differences(target, wanted, attributes) {
        let is_known = |known: &Loss| known.what.starts_with(&found.what);
        if !losses.iter().any(is_known) {
            losses.push(found);
        }
    }
    losses
}

fn differences(target: Bearer<'_>, wanted: &FileStamp, attributes: &[Attribute]) -> Vec<Loss> {
    // What cannot be looked at is not known to be lost.
    let Ok(there) = target.stat() else { return Vec::new() };
    let is_other_owner = (there.st_uid, there.st_gid) != (wanted.uid, wanted.gid);
    // A link has no mode of its own.
    let is_other_mode = wanted.kind != FileKind::Symlink && there.st_mode & 0o7777 != wanted.mode & 0o7777;
    let found = [(is_other_owner, "owner"), (is_other_mode, "mode")];
    let of_inode = found.into_iter().filter(|(is_other, _)| *is_other).map(|(_, what)| not_there(what));
    of_inode.chain(not_kept(target, attributes)).collect()
}

/// Whether `target` has the owner, the mode and the attributes of `source`, whose stamp is `stamp`. Neither is followed if it
/// is a link.
pub fn has_metadata_of(source: &Path, stamp: &FileStamp, target: &Path) -> io::Result<bool> {
    let (all, unread) = attributes(Bearer::Named(source))?;
    Ok(unread.is_empty() && differences(Bearer::Named(target), stamp, &all).is_empty())
}

/// Only root can change a file's owner, but any user can set a group that they belong to, and the group
/// decides who may read the file.
fn set_owner(target: impl AsFd, uid: u32, gid: u32, losses: &mut Vec<Loss>) {
    let (user, group) = (Uid::from_raw(uid), Gid::from_raw(gid));
    let Err(errno) = rustix::fs::fchown(&target, Some(user), Some(group)) else { return };
    let what = match rustix::fs::fchown(&target, None, Some(group)) {
        Ok(()) => "owner",
        Err(_) => "owner and group",
    };
    losses.push(loss(what, errno));
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewMetadata {
    /// Permission bits, including set-id and sticky.
    pub mode: u32,
    pub uid: u32,
    pub gid: u32,
    /// Last change of the content, nanoseconds since 1970.
    pub modified_ns: i128,
}

impl NewMetadata {
    /// The time of the last access is not kept: that of the last change is a better guess than the time of the restore.
    fn times(&self) -> Timestamps {
        let time = time(self.modified_ns);
        Timestamps { last_access: time, last_modification: time }
    }
}

/// Sets owner, extended attributes, mode and times of an open file or directory, in the order of [`copy_metadata`]. Returns what
/// could not be set.
pub fn set_metadata(target: impl AsFd, metadata: &NewMetadata, attributes: &[Attribute]) -> Vec<Loss> {
    let mut losses = Vec::new();
    let there = rustix::fs::fstat(&target).ok();
    if there.is_none_or(|stat| (stat.st_uid, stat.st_gid) != (metadata.uid, metadata.gid)) {
        set_owner(&target, metadata.uid, metadata.gid, &mut losses);
    }
    let mode = if losses.is_empty() { metadata.mode & 0o7777 } else { metadata.mode & 0o1777 };
    set_attributes(Bearer::Open(target.as_fd()), attributes, &mut losses);
    if let Err(errno) = rustix::fs::fchmod(&target, Mode::from_raw_mode(mode)) {
        losses.push(loss("mode", errno));
    }
    if let Err(errno) = rustix::fs::futimens(&target, &metadata.times()) {
        losses.push(loss("times", errno));
    }
    losses
}

/// Sets owner and times of the symbolic link `name` in an open directory.
pub(super) fn link_losses(directory: impl AsFd, name: &OsStr, metadata: &NewMetadata) -> Vec<Loss> {
    let mut losses = Vec::new();
    let owner = (Some(Uid::from_raw(metadata.uid)), Some(Gid::from_raw(metadata.gid)));
    if let Err(errno) = rustix::fs::chownat(&directory, name, owner.0, owner.1, AtFlags::SYMLINK_NOFOLLOW) {
        losses.push(loss("owner", errno));
    }
    if let Err(errno) = rustix::fs::utimensat(&directory, name, &metadata.times(), AtFlags::SYMLINK_NOFOLLOW)
    {
        losses.push(loss("times", errno));
    }
    losses
}

/// Restores the times in `stamp` on an open file that was read since.
pub fn set_times(target: &File, stamp: &FileStamp) -> io::Result<()> {
    Ok(rustix::fs::futimens(target, &times(stamp))?)
}

fn times(stamp: &FileStamp) -> Timestamps {
    Timestamps { last_access: time(stamp.accessed_ns), last_modification: time(stamp.modified_ns) }
}

fn time(ns: i128) -> Timespec {
    const SECOND_NS: i128 = 1_000_000_000;
    // Before 1970 the seconds are negative, but the nanoseconds still count forward.
    Timespec {
        tv_sec: i64::try_from(ns.div_euclid(SECOND_NS)).unwrap_or(0),
        tv_nsec: i64::try_from(ns.rem_euclid(SECOND_NS)).unwrap_or(0),
    }
}

/// Copies owner, extended attributes, mode and times of `source`, whose stamp is `stamp`, to the symbolic link `target` (or
/// device node, pipe or socket). Neither is followed.
pub fn copy_symlink_metadata(source: &Path, stamp: &FileStamp, target: &Path) -> Vec<Loss> {
    let mut losses = Vec::new();
    let owner = (Some(Uid::from_raw(stamp.uid)), Some(Gid::from_raw(stamp.gid)));
    if let Err(errno) = rustix::fs::chownat(CWD, target, owner.0, owner.1, AtFlags::SYMLINK_NOFOLLOW) {
        losses.push(loss("owner", errno));
    }
    let all = copy_attributes(Bearer::Named(source), Bearer::Named(target), &mut losses);
    if stamp.kind == FileKind::Special
        && let Err(errno) =
            rustix::fs::chmodat(CWD, target, Mode::from_raw_mode(stamp.mode), AtFlags::empty())
    {
        losses.push(loss("mode", errno));
    }
    if let Err(errno) = rustix::fs::utimensat(CWD, target, &times(stamp), AtFlags::SYMLINK_NOFOLLOW) {
        losses.push(loss("times", errno));
    }
    read_back(Bearer::Named(target), stamp, &all, losses)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use rustix::fs::XattrFlags;

    use super::super::stamp::stamp;
    use super::*;

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

    #[test]
    fn times_before_1970_and_of_the_last_reading_before_the_copy_arrive() {
        let dir = tempfile::tempdir().unwrap();
        let (from, to) = (dir.path().join("from"), dir.path().join("to"));
        fs::write(&from, b"x").unwrap();
        let source = File::open(&from).unwrap();
        let before_1970 = Timespec { tv_sec: -313_000_000, tv_nsec: 987_654_321 };
        let long_ago = Timespec { tv_sec: 1_000_000_000, tv_nsec: 5 };
        rustix::fs::futimens(&source, &Timestamps { last_access: long_ago, last_modification: before_1970 })
            .unwrap();
        let before = stamp(&source).unwrap();
        assert_eq!(fs::read(&from).unwrap(), b"x");
        copy_metadata(&source, &before, &File::create(&to).unwrap());
        let after = super::super::stamp::stamp_of_path(&to).unwrap();
        assert_eq!(after.accessed_ns, 1_000_000_000_000_000_005);
        assert_eq!(after.modified_ns, -312_999_999_012_345_679);
    }

    /// An ACL with one named user in the kernel's format: version, then tag, permissions and id of each
    /// entry.
    fn list_with_a_guest() -> Vec<u8> {
        let mut list = 2u32.to_le_bytes().to_vec();
        let nobody = u32::MAX;
        for (tag, permissions, id) in
            [(1u16, 7u16, nobody), (2, 7, 4242), (4, 5, nobody), (0x10, 7, nobody), (0x20, 5, nobody)]
        {
            list.extend(tag.to_le_bytes());
            list.extend(permissions.to_le_bytes());
            list.extend(id.to_le_bytes());
        }
        list
    }

    #[test]
    fn a_list_that_the_directory_hands_down_does_not_let_in_whom_the_source_does_not() {
        let dir = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let from = dir.path().join("from");
        fs::write(&from, b"x").unwrap();
        let into = dir.path().join("into");
        fs::create_dir(&into).unwrap();
        let directory = File::open(&into).unwrap();
        let default = c"system.posix_acl_default";
        if rustix::fs::fsetxattr(&directory, default, &list_with_a_guest(), XattrFlags::empty()).is_err() {
            // A file system without ACLs passes none on.
            return;
        }
        let source = File::open(&from).unwrap();
        rustix::fs::fchmod(&source, Mode::from_raw_mode(0o640)).unwrap();
        let target = File::create(into.join("to")).unwrap();
        let mut value = [0u8; 256];
        assert!(rustix::fs::fgetxattr(&target, c"system.posix_acl_access", &mut value[..]).is_ok());
        assert_eq!(copy_metadata(&source, &stamp(&source).unwrap(), &target), []);
        let left = rustix::fs::fgetxattr(&target, c"system.posix_acl_access", &mut value[..]);
        assert_eq!(left, Err(rustix::io::Errno::NODATA));
        assert_eq!(stamp(&target).unwrap().mode, 0o640);

        // The source's own ACL is copied.
        let own = c"system.posix_acl_access";
        rustix::fs::fsetxattr(&source, own, &list_with_a_guest(), XattrFlags::empty()).unwrap();
        assert_eq!(copy_metadata(&source, &stamp(&source).unwrap(), &target), []);
        let length = rustix::fs::fgetxattr(&target, own, &mut value[..]).unwrap();
        assert_eq!(&value[..length], list_with_a_guest());
        assert_eq!(stamp(&target).unwrap().mode, stamp(&source).unwrap().mode);
    }

    /// Labels of links, devices and pipes were lost without a word: security.selinux is on every one of some distributions.
    #[test]
    fn a_link_keeps_its_own_attributes_and_one_that_is_lost_is_seen() {
        let dir = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let (from, to) = (dir.path().join("from"), dir.path().join("to"));
        for path in [&from, &to] {
            symlink("nowhere", path).unwrap();
        }
        let name = c"trusted.note";
        if rustix::fs::lsetxattr(&from, name, b"kept", XattrFlags::empty()).is_err() {
            // Only root has attributes of links.
            return;
        }
        let stat = super::super::stamp::stamp_of_link(&from).unwrap();
        assert!(!has_metadata_of(&from, &stat, &to).unwrap());
        assert_eq!(copy_symlink_metadata(&from, &stat, &to), []);
        assert!(has_metadata_of(&from, &stat, &to).unwrap());
        let mut value = [0u8; 16];
        let length = rustix::fs::lgetxattr(&to, name, &mut value[..]).unwrap();
        assert_eq!(&value[..length], b"kept");
    }

    /// ntfs-3g takes a mode and a list and keeps neither: a move removed the source, and a secret was everybody's.
    #[test]
    fn what_no_call_reported_is_found_by_reading_back() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        fs::write(&path, b"x").unwrap();
        let stat = super::super::stamp::stamp_of_path(&path).unwrap();
        assert!(has_metadata_of(&path, &stat, &path).unwrap());
        let others = [
            ("mode", FileStamp { mode: stat.mode ^ 0o111, ..stat }, vec![]),
            ("owner", FileStamp { uid: stat.uid + 1, ..stat }, vec![]),
            ("user.note", stat, vec![Attribute { name: b"user.note".to_vec(), value: b"kept".to_vec() }]),
        ];
        for (what, wanted, attributes) in others {
            let file = Bearer::Named(&path);
            let losses = read_back(file, &wanted, &attributes, Vec::new());
            assert_eq!(losses.iter().map(|loss| loss.what.as_str()).collect::<Vec<_>>(), [what]);
            let known = losses.clone();
            assert_eq!(read_back(file, &wanted, &attributes, known), losses, "and is told once");
        }
    }
}
