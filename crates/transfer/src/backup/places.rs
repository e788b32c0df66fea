//! What a backup needs of the places where it lies, whether they are directories or parts of a store.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use iostall_engine::{files, guard};
use iostall_remote::{Object, ObjectReader, is_object};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    Missing,
    File,
    /// A directory, or the beginning of the names of objects.
    Directory,
}

impl Place {
    pub fn at(path: &Path) -> io::Result<Self> {
        if is_object(path) {
            let object = Object::at(path)?;
            return Ok(match object.list()?.is_empty() {
                false => Self::Directory,
                true if object.exists()? => Self::File,
                true => Self::Missing,
            });
        }
        Ok(match path.metadata() {
            Ok(metadata) if metadata.is_dir() => Self::Directory,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Self::Missing,
            // Who opens it is told why it cannot be read.
            Ok(_) | Err(_) => Self::File,
        })
    }
}

pub(super) fn reader(path: &Path) -> io::Result<ObjectReader> {
    Object::at(path)?.reader()
}

/// The first `length` bytes of `file` from `offset`, or fewer at its end.
pub(super) fn read_part(file: &File, offset: u64, length: usize) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; length];
    let mut filled = 0;
    while filled < length {
        match files::read_at(file, &mut bytes[filled..], offset + filled as u64)? {
            0 => break,
            read => filled += read,
        }
    }
    bytes.truncate(filled);
    Ok(bytes)
}

/// Everything in an object that is not longer than `most`; `None` if it is.
pub(super) fn whole_object(path: &Path, most: u64) -> io::Result<Option<Vec<u8>>> {
    let reader = reader(path)?;
    if reader.bytes() > most { Ok(None) } else { reader.read(0, reader.bytes()).map(Some) }
}

pub(super) fn paths_in(directory: &Path) -> io::Result<Vec<PathBuf>> {
    if is_object(directory) {
        let listed = Object::at(directory)?.list()?;
        return Ok(listed.into_iter().map(|object| object.path).collect());
    }
    Ok(std::fs::read_dir(directory)?.flatten().map(|entry| entry.path()).collect())
}

pub(super) fn is_there(path: &Path) -> bool {
    if is_object(path) {
        return Object::at(path).is_ok_and(|object| object.exists().unwrap_or(true));
    }
    path.symlink_metadata().is_ok()
}

/// Whether two paths are of one file, or of one directory. Objects have one name each.
pub(super) fn is_same_place(one: &Path, other: &Path) -> bool {
    if is_object(one) || is_object(other) { one == other } else { guard::is_same_place(one, other) }
}
