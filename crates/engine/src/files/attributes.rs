//! Extended attributes, among them access control lists.

use std::ffi::CString;
use std::io;
use std::os::fd::BorrowedFd;
use std::path::Path;

use rustix::fs::{Stat, XattrFlags};
use rustix::io::Errno;

/// Linux limits a list of names and a single value to this.
const LENGTH_MAX: usize = 64 << 10;
/// Most files have few attributes or none, so a small buffer is tried first. An empty buffer, which in C returns the length,
/// does not return it through this library.
const LENGTH_USUAL: usize = 1 << 10;
const ACCESS_LISTS: &[u8] = b"system.posix_acl_";
const NO_LIST: &str = "the absence of an access control list";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attribute {
    pub name: Vec<u8>,
    pub value: Vec<u8>,
}

/// What has attributes: an open file, or what is at a path, which is not followed if it is a link.
#[derive(Clone, Copy)]
pub(super) enum Bearer<'a> {
    Open(BorrowedFd<'a>),
    Named(&'a Path),
}

impl Bearer<'_> {
    pub(super) fn stat(self) -> Result<Stat, Errno> {
        match self {
            Self::Open(file) => rustix::fs::fstat(file),
            Self::Named(path) => rustix::fs::lstat(path),
        }
    }

    fn list(self, names: &mut [u8]) -> Result<usize, Errno> {
        match self {
            Self::Open(file) => rustix::fs::flistxattr(file, names),
            Self::Named(path) => rustix::fs::llistxattr(path, names),
        }
    }

    fn get(self, name: &CString, value: &mut [u8]) -> Result<usize, Errno> {
        match self {
            Self::Open(file) => rustix::fs::fgetxattr(file, name, value),
            Self::Named(path) => rustix::fs::lgetxattr(path, name, value),
        }
    }

    fn set(self, name: &CString, value: &[u8]) -> Result<(), Errno> {
        match self {
            Self::Open(file) => rustix::fs::fsetxattr(file, name, value, XattrFlags::empty()),
            Self::Named(path) => rustix::fs::lsetxattr(path, name, value, XattrFlags::empty()),
        }
    }

    fn remove(self, name: &CString) -> Result<(), Errno> {
        match self {
            Self::Open(file) => rustix::fs::fremovexattr(file, name),
            Self::Named(path) => rustix::fs::lremovexattr(path, name),
        }
    }
}

/// The attributes of the file or directory at `path`, which is not followed if it is a link; and those that cannot be read.
pub fn attributes_of_link(path: &Path) -> io::Result<(Vec<Attribute>, Vec<Loss>)> {
    attributes(Bearer::Named(path))
}

pub(super) fn attributes(of: Bearer<'_>) -> io::Result<(Vec<Attribute>, Vec<Loss>)> {
    let names = match whole(|names| of.list(names)) {
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => return Ok((Vec::new(), Vec::new())),
        names => names?,
    };
    let (mut all, mut losses) = (Vec::new(), Vec::new());
    for name in names.split(|byte| *byte == 0).filter(|name| !name.is_empty()) {
        let Ok(c_name) = CString::new(name) else { continue };
        match whole(|value| of.get(&c_name, value)) {
            Ok(value) => all.push(Attribute { name: name.to_vec(), value }),
            // It was removed after the list was made.
            Err(Errno::NODATA) => {}
            Err(errno) => losses.push(loss(&String::from_utf8_lossy(name), errno)),
        }
    }
    Ok((all, losses))
}

/// Which of `wanted` cannot be read back, and what access control lists are there that are not among them.
pub(super) fn not_kept(target: Bearer<'_>, wanted: &[Attribute]) -> Vec<Loss> {
    let is_kept = |Attribute { name, value }: &&Attribute| {
        let Ok(c_name) = CString::new(name.as_slice()) else { return true };
        match whole(|value| target.get(&c_name, value)) {
            // Some file systems have lists of their own, which they store in another order.
            Ok(found) => found == *value || (name.starts_with(b"system.") && !name.starts_with(ACCESS_LISTS)),
            Err(_) => false,
        }
    };
    let lost = |name: &[u8]| not_there(&String::from_utf8_lossy(name));
    let mut losses: Vec<Loss> =
        wanted.iter().filter(|one| !is_kept(one)).map(|Attribute { name, .. }| lost(name)).collect();
    let unwanted = names_of(target).is_some_and(|names| unwanted_lists(&names, wanted).next().is_some());
    losses.extend(unwanted.then(|| not_there(NO_LIST)));
    losses
}

/// A loss that no call reported.
pub(super) fn not_there(what: &str) -> Loss {
    Loss { what: what.to_owned(), cause: "the file system has taken it, and does not have it".to_owned() }
}

fn whole(read: impl Fn(&mut [u8]) -> Result<usize, Errno>) -> Result<Vec<u8>, Errno> {
    let mut bytes = vec![0; LENGTH_USUAL];
    let mut length = read(&mut bytes);
    if length == Err(Errno::RANGE) {
        bytes.resize(LENGTH_MAX, 0);
        length = read(&mut bytes);
    }
    bytes.truncate(length?);
    Ok(bytes)
}

/// Sets attributes, and removes the access control lists that `target` inherited from its directory and that are not among
/// them: they would give access to users that the source does not.
pub(super) fn set_attributes(target: Bearer<'_>, attributes: &[Attribute], losses: &mut Vec<Loss>) {
    for name in names_of(target).iter().flat_map(|names| unwanted_lists(names, attributes)) {
        let Ok(c_name) = CString::new(name) else { continue };
        match target.remove(&c_name) {
            Ok(()) | Err(Errno::NODATA) => {}
            Err(errno) => losses.push(loss(NO_LIST, errno)),
        }
    }
    for Attribute { name, value } in attributes {
        let Ok(c_name) = CString::new(name.as_slice()) else { continue };
        if let Err(errno) = target.set(&c_name, value) {
            losses.push(loss(&String::from_utf8_lossy(name), errno));
        }
    }
}

/// `None` where there are none, which is usual: a new file has attributes only if its directory passes some on.
fn names_of(target: Bearer<'_>) -> Option<Vec<u8>> {
    match whole(|names| target.list(names)) {
        Ok(names) if names.is_empty() => None,
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => None,
        Ok(names) => Some(names),
        // Assume that access control lists are among them.
        Err(_) => Some(b"system.posix_acl_access\0system.posix_acl_default\0".to_vec()),
    }
}

fn unwanted_lists<'n>(names: &'n [u8], wanted: &'n [Attribute]) -> impl Iterator<Item = &'n [u8]> {
    let lists = names.split(|byte| *byte == 0).filter(|name| name.starts_with(ACCESS_LISTS));
    lists.filter(|name| !wanted.iter().any(|kept| kept.name == *name))
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loss {
    /// `owner`, `mode`, `times`, or the name of an extended attribute.
    pub what: String,
    pub cause: String,
}

pub(super) fn loss(what: &str, errno: Errno) -> Loss {
    Loss { what: what.to_owned(), cause: io::Error::from(errno).to_string() }
}
