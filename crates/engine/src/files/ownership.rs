//! Whose a file is, and who else may change a directory: for work in places that belong to others.
//!
//! Who may write to a directory may put any file there under any name, exchange what a path leads to, and keep open what he made
//! before. So what is given away or removed is found by descriptor, and what others could have made is not taken over.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Gid, Mode, OFlags, Uid};

use super::names::effective_user;
use super::removal::OpenDirectory;
use super::stamp::{FileKind, FileStamp, stamp, stamp_of_link, stamp_of_path};
use super::unnamed::unnamed;

const ROOT: u32 = 0;
/// Permission bits with which users other than the owner change a directory or a file.
const OTHERS_WRITE: u32 = 0o022;
/// In such a directory nobody renames or removes what is not his.
const STICKY: u32 = 0o1000;

impl OpenDirectory {
    /// Gives the directory, and everything below it, to the account `user` and the group `group`: the deepest first and this one last,
    /// so that the account cannot rename anything on the way. A link itself is given away, never what it leads to.
    pub fn give(&self, user: u32, group: u32) -> io::Result<()> {
        for name in self.names()? {
            let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let entry = rustix::fs::openat(&self.0, &name, flags, Mode::empty())?;
            let there = stamp(&entry)?;
            match there.kind {
                FileKind::Directory => self.below(Path::new(&name))?.give(user, group)?,
                // A second name of a file of somebody else, made where he may write.
                FileKind::Regular if there.links > 1 && there.uid != user => {
                    let message = format!("{} has other names, and belongs to somebody else", name.display());
                    return Err(io::Error::new(io::ErrorKind::PermissionDenied, message));
                }
                _ => give(&entry, user, group)?,
            }
        }
        give(&self.0, user, group)
    }
}

/// Gives an open file to the account `user` and the group `group`.
pub fn give(file: impl AsFd, user: u32, group: u32) -> io::Result<()> {
    let (user, group) = (Some(Uid::from_raw(user)), Some(Gid::from_raw(group)));
    Ok(rustix::fs::chownat(file, c"", user, group, AtFlags::EMPTY_PATH)?)
}

/// Whether a file in `directory` was made by this user: it belongs to him, or all that he makes there has that owner, as on a share
/// that is mounted for one account.
pub fn is_own(file: &FileStamp, directory: &Path) -> bool {
    let made_here = || unnamed(directory).and_then(|made| stamp(&made));
    file.uid == effective_user() || made_here().is_ok_and(|made| made.uid == file.uid)
}

/// Removes the name `path` if it is still that of `file`.
pub fn remove_own(path: &Path, file: &File) -> io::Result<()> {
    if stamp_of_link(path)?.is_same_file(&stamp(file)?) {
        std::fs::remove_file(path)?;
    }
    Ok(())
}

/// Whether somebody other than root and this user may make and rename files in a directory with this stamp.
pub fn is_open_to_others(directory: &FileStamp) -> bool {
    ![ROOT, effective_user()].contains(&directory.uid) || directory.mode & OTHERS_WRITE != 0
}

