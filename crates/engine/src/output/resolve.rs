//! Following a path by hand to what it leads to, also where that is not there yet.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::refusal::OutputRefusal;
use crate::files;

/// The kernel follows no more links than this in one path.
const LINKS_MAX: u32 = 40;

/// Sticky, and writable by everybody: `/tmp`.
const EVERYBODYS: u32 = 0o1002;

/// Where a path leads.
pub(super) enum Resolved {
    /// To this name, in a directory whose path has no link in it. The name itself may be there or not, and is no link.
    Name {
        /// The directory.
        directory: PathBuf,
        /// What is missing of the way to the file, from `directory` on; for a name in a directory that is there,
        /// the name alone.
        rest: PathBuf,
    },
    /// To an open file of this process.
    Descriptor(i32),
    /// To an open file without a name of another process, by this link of procfs.
    Unnamed(PathBuf),
}

/// Follows every link in `path`.
pub(super) fn resolve(path: &Path) -> Result<Resolved, OutputRefusal> {
    let mut at = std::path::absolute(path)?;
    for _ in 0..LINKS_MAX {
        if at.as_os_str().as_bytes().ends_with(b"/") && at.parent().is_some() {
            // Whoever writes `name/` means a directory; where there is none, nothing of that name is made.
            let at = fs::canonicalize(&at).unwrap_or(at);
            return if at.is_dir() {
                Ok(by_name(at))
            } else {
                Err(OutputRefusal::NoDirectory { directory: at })
            };
        }
        let (Some(parent), Some(name)) = (at.parent(), at.file_name()) else {
            // `/`, or a path that ends in `..`.
            return Ok(by_name(fs::canonicalize(&at)?));
        };
        let parent = match fs::canonicalize(parent) {
            Ok(parent) => parent,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(missing(parent, name)),
            Err(error) => return Err(error.into()),
        };
        if let Some(number) = own_descriptor(&parent, name.as_bytes()) {
            return Ok(Resolved::Descriptor(number));
        }
        let full = parent.join(name);
        let Ok(link) = fs::read_link(&full) else {
            return Ok(Resolved::Name { directory: parent, rest: PathBuf::from(name) });
        };
        if is_unnamed(&parent, &full) {
            return Ok(Resolved::Unnamed(full));
        }
        refuse_foreign_link(&parent, &full)?;
        at = parent.join(link);
    }
    Err(io::Error::from(rustix::io::Errno::LOOP).into())
}

/// A path without links as [`Resolved`].
fn by_name(path: PathBuf) -> Resolved {
    let rest = PathBuf::from(path.file_name().unwrap_or_default());
    Resolved::Name { directory: path.parent().map(Path::to_owned).unwrap_or(path), rest }
}

/// The nearest directory that is there, and what is missing from it on.
fn missing(parent: &Path, name: &std::ffi::OsStr) -> Resolved {
    let mut rest: Vec<OsString> = vec![name.to_owned()];
    let mut at = parent;
    loop {
        if let Ok(directory) = fs::canonicalize(at) {
            return Resolved::Name { directory, rest: rest.iter().rev().collect() };
        }
        match (at.parent(), at.file_name()) {
            (Some(above), Some(name)) => {
                rest.push(name.to_owned());
                at = above;
            }
            (Some(above), None) => at = above,
            (None, _) => {
                return Resolved::Name { directory: at.to_owned(), rest: rest.iter().rev().collect() };
            }
        }
    }
}

/// The number that `name` is of, where `directory` is the one of this process's descriptors.
fn own_descriptor(directory: &Path, name: &[u8]) -> Option<i32> {
    if !directory.starts_with("/proc") {
        return None;
    }
    let is_own = ["/proc/self/fd", "/proc/thread-self/fd"]
        .iter()
        .any(|own| fs::canonicalize(own).is_ok_and(|own| own == directory));
    if is_own { std::str::from_utf8(name).ok()?.parse().ok() } else { None }
}

/// Whether a link of procfs leads to something that has no path: a pipe, a socket, a file that was removed.
fn is_unnamed(parent: &Path, link: &Path) -> bool {
    if !parent.starts_with("/proc") {
        return false;
    }
    let there = fs::metadata(link).map(|there| (there.dev(), there.ino())).ok();
    let named = fs::canonicalize(link).and_then(fs::metadata).map(|named| (named.dev(), named.ino())).ok();
    there.is_some() && there != named
}

/// The kernel's own rule for opening (`fs.protected_symlinks`), which following by hand would pass by.
fn refuse_foreign_link(parent: &Path, link: &Path) -> Result<(), OutputRefusal> {
    let (directory, owner) = (fs::metadata(parent)?, fs::symlink_metadata(link)?.uid());
    if directory.mode() & EVERYBODYS == EVERYBODYS
        && ![files::effective_user(), directory.uid()].contains(&owner)
    {
        return Err(OutputRefusal::ForeignLink { link: link.to_owned() });
    }
    Ok(())
}
