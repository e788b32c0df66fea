//! Resolves a path, including one that does not exist yet.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::refusal::OutputRefusal;
use crate::files;

/// The kernel follows at most this many links in a path.
const LINKS_MAX: u32 = 40;

/// Mode of a directory like `/tmp`: sticky and writable by everybody.
const EVERYBODYS: u32 = 0o1002;

pub(super) enum Resolved {
    /// A name that may not exist and is not a link, in a directory whose path contains no link.
    Name {
        directory: PathBuf,
        /// The missing part of the path from `directory` on; just the name if the directory exists.
        rest: PathBuf,
    },
    Descriptor(i32),
    /// To an unnamed open file of another process, through this link in procfs.
    Unnamed(PathBuf),
}

pub(super) fn resolve(path: &Path) -> Result<Resolved, OutputRefusal> {
    let mut at = std::path::absolute(path)?;
    for _ in 0..LINKS_MAX {
        if at.as_os_str().as_bytes().ends_with(b"/") && at.parent().is_some() {
            // `name/` means a directory; if it does not exist, nothing of that name is created.
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

fn by_name(path: PathBuf) -> Resolved {
    let rest = PathBuf::from(path.file_name().unwrap_or_default());
    Resolved::Name { directory: path.parent().map(Path::to_owned).unwrap_or(path), rest }
}

/// The nearest existing directory, and the missing rest.
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

/// The descriptor that `name` refers to, if `directory` is this process's `fd` directory in procfs.
fn own_descriptor(directory: &Path, name: &[u8]) -> Option<i32> {
    if !directory.starts_with("/proc") {
        return None;
    }
    let is_own = ["/proc/self/fd", "/proc/thread-self/fd"]
        .iter()
        .any(|own| fs::canonicalize(own).is_ok_and(|own| own == directory));
    if is_own { std::str::from_utf8(name).ok()?.parse().ok() } else { None }
}

/// Whether a link in procfs leads to something without a path: a pipe, a socket, a removed file.
fn is_unnamed(parent: &Path, link: &Path) -> bool {
    if !parent.starts_with("/proc") {
        return false;
    }
    let there = fs::metadata(link).map(|there| (there.dev(), there.ino())).ok();
    let named = fs::canonicalize(link).and_then(fs::metadata).map(|named| (named.dev(), named.ino())).ok();
    there.is_some() && there != named
}

/// Applies the kernel's rule for sticky directories (`fs.protected_symlinks`), which resolving by hand would
/// bypass.
fn refuse_foreign_link(parent: &Path, link: &Path) -> Result<(), OutputRefusal> {
    let (directory, owner) = (fs::metadata(parent)?, fs::symlink_metadata(link)?.uid());
    if directory.mode() & EVERYBODYS == EVERYBODYS
        && ![files::effective_user(), directory.uid()].contains(&owner)
    {
        return Err(OutputRefusal::ForeignLink { link: link.to_owned() });
    }
    Ok(())
}