/// The first of `directory` and those above it in which somebody other than root and this user may put another file or directory in
/// the place of ours.
pub fn open_to_others(directory: &Path) -> io::Result<Option<PathBuf>> {
    let real = directory.canonicalize()?;
    for (depth, path) in real.ancestors().enumerate() {
        let there = stamp_of_path(path)?;
        // What is below it was looked at before, and belongs to root or us.
        let keeps_names =
            depth > 0 && there.mode & STICKY != 0 && [ROOT, effective_user()].contains(&there.uid);
        if is_open_to_others(&there) && !keeps_names {
            return Ok(Some(path.to_owned()));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown, symlink};

    use super::*;
    use crate::files::effective_group;

    const NOBODY: u32 = 65_534;

    fn set_mode(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn everything_below_is_given_away_and_nothing_that_a_link_leads_to() {
        let root = tempfile::tempdir().unwrap();
        let (outside, tree) = (root.path().join("outside"), root.path().join("tree"));
        fs::write(&outside, "mine").unwrap();
        fs::create_dir_all(tree.join("a/b")).unwrap();
        fs::write(tree.join("a/b/f"), "x").unwrap();
        symlink(&outside, tree.join("a/link")).unwrap();
        let mine = (effective_user(), effective_group());
        let theirs = if mine.0 == ROOT { (NOBODY, NOBODY) } else { mine };
        OpenDirectory::open(&tree).unwrap().give(theirs.0, theirs.1).unwrap();
        let owner = |path: &Path| {
            let stat = path.symlink_metadata().unwrap();
            (stat.uid(), stat.gid())
        };
        for name in ["", "a", "a/b", "a/b/f", "a/link"] {
            assert_eq!(owner(&tree.join(name)), theirs, "{name}");
        }
        assert_eq!(owner(&outside), mine);
    }

    /// The top was given away first, so that its new owner could put a link to a directory of root's in the place of one below while
    /// root went on. Now he has nothing before root has done with it, and a second name of root's file is refused.
    #[test]
    fn a_file_of_roots_under_a_second_name_is_not_given_away_and_the_top_goes_last() {
        if effective_user() != ROOT {
            return;
        }
        let root = tempfile::tempdir().unwrap();
        let tree = root.path().join("tree");
        fs::create_dir_all(tree.join("a")).unwrap();
        fs::write(root.path().join("shadow"), "secret").unwrap();
        fs::hard_link(root.path().join("shadow"), tree.join("a/shadow")).unwrap();
        assert!(OpenDirectory::open(&tree).unwrap().give(NOBODY, NOBODY).is_err());
        for path in [&tree, &tree.join("a"), &root.path().join("shadow")] {
            assert_eq!(fs::metadata(path).unwrap().uid(), ROOT, "{}", path.display());
        }
    }

    #[test]
    fn a_file_belongs_to_who_made_it_and_a_name_is_removed_from_the_file_that_had_it() {
        let root = tempfile::tempdir().unwrap();
        let [ours, theirs] = ["ours", "theirs"].map(|name| root.path().join(name));
        let file = File::create(&ours).unwrap();
        assert!(is_own(&stamp(&file).unwrap(), root.path()));
        if effective_user() == ROOT {
            fs::write(&theirs, "x").unwrap();
            chown(&theirs, Some(NOBODY), None).unwrap();
            chown(root.path(), Some(NOBODY), None).unwrap();
            assert!(!is_own(&stamp_of_link(&theirs).unwrap(), root.path()), "in his own directory, too");
        }
        fs::rename(&ours, &theirs).unwrap();
        fs::write(&ours, "of somebody else").unwrap();
        remove_own(&ours, &file).unwrap();
        assert!(ours.exists());
        remove_own(&theirs, &file).unwrap();
        assert!(!theirs.exists());
    }

    #[test]
    fn a_directory_is_open_to_others_if_one_above_it_is_or_another_account_owns_it() {
        let root = tempfile::tempdir_in("/tmp").unwrap();
        let inside = root.path().join("inside");
        fs::create_dir(&inside).unwrap();
        set_mode(&inside, 0o755);
        assert_eq!(open_to_others(&inside).unwrap(), None, "/tmp keeps names");
        for mode in [0o770, 0o702, 0o1777] {
            set_mode(&inside, mode);
            assert!(open_to_others(&inside).unwrap().is_some(), "{mode:o}");
        }
        set_mode(&inside, 0o755);
        set_mode(root.path(), 0o777);
        assert_eq!(open_to_others(&inside).unwrap(), Some(root.path().canonicalize().unwrap()));
        if effective_user() == ROOT {
            set_mode(root.path(), 0o700);
            chown(root.path(), Some(NOBODY), None).unwrap();
            assert!(open_to_others(&inside).unwrap().is_some());
        }
    }
}
