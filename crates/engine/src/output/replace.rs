//! Replaces regular files atomically: whole under their name, or unchanged.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Mode, OFlags};

use crate::files;

/// How much of the name a temporary name keeps, bytes: the result stays below 255.
const NAME_BYTES_MAX: usize = 220;

/// Replaces `path`, which has no link in it, by the output of `render`.
pub(super) fn replace(path: &Path, render: &dyn Fn(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let before = existing(path)?;
    let draft = match Draft::new(path) {
        Ok(made) => made,
        // Our own file in a directory that we may not write to: there is no way to create a temporary file.
        Err(error) if before.is_some() && keeps_names(&error) => return overwrite(path, render),
        Err(error) => return Err(error),
    };
    if let Some(before) = &before {
        // Copies what this user may set; the times will be those of the write below.
        if let Ok(stamp) = files::stamp(before) {
            files::copy_metadata(before, &stamp, &draft.file);
        }
    }
    write_durably(&draft.file, render)?;
    // Another program may have put a pipe or a device there since.
    let _ = existing(path)?;
    match draft.take_name_of(path) {
        // A file that is a mount point, as in containers, cannot be renamed over.
        Err(error) if before.is_some() && keeps_names(&error) => return overwrite(path, render),
        named => named?,
    }
    match files::sync_directory(directory_of(path)) {
        // A directory that is writable but not readable cannot be synced; the name is in place.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(()),
        synced => synced,
    }
}

fn directory_of(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new("/"))
}

/// The regular file at `path`, open for reading if allowed; an error if something else is there.
fn existing(path: &Path) -> io::Result<Option<File>> {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
        Ok(there) if there.is_file() => {
            let open = |write: bool| {
                let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
                OpenOptions::new().read(!write).write(write).custom_flags(flags).open(path)
            };
            open(false).or_else(|_| open(true)).map(Some)
        }
        Ok(_) => Err(io::Error::other("something else has taken its place")),
    }
}

/// Whether the error means that names in the directory cannot be changed, which says nothing about its files.
fn keeps_names(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::PermissionDenied | io::ErrorKind::ResourceBusy | io::ErrorKind::CrossesDevices
    )
}

/// Overwrites the file in place. Renders everything before writing the first byte, so that only the system
/// can fail.
fn overwrite(path: &Path, render: &dyn Fn(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut document = Vec::new();
    render(&mut document)?;
    // A link may have taken the place of what was there.
    let mut file = OpenOptions::new().write(true).custom_flags(libc::O_NOFOLLOW).open(path)?;
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

/// How many temporary names are tried: only leftovers of an earlier process with the same pid can collide.
const TRIES: u32 = 100;

struct Draft {
    file: File,
    /// Its temporary name, if the file system does not support unnamed files.
    part: Option<Part>,
}

impl Draft {
    /// An unnamed file in the directory of `path`, so that a killed process leaves nothing behind; otherwise
    /// one with a temporary name.
    fn new(path: &Path) -> io::Result<Self> {
        let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
        match rustix::fs::open(directory_of(path), flags, Mode::from_raw_mode(0o666)) {
            Ok(file) if fs::metadata(link_of(&file)).is_ok() => Ok(Self { file: file.into(), part: None }),
            // Whatever the reason, the attempt to create a named one will report it.
            _ => {
                Part::find(path, |part| OpenOptions::new().read(true).write(true).create_new(true).open(part))
                    .map(|(part, file)| Self { file, part: Some(part) })
            }
        }
    }

    /// Renames it to `path`, which always refers to a whole file, old or new.
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

fn link_of(file: &impl AsRawFd) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

/// A temporary name, removed with this value unless the file was renamed.
struct Part {
    path: PathBuf,
    /// After the rename the name may belong to another process.
    is_renamed: bool,
}

impl Part {
    /// Finds a free name `.NAME.iostall-XXXXXXXX.part` beside `path` and creates it with `make`.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_that_takes_the_place_of_a_file_is_not_written_through() {
        let dir = tempfile::tempdir().unwrap();
        let [link, victim] = ["report", "victim"].map(|name| dir.path().join(name));
        fs::write(&victim, "precious").unwrap();
        std::os::unix::fs::symlink(&victim, &link).unwrap();
        overwrite(&link, &|out| out.write_all(b"report")).unwrap_err();
        assert!(existing(&link).is_err());
        assert_eq!(fs::read(&victim).unwrap(), b"precious");
    }
}
