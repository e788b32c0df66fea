//! Regular files: whole under their name, or as they were.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Mode, OFlags};

use crate::files;

/// Longest beginning of a name that a temporary name keeps, bytes: with the rest it stays below 255.
const NAME_BYTES_MAX: usize = 220;

/// Puts what `render` writes in the place of `path`, which has no link in it.
pub(super) fn replace(path: &Path, render: &dyn Fn(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let before = existing(path)?;
    let draft = match Draft::new(path) {
        Ok(made) => made,
        // A file of ours in a directory that is not: there is no room for a second name.
        Err(error) if before.is_some() && keeps_names(&error) => return overwrite(path, render),
        Err(error) => return Err(error),
    };
    if let Some(before) = &before {
        // As much as this user may give it; its times become those of the writing below.
        if let Ok(stamp) = files::stamp(before) {
            files::copy_metadata(before, &stamp, &draft.file);
        }
    }
    write_durably(&draft.file, render)?;
    // Somebody may have put a pipe or a device there since.
    let _ = existing(path)?;
    match draft.take_name_of(path) {
        // A file that is mounted by itself, as containers do, cannot be renamed over.
        Err(error) if before.is_some() && keeps_names(&error) => return overwrite(path, render),
        named => named?,
    }
    match files::sync_directory(directory_of(path)) {
        // A directory that may be written to and not read: the name is there, and more cannot be done.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(()),
        synced => synced,
    }
}

fn directory_of(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new("/"))
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

/// What is being written.
struct Draft {
    file: File,
    /// Its temporary name, where the file system has no files without one.
    part: Option<Part>,
}

impl Draft {
    /// A file without a name in the directory of `path`, so that a process that is killed leaves nothing behind; or else
    /// one under a temporary name.
    fn new(path: &Path) -> io::Result<Self> {
        let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
        match rustix::fs::open(directory_of(path), flags, Mode::from_raw_mode(0o666)) {
            Ok(file) if fs::metadata(link_of(&file)).is_ok() => Ok(Self { file: file.into(), part: None }),
            // Whatever the reason, it is told by the attempt to make one with a name.
            _ => {
                Part::find(path, |part| OpenOptions::new().read(true).write(true).create_new(true).open(part))
                    .map(|(part, file)| Self { file, part: Some(part) })
            }
        }
    }

    /// Gives it the name `path`, from which no moment is without a whole file.
    fn take_name_of(self, path: &Path) -> io::Result<()> {
        let part = if let Some(part) = self.part {
            part
        } else {
            let link = link_of(&self.file);
            let name = |part: &Path| {
                rustix::fs::linkat(CWD, &link, CWD, part, AtFlags::SYMLINK_FOLLOW).map_err(io::Error::from)
            };
            Part::find(path, name)?.0
        };
        part.rename(path)
    }
}

/// Where procfs shows an open file.
fn link_of(file: &impl AsRawFd) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

/// A temporary name, which goes with this value unless its file was renamed.
struct Part {
    path: PathBuf,
    /// The name may be another process's by now.
    is_renamed: bool,
}

impl Part {
    /// `.NAME.iostall-XXXXXXXX.part` beside `path`, under which `make` made something where nothing was.
    fn find<T>(path: &Path, make: impl Fn(&Path) -> io::Result<T>) -> io::Result<(Self, T)> {
        let name = path.file_name().unwrap_or_default().as_bytes();
        let name = &name[..name.len().min(NAME_BYTES_MAX)];
        let first = std::process::id();
        for number in first..first.saturating_add(TRIES) {
            let mut part = vec![b'.'];
            part.extend_from_slice(name);
            part.extend_from_slice(format!(".iostall-{number:08x}.part").as_bytes());
            let part = path.with_file_name(OsString::from_vec(part));
            match make(&part) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                tried => return tried.map(|made| (Self { path: part, is_renamed: false }, made)),
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    fn rename(mut self, to: &Path) -> io::Result<()> {
        files::rename_over(&self.path, to)?;
        self.is_renamed = true;
        Ok(())
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        if !self.is_renamed {
            drop(fs::remove_file(&self.path));
        }
    }
}
