//! The directory of one prefix. Links in it lead nowhere: every directory on the way is opened by itself.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use iostall_engine::files::{FileKind, FileStamp, OpenDirectory, open_or_create_private};
use iostall_measure::ByteCount;
use thiserror::Error;

use super::names::{Name, is_part};
use super::room::Room;
use crate::tls_server::Refusal;

/// Where files are until they are complete; no client can name it.
const UPLOADS: &str = ".iostall-receive";
const LOCK: &str = "lock";
/// The end of the name of a note.
const NOTE: &str = ".note";
/// Digits of the name of a file in it.
pub(super) const ID_DIGITS: usize = 32;

/// What an earlier receiver left of an upload.
pub(super) struct Unfinished {
    pub(super) id: String,
    pub(super) file: File,
    pub(super) note: File,
    /// When the note was written to last, Unix time.
    pub(super) noted_ns: i128,
}

/// Why a directory cannot be received into.
#[derive(Debug, Error)]
pub enum PlaceError {
    #[error("cannot use {place} for uploads: {source}")]
    System { place: String, source: io::Error },
    #[error("another iostall receives into {place}")]
    Taken { place: String },
}

/// See the module.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) prefix: Name,
    directory: OpenDirectory,
    uploads: OpenDirectory,
    device: u64,
    room: Mutex<Room>,
    /// Locked as long as it is open.
    _lock: File,
}

