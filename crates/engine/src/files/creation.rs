//! Creates and opens files in directories that others can write to: with their permissions from the start,
//! and without following a link that someone planted.

use std::fs::{DirBuilder, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

const OWNER_ONLY: u32 = 0o600;

/// Makes an empty file, open for writing, with the permissions in `mode`. It fails where something has the name.
pub fn create_new(path: &Path, mode: u32) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).mode(mode & 0o777).open(path)
}

/// Makes an empty file for its owner only, open for writing. It fails where something has the name.
pub fn create_new_private(path: &Path) -> io::Result<File> {
    create_new(path, OWNER_ONLY)
}

/// Opens the file for reading and writing without truncating it, or creates it for its owner only. Fails if
/// the name is a link.
pub fn open_or_create_private(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(OWNER_ONLY);
    options.custom_flags(libc::O_NOFOLLOW).open(path)
}

/// Opens an existing file to lock it: for writing if allowed, because network file systems lock only files
/// open for writing. Fails if the name is a link.
pub fn open_to_lock(path: &Path) -> io::Result<File> {
    let open =
        |write: bool| OpenOptions::new().read(!write).write(write).custom_flags(libc::O_NOFOLLOW).open(path);
    match open(true) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => open(false),
        other => other,
    }
}

/// Opens an existing file for reading. Fails if the name is a link, and does not wait for the other end of a
/// pipe.
pub fn open_in_shared_directory(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(path)
}

pub fn make_private(file: &File) -> io::Result<()> {
    file.set_permissions(Permissions::from_mode(OWNER_ONLY))
}

/// Sets the permissions in `mode`, whatever the umask takes from new files.
pub fn set_mode(file: &File, mode: u32) -> io::Result<()> {
    file.set_permissions(Permissions::from_mode(mode & 0o777))
}

/// Makes a directory for its owner only. It fails where something has the name.
pub fn create_new_directory_private(path: &Path) -> io::Result<()> {
    DirBuilder::new().mode(0o700).create(path)
}

pub fn make_symlink(target: &Path, path: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(target, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        std::fs::symlink_metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn what_is_made_is_private_from_the_start_and_never_in_the_place_of_something_else() {
        let dir = tempfile::tempdir().unwrap();
        let [file, wide, below] = ["file", "wide", "below"].map(|name| dir.path().join(name));
        create_new_private(&file).unwrap();
        create_new(&wide, 0o4640).unwrap();
        create_new_directory_private(&below).unwrap();
        assert_eq!((mode(&file), mode(&wide), mode(&below)), (0o600, 0o640, 0o700));
        make_private(&File::open(&wide).unwrap()).unwrap();
        assert_eq!(mode(&wide), 0o600);
        for path in [&file, &below] {
            assert_eq!(create_new_private(path).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
            assert_eq!(create_new_directory_private(path).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        }
    }

    #[test]
    fn a_planted_link_is_not_followed_and_a_pipe_is_not_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let [victim, link, pipe] = ["victim", "link", "pipe"].map(|name| dir.path().join(name));
        std::fs::write(&victim, b"precious").unwrap();
        make_symlink(&victim, &link).unwrap();
        for opened in [open_or_create_private(&link), open_to_lock(&link), open_in_shared_directory(&link)] {
            assert!(opened.is_err());
        }
        let made = rustix::fs::mknodat(
            rustix::fs::CWD,
            &pipe,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::from_raw_mode(0o600),
            0,
        );
        made.unwrap();
        open_in_shared_directory(&pipe).unwrap();
        let kept = open_or_create_private(&victim).unwrap();
        assert_eq!(kept.metadata().unwrap().len(), 8, "what is in it stays");
    }
}
