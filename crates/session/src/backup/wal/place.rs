//! Where the files of an archive are: in a directory, or in an object store.

use std::fs::{self, File};
use std::io::{self, Seek as _};
use std::path::{Path, PathBuf};

use iostall_engine::files;
use iostall_remote::Object;

pub(super) use iostall_remote::is_object;

/// Enough of a file to read its header.
const START_BYTES: u64 = 4 << 10;
/// A segment has 1 GiB at most.
const OBJECT_BYTES_MAX: u64 = 1 << 31;

pub(super) struct Entry {
    pub(super) path: PathBuf,
    pub(super) file_name: String,
    /// Whether it is none that can be read.
    pub(super) is_special: bool,
}

pub(super) fn entries(directory: &Path) -> io::Result<Vec<Entry>> {
    let entry = |path: PathBuf, is_special: bool| {
        let file_name = path.file_name()?.to_str()?.to_owned();
        Some(Entry { path, file_name, is_special })
    };
    if is_object(directory) {
        let listed = Object::at(directory)?.list()?.into_iter();
        return Ok(listed.filter_map(|listed| entry(listed.path, false)).collect());
    }
    let mut all = Vec::new();
    for found in fs::read_dir(directory)? {
        let path = found?.path();
        // Whoever opens a pipe waits for a writer.
        let is_special = fs::metadata(&path).is_ok_and(|found| !found.is_file());
        all.extend(entry(path, is_special));
    }
    Ok(all)
}

pub(super) fn open(path: &Path) -> io::Result<File> {
    if !is_object(path) {
        return File::open(path);
    }
    let reader = Object::at(path)?.reader()?;
    if reader.bytes() > OBJECT_BYTES_MAX {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, "it is longer than any segment"));
    }
    in_memory(&reader.read(0, reader.bytes())?)
}

/// [`open`] where only the header counts; the length of the file is right.
pub(super) fn open_start(path: &Path) -> io::Result<File> {
    if !is_object(path) {
        return File::open(path);
    }
    let (start, bytes) = Object::at(path)?.start(START_BYTES)?;
    let file = in_memory(&start)?;
    file.set_len(bytes)?;
    Ok(file)
}

fn in_memory(bytes: &[u8]) -> io::Result<File> {
    let mut file = files::in_memory(bytes)?;
    file.rewind()?;
    Ok(file)
}

pub(super) fn is_there(path: &Path) -> io::Result<bool> {
    if is_object(path) {
        return Object::at(path)?.exists();
    }
    Ok(fs::symlink_metadata(path).is_ok())
}

/// Puts what is in `file` into a store; `AlreadyExists` if something has the name.
pub(super) fn put(path: &Path, file: &File) -> io::Result<()> {
    let object = Object::at(path)?;
    // Where a store ignores the condition of the request that follows, this finds all but a race.
    if object.exists()? {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    let length = file.metadata()?.len();
    let mut bytes = vec![0; usize::try_from(length).unwrap_or(usize::MAX)];
    let mut filled = 0;
    while filled < bytes.len() {
        match files::read_at(file, &mut bytes[filled..], filled as u64)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            read => filled += read,
        }
    }
    object.put_new(&bytes, None)
}

pub(super) fn remove(path: &Path) -> io::Result<()> {
    if is_object(path) { Object::at(path)?.delete() } else { fs::remove_file(path) }
}

pub(super) fn bytes(path: &Path) -> io::Result<u64> {
    if is_object(path) {
        return Object::at(path)?.bytes();
    }
    fs::symlink_metadata(path).map(|metadata| metadata.len())
}

/// Makes the names in `directory` durable. A store has done so when it answers.
pub(super) fn sync(directory: &Path) -> io::Result<()> {
    if is_object(directory) { Ok(()) } else { files::sync_directory(directory) }
}
