//! Regular files: whole under their name, or as they were.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use crate::files;

/// Longest beginning of a name that a temporary name keeps, bytes: with the rest it stays below 255.
const NAME_BYTES_MAX: usize = 220;

/// Puts what `render` writes in the place of `path`, which has no link in it.
pub(super) fn replace(path: &Path, render: &dyn Fn(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let before = existing(path)?;
    let (part, file) = match Part::new(path) {
        Ok(made) => made,
        // A file of ours in a directory that is not: there is no room for a second name.
        Err(error) if before.is_some() && keeps_names(&error) => return overwrite(path, render),
        Err(error) => return Err(error),
    };
    if let Some(before) = &before {
        // As much as this user may give it; its times become those of the writing below.
        if let Ok(stamp) = files::stamp(before) {
            files::copy_metadata(before, &stamp, &file);
        }
    }
    write_durably(&file, render)?;
    // Somebody may have put a pipe or a device there since.
    let _ = existing(path)?;
    match files::rename_over(&part.path, path) {
        // A file that is mounted by itself, as containers do, cannot be renamed over.
        Err(error) if before.is_some() && keeps_names(&error) => return overwrite(path, render),
        renamed => renamed?,
    }
    match files::sync_directory(path.parent().unwrap_or(Path::new("/"))) {
        // A directory that may be written to and not read: the name is there, and more cannot be done.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(()),
        synced => synced,
    }
}

/// The regular file at `path`, open for reading where this user may; an error where something else is there.
fn existing(path: &Path) -> io::Result<Option<File>> {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
        Ok(there) if there.is_file() => match File::open(path) {
            Ok(file) => Ok(Some(file)),
            Err(_) => Ok(Some(OpenOptions::new().write(true).open(path)?)),
        },
        Ok(_) => Err(io::Error::other("something else has taken its place")),
    }
}

/// Whether the names of a directory may not be changed, which says nothing about the files in it.
fn keeps_names(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::PermissionDenied | io::ErrorKind::ResourceBusy | io::ErrorKind::CrossesDevices
    )
}

/// Writes over the file itself. All is rendered before the first byte goes, so that only the system can spoil it.
fn overwrite(path: &Path, render: &dyn Fn(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut document = Vec::new();
    render(&mut document)?;
    let mut file = OpenOptions::new().write(true).open(path)?;
    file.write_all(&document)?;
    file.set_len(document.len() as u64)?;
    file.sync_all()
}

fn write_durably(file: &File, render: &dyn Fn(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut out = BufWriter::new(file);
    render(&mut out)?;
    out.into_inner().map_err(io::IntoInnerError::into_error)?;
    file.sync_all()
}

/// Temporary names that are tried: only what a process of this number left behind is in the way.
const TRIES: u32 = 100;

/// A file under a temporary name, which goes with this value unless it was renamed.
struct Part {
    path: PathBuf,
}

impl Part {
    /// `.NAME.iostall-XXXXXXXX.part` beside `path`, nobody else's.
    fn new(path: &Path) -> io::Result<(Self, File)> {
        let name = path.file_name().unwrap_or_default().as_bytes();
        let name = &name[..name.len().min(NAME_BYTES_MAX)];
        let first = std::process::id();
        for number in first..first.saturating_add(TRIES) {
            let mut made = vec![b'.'];
            made.extend_from_slice(name);
            made.extend_from_slice(format!(".iostall-{number:08x}.part").as_bytes());
            let path = path.with_file_name(OsString::from_vec(made));
            match OpenOptions::new().read(true).write(true).create_new(true).open(&path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                made => return Ok((Self { path }, made?)),
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        // Renamed, it is not there any more.
        drop(fs::remove_file(&self.path));
    }
}
