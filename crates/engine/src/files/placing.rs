//! Makes files, directories and links in a directory that is held open: a link that stands in the way, or takes the place of a
//! directory meanwhile, leads nothing elsewhere.

use std::ffi::OsStr;
use std::fs::File;
use std::io;

use rustix::fs::{AtFlags, Mode, OFlags, RenameFlags};

use super::attributes::{Attribute, Loss};
use super::metadata::{NewMetadata, link_losses};
use super::removal::OpenDirectory;

/// For the owner only, until the metadata is set.
const FILE_MODE: Mode = Mode::from_raw_mode(0o600);
const DIRECTORY_MODE: Mode = Mode::from_raw_mode(0o700);

impl OpenDirectory {
    /// Makes a directory for its owner only. It fails where something has the name.
    pub fn make_directory(&self, name: &OsStr) -> io::Result<()> {
        Ok(rustix::fs::mkdirat(&self.0, name, DIRECTORY_MODE)?)
    }

    /// Makes a file for its owner only, open for writing. It fails where something has the name, a link too.
    pub fn make_file(&self, name: &OsStr) -> io::Result<File> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(File::from(rustix::fs::openat(&self.0, name, flags, FILE_MODE)?))
    }

    /// Opens an existing file for writing. It fails if the name is a link.
    pub fn open_file(&self, name: &OsStr) -> io::Result<File> {
        let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        Ok(File::from(rustix::fs::openat(&self.0, name, flags, Mode::empty())?))
    }

    /// Opens an existing file for reading. It fails if the name is a link, and does not wait for the other end of a pipe.
    pub fn read_file(&self, name: &OsStr) -> io::Result<File> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        Ok(File::from(rustix::fs::openat(&self.0, name, flags, Mode::empty())?))
    }

    pub fn make_symlink(&self, name: &OsStr, to: &OsStr) -> io::Result<()> {
        Ok(rustix::fs::symlinkat(to, &self.0, name)?)
    }

    pub fn make_hard_link(&self, name: &OsStr, directory: &Self, of: &OsStr) -> io::Result<()> {
        Ok(rustix::fs::linkat(&directory.0, of, &self.0, name, AtFlags::empty())?)
    }

    /// Renames `name` to `new` in `directory`. It fails where something has that name.
    pub fn rename_new_into(&self, name: &OsStr, directory: &Self, new: &OsStr) -> io::Result<()> {
        Ok(rustix::fs::renameat_with(&self.0, name, &directory.0, new, RenameFlags::NOREPLACE)?)
    }

    /// Sets owner and times of the link `name`, not of what it leads to.
    pub fn set_link_metadata(&self, name: &OsStr, metadata: &NewMetadata) -> Vec<Loss> {
        link_losses(&self.0, name, metadata)
    }

    pub fn set_metadata(&self, metadata: &NewMetadata, attributes: &[Attribute]) -> Vec<Loss> {
        super::metadata::set_metadata(&self.0, metadata, attributes)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{MetadataExt as _, symlink};
    use std::path::Path;

    use super::*;

    #[test]
    fn nothing_is_made_through_a_link_or_in_place_of_something_else() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        fs::create_dir(path("root")).unwrap();
        fs::write(path("precious"), b"precious").unwrap();
        symlink(path("precious"), path("root/link")).unwrap();
        symlink(path("nowhere"), path("root/dangling")).unwrap();
        let root = OpenDirectory::open(&path("root")).unwrap();
        for name in ["link", "dangling"].map(OsStr::new) {
            assert!(root.make_file(name).is_err() && root.open_file(name).is_err());
            assert!(root.read_file(name).is_err());
            assert!(root.make_directory(name).is_err() && root.make_symlink(name, name).is_err());
        }
        assert!(!path("nowhere").exists());
        assert_eq!(fs::read(path("precious")).unwrap(), b"precious");

        root.make_directory(OsStr::new("sub")).unwrap();
        let sub = root.below(Path::new("sub")).unwrap();
        drop(sub.make_file(OsStr::new("file")).unwrap());
        root.make_hard_link(OsStr::new("hard"), &sub, OsStr::new("file")).unwrap();
        assert_eq!(fs::metadata(path("root/hard")).unwrap().nlink(), 2);
        assert!(sub.rename_new_into(OsStr::new("file"), &root, OsStr::new("hard")).is_err());
        sub.rename_new_into(OsStr::new("file"), &root, OsStr::new("moved")).unwrap();
        assert!(path("root/moved").exists() && !path("root/sub/file").exists());
    }

    #[test]
    fn mode_and_time_are_set_on_files_directories_and_links_themselves() {
        let dir = tempfile::tempdir().unwrap();
        let root = OpenDirectory::open(dir.path()).unwrap();
        let (uid, gid) = (fs::metadata(dir.path()).unwrap().uid(), fs::metadata(dir.path()).unwrap().gid());
        let metadata = NewMetadata { mode: 0o640, uid, gid, modified_ns: -1_500_000_000 };
        let file = root.make_file(OsStr::new("file")).unwrap();
        root.make_symlink(OsStr::new("link"), OsStr::new("file")).unwrap();
        assert_eq!(super::super::metadata::set_metadata(&file, &metadata, &[]), []);
        let later = NewMetadata { modified_ns: 5, ..metadata };
        assert_eq!(root.set_link_metadata(OsStr::new("link"), &later), []);
        let found = fs::metadata(dir.path().join("file")).unwrap();
        assert_eq!((found.mode() & 0o7777, found.mtime(), found.mtime_nsec()), (0o640, -2, 500_000_000));
        let link = fs::symlink_metadata(dir.path().join("link")).unwrap();
        assert_eq!((link.mtime(), link.mtime_nsec()), (0, 5));
        assert_eq!(root.set_metadata(&NewMetadata { mode: 0o700, ..metadata }, &[]), []);
        assert_eq!(fs::metadata(dir.path()).unwrap().mtime(), -2);
    }
}