impl Place {
    /// Makes the directories of `prefix` below `root` where they are missing, and removes what an earlier receiver left of uploads of which
    /// nothing is known.
    pub(super) fn open(root: &Path, prefix: &Name) -> Result<Self, PlaceError> {
        let place = root.join(prefix.to_path());
        let failed = |source| PlaceError::System { place: place.display().to_string(), source };
        let open = OpenDirectory::open_following(root).map_err(failed)?;
        let directory = make_below(&open, &prefix.to_path()).map_err(failed)?;
        let uploads = make_below(&directory, Path::new(UPLOADS)).map_err(failed)?;
        let lock = open_or_create_private(&place.join(UPLOADS).join(LOCK)).map_err(failed)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(std::fs::TryLockError::WouldBlock) => {
                return Err(PlaceError::Taken { place: place.display().to_string() });
            }
            Err(std::fs::TryLockError::Error(error)) => return Err(failed(error)),
        }
        let names = uploads.names().map_err(failed)?;
        let is_there = |name: String| names.iter().any(|other| *other == *name);
        for name in &names {
            let text = name.to_str().unwrap_or_default();
            let is_alone = match text.strip_suffix(NOTE) {
                Some(id) => is_id(id) && !is_there(id.to_owned()),
                None => is_id(text) && !is_there(note_of(text)),
            };
            if is_alone {
                uploads.remove_file(name).map_err(failed)?;
            }
        }
        let device = uploads.stamp().map_err(failed)?.device;
        Ok(Self { prefix: prefix.clone(), directory, uploads, device, room: Mutex::default(), _lock: lock })
    }

    /// Takes note of a part that is on its way, unless there would be more than `quota` below the prefix then.
    pub(super) fn take_room(
        &self,
        part: (&str, usize),
        bytes: u64,
        quota: Option<ByteCount>,
    ) -> Result<(), Refusal> {
        let mut room = self.room.lock().unwrap_or_else(PoisonError::into_inner);
        room.take(part, bytes, quota, || bytes_in(&self.directory))
    }

    /// Fails if there is no room for a byte.
    pub(super) fn check_room(&self, quota: Option<ByteCount>) -> Result<(), Refusal> {
        let mut room = self.room.lock().unwrap_or_else(PoisonError::into_inner);
        room.any(quota, || bytes_in(&self.directory))
    }

    fn end_room(&self, id: &str, is_stored: bool) {
        self.room.lock().unwrap_or_else(PoisonError::into_inner).end(id, is_stored);
    }

    /// Begins a file under this id, and sees to it that it can have its name later.
    pub(super) fn begin(&self, id: &str, name: &Name) -> io::Result<File> {
        let (directories, last) = name.below(&self.prefix).ok_or(io::ErrorKind::InvalidInput)?;
        let directory = make_below(&self.directory, &directories)?;
        if directory.stamp()?.device != self.device {
            return Err(io::ErrorKind::CrossesDevices.into());
        }
        match directory.stamp_of(last) {
            Ok(_) => return Err(io::ErrorKind::AlreadyExists.into()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        self.uploads.make_file(OsStr::new(id))
    }

    /// Makes the file for the note of an upload.
    pub(super) fn begin_note(&self, id: &str) -> io::Result<File> {
        self.uploads.make_file(OsStr::new(&note_of(id)))
    }

    /// What an earlier receiver left of uploads of which something is known.
    pub(super) fn unfinished(&self) -> io::Result<Vec<Unfinished>> {
        let mut found = Vec::new();
        for name in self.uploads.names()? {
            let Some(id) = name.to_str().filter(|text| is_id(text)) else { continue };
            let open = |name: &str| self.uploads.open_file(OsStr::new(name));
            let (file, note) = (open(id)?, open(&note_of(id))?);
            let noted_ns = iostall_engine::files::stamp(&note)?.modified_ns;
            found.push(Unfinished { id: id.to_owned(), file, note, noted_ns });
        }
        Ok(found)
    }

    /// Gives the file of this id its name, durably, unless something has it.
    pub(super) fn complete(&self, id: &str, file: &File, name: &Name) -> io::Result<()> {
        let (directories, last) = name.below(&self.prefix).ok_or(io::ErrorKind::InvalidInput)?;
        file.sync_all()?;
        let directory = self.directory.below(&directories)?;
        self.uploads.rename_new_into(OsStr::new(id), &directory, last)?;
        directory.sync()?;
        self.end_room(id, true);
        // Without its file a note says nothing; the next receiver tries again.
        let _ = self.uploads.remove_file(OsStr::new(&note_of(id)));
        Ok(())
    }

    /// Removes the file of this id, and its note.
    pub(super) fn give_up(&self, id: &str) {
        self.end_room(id, false);
        // The next receiver tries again.
        let _ = self.uploads.remove_file(OsStr::new(id));
        let _ = self.uploads.remove_file(OsStr::new(&note_of(id)));
    }

    /// Opens a file for reading.
    pub(super) fn read(&self, name: &Name) -> io::Result<(File, FileStamp)> {
        let (directories, last) = name.below(&self.prefix).ok_or(io::ErrorKind::NotFound)?;
        let directory = self.directory.below(&directories).map_err(none_where_no_directory)?;
        if directory.stamp_of(last)?.kind != FileKind::Regular {
            return Err(io::ErrorKind::NotFound.into());
        }
        let file = directory.read_file(last)?;
        let stamp = iostall_engine::files::stamp(&file)?;
        if stamp.kind == FileKind::Regular { Ok((file, stamp)) } else { Err(io::ErrorKind::NotFound.into()) }
    }

    /// The files in the directory `name`, without those that no client can name.
    pub(super) fn list(&self, name: &Name) -> io::Result<Vec<(String, FileStamp)>> {
        let below = name.path_below(&self.prefix).ok_or(io::ErrorKind::NotFound)?;
        let directory = match self.directory.below(&below).map_err(none_where_no_directory) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            directory => directory?,
        };
        let mut found = Vec::new();
        for file in directory.names()? {
            let Some(text) = file.to_str().filter(|text| is_part(text)) else { continue };
            match directory.stamp_of(&file) {
                Ok(stamp) if stamp.kind == FileKind::Regular => found.push((text.to_owned(), stamp)),
                // Something else, or gone meanwhile.
                _ => {}
            }
        }
        Ok(found)
    }
}

