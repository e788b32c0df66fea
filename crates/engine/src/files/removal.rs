//! Removes names from a directory that is held open, so that a link or another directory that takes its place
//! meanwhile does not redirect the removal.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path};

use rustix::fs::{AtFlags, CWD, Dir, Mode, OFlags};

use super::stamp::{FileStamp, stamp, stamp_in};

#[derive(Debug)]
pub struct OpenDirectory(pub(super) OwnedFd);

impl OpenDirectory {
    /// Opens the directory `path`. Its last component must not be a link.
    pub fn open(path: &Path) -> io::Result<Self> {
        Self::open_at(CWD, path.as_os_str())
    }

    /// Opens the directory that `path` leads to.
    pub fn open_following(path: &Path) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Self(rustix::fs::open(path, flags, Mode::empty())?))
    }

    /// Opens a directory below this one, without following a link anywhere on the way.
    pub fn below(&self, relative: &Path) -> io::Result<Self> {
        let mut at = Self(self.0.try_clone()?);
        for component in relative.components() {
            match component {
                Component::Normal(name) => at = Self::open_at(&at.0, name)?,
                Component::CurDir => {}
                _ => return Err(io::ErrorKind::InvalidInput.into()),
            }
        }
        Ok(at)
    }

    fn open_at(directory: impl std::os::fd::AsFd, name: &OsStr) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(Self(rustix::fs::openat(directory, name, flags, Mode::empty())?))
    }

    pub fn stamp(&self) -> io::Result<FileStamp> {
        stamp(&self.0)
    }

    /// The stamp of a name in it, not following a link.
    pub fn stamp_of(&self, name: &OsStr) -> io::Result<FileStamp> {
        stamp_in(&self.0, name)
    }

    /// The names in it, sorted, without `.` and `..`.
    pub fn names(&self) -> io::Result<Vec<OsString>> {
        let mut names = Vec::new();
        for entry in Dir::read_from(&self.0)? {
            let name = OsStr::from_bytes(entry?.file_name().to_bytes()).to_owned();
            if name != "." && name != ".." {
                names.push(name);
            }
        }
        names.sort_unstable();
        Ok(names)
    }

    /// Removes a name that is not a directory. A link goes itself, not what it leads to.
    pub fn remove_file(&self, name: &OsStr) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&self.0, name, AtFlags::empty())?)
    }

    pub fn remove_directory(&self, name: &OsStr) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&self.0, name, AtFlags::REMOVEDIR)?)
    }

    pub fn sync(&self) -> io::Result<()> {
        match rustix::fs::fsync(&self.0) {
            // Some file systems cannot sync a directory.
            Ok(()) | Err(rustix::io::Errno::INVAL) => Ok(()),
            Err(errno) => Err(errno.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_link_on_the_way_is_not_followed_and_a_link_goes_without_what_it_leads_to() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        fs::create_dir_all(path("root/sub")).unwrap();
        fs::create_dir(path("elsewhere")).unwrap();
        fs::write(path("elsewhere/precious"), b"x").unwrap();
        symlink(path("elsewhere"), path("root/link")).unwrap();
        let root = OpenDirectory::open(&path("root")).unwrap();
        assert_eq!(root.names().unwrap(), ["link", "sub"]);
        root.below(Path::new("sub")).unwrap();
        root.below(Path::new("link")).unwrap_err();
        root.below(Path::new("sub/..")).unwrap_err();
        OpenDirectory::open(&path("root/link")).unwrap_err();
        root.remove_file(OsStr::new("link")).unwrap();
        root.remove_directory(OsStr::new("sub")).unwrap();
        root.sync().unwrap();
        assert!(root.names().unwrap().is_empty() && path("elsewhere/precious").exists());
    }

    #[test]
    fn a_directory_that_is_moved_away_is_still_the_one_that_was_opened() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        fs::create_dir(path("a")).unwrap();
        fs::write(path("a/x"), b"x").unwrap();
        let open = OpenDirectory::open(&path("a")).unwrap();
        fs::rename(path("a"), path("b")).unwrap();
        fs::create_dir(path("a")).unwrap();
        fs::write(path("a/x"), b"another").unwrap();
        open.remove_file(OsStr::new("x")).unwrap();
        assert!(path("a/x").exists() && !path("b/x").exists());
    }
}