/// Bytes of all files below a directory, without those that are on their way, and without following links.
fn bytes_in(directory: &OpenDirectory) -> io::Result<u64> {
    let mut bytes = 0;
    for name in directory.names()? {
        let stamp = match directory.stamp_of(&name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            stamp => stamp?,
        };
        bytes += match stamp.kind {
            FileKind::Regular => stamp.size_bytes,
            FileKind::Directory if name != *UPLOADS => bytes_in(&directory.below(Path::new(&name))?)?,
            _ => 0,
        };
    }
    Ok(bytes)
}

/// A file or a link where a directory should be is no directory of a client.
fn none_where_no_directory(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::NotADirectory => io::ErrorKind::NotFound.into(),
        _ => error,
    }
}

/// Opens a directory below `root`, and makes it where it is missing.
fn make_below(root: &OpenDirectory, path: &Path) -> io::Result<OpenDirectory> {
    let mut at = root.below(Path::new(""))?;
    for part in path {
        at = match at.below(Path::new(part)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                match at.make_directory(part) {
                    Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
                    _ => {}
                }
                at.sync()?;
                at.below(Path::new(part))?
            }
            below => below?,
        };
    }
    Ok(at)
}

fn is_id(name: &str) -> bool {
    name.len() == ID_DIGITS && name.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn note_of(id: &str) -> String {
    format!("{id}{NOTE}")
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    fn name(text: &str) -> Name {
        Name::parse(text).unwrap()
    }

    const ID: &str = "0123456789abcdef0123456789abcdef";

    #[test]
    fn nothing_is_stored_read_or_listed_through_a_link() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        fs::create_dir(path("elsewhere")).unwrap();
        fs::write(path("elsewhere/precious"), b"precious").unwrap();
        fs::create_dir(path("root")).unwrap();
        let place = Place::open(&path("root"), &name("db1")).unwrap();
        symlink(path("elsewhere"), path("root/db1/link")).unwrap();
        symlink(path("elsewhere/precious"), path("root/db1/file")).unwrap();
        assert!(place.begin(ID, &name("db1/link/new")).is_err());
        assert!(place.begin(ID, &name("db1/file")).is_err());
        assert!(place.read(&name("db1/link/precious")).is_err());
        assert!(place.read(&name("db1/file")).is_err());
        assert!(place.read(&name("db2/a")).is_err());
        assert_eq!(place.list(&name("db1/link")).unwrap().len(), 0);
        assert_eq!(place.list(&name("db1")).unwrap().len(), 0);
        let file = place.begin(ID, &name("db1/a")).unwrap();
        symlink(path("elsewhere/precious"), path("root/db1/a")).unwrap();
        let taken = place.complete(ID, &file, &name("db1/a")).unwrap_err();
        assert_eq!(taken.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read(path("elsewhere/precious")).unwrap(), b"precious");
        assert_eq!(fs::read_dir(path("elsewhere")).unwrap().count(), 1);
        // A prefix that is a link is none either.
        symlink(path("elsewhere"), path("root/db2")).unwrap();
        assert!(Place::open(&path("root"), &name("db2")).is_err());
    }

    #[test]
    fn what_was_not_completed_goes_with_the_next_receiver_and_nothing_else_does() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        let place = Place::open(root, &name("db1")).unwrap();
        drop(place.begin(ID, &name("db1/a/b/c")).unwrap());
        assert!(matches!(Place::open(root, &name("db1")), Err(PlaceError::Taken { .. })));
        drop(place);
        fs::write(root.join("db1/.iostall-receive/somebody-elses"), b"x").unwrap();
        fs::write(root.join("db1/0123456789abcdef0123456789abcdef"), b"x").unwrap();
        fs::write(root.join(format!("db1/.iostall-receive/{}.note", ID.replace('0', "1"))), b"of nothing")
            .unwrap();
        let place = Place::open(root, &name("db1")).unwrap();
        assert_eq!(place.uploads.names().unwrap(), ["lock", "somebody-elses"]);
        assert_eq!(place.list(&name("db1")).unwrap()[0].0, ID);
    }
}
