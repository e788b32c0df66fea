//! Extended attributes, among them access control lists.

use std::ffi::CString;
use std::io;
use std::os::fd::AsFd;
use std::path::Path;

use rustix::fs::XattrFlags;
use rustix::io::Errno;

/// Linux limits a list of names and a single value to this.
const LENGTH_MAX: usize = 64 << 10;
/// Most files have few attributes or none, so a small buffer is tried first. An empty buffer, which in C returns the length,
/// does not return it through this library.
const LENGTH_USUAL: usize = 1 << 10;
const ACCESS_LISTS: &[u8] = b"system.posix_acl_";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attribute {
    pub name: Vec<u8>,
    pub value: Vec<u8>,
}

pub(super) fn attributes(file: impl AsFd) -> io::Result<(Vec<Attribute>, Vec<Loss>)> {
    all(|names| rustix::fs::flistxattr(&file, names), |name, value| rustix::fs::fgetxattr(&file, name, value))
}

/// The attributes of the file or directory at `path`, which is not followed if it is a link; and those that cannot be read.
pub fn attributes_of_link(path: &Path) -> io::Result<(Vec<Attribute>, Vec<Loss>)> {
    all(|names| rustix::fs::llistxattr(path, names), |name, value| rustix::fs::lgetxattr(path, name, value))
}

fn all(
    list: impl Fn(&mut [u8]) -> Result<usize, Errno>,
    get: impl Fn(&CString, &mut [u8]) -> Result<usize, Errno>,
) -> io::Result<(Vec<Attribute>, Vec<Loss>)> {
    let names = match whole(list) {
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => return Ok((Vec::new(), Vec::new())),
        names => names?,
    };
    let (mut all, mut losses) = (Vec::new(), Vec::new());
    for name in names.split(|byte| *byte == 0).filter(|name| !name.is_empty()) {
        let Ok(c_name) = CString::new(name) else { continue };
        match whole(|value| get(&c_name, value)) {
            Ok(value) => all.push(Attribute { name: name.to_vec(), value }),
            // It was removed after the list was made.
            Err(Errno::NODATA) => {}
            Err(errno) => losses.push(loss(&String::from_utf8_lossy(name), errno)),
        }
    }
    Ok((all, losses))
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
pub(super) fn set_attributes(target: impl AsFd, attributes: &[Attribute], losses: &mut Vec<Loss>) {
    remove_inherited_lists(&target, attributes, losses);
    for Attribute { name, value } in attributes {
        let Ok(c_name) = CString::new(name.as_slice()) else { continue };
        if let Err(errno) = rustix::fs::fsetxattr(&target, &c_name, value, XattrFlags::empty()) {
            losses.push(loss(&String::from_utf8_lossy(name), errno));
        }
    }
}

fn remove_inherited_lists(target: impl AsFd, attributes: &[Attribute], losses: &mut Vec<Loss>) {
    let mut there = [0; LENGTH_USUAL];
    // Usually empty: a new file has attributes only if its directory passes some on.
    let inherited = match rustix::fs::flistxattr(&target, &mut there[..]) {
        Ok(0) | Err(Errno::OPNOTSUPP | Errno::NOSYS) => return,
        Ok(length) => &there[..length],
        // They do not fit the buffer: assume that access control lists are among them.
        Err(_) => b"system.posix_acl_access\0system.posix_acl_default\0",
    };
    for name in inherited.split(|byte| *byte == 0).filter(|name| name.starts_with(ACCESS_LISTS)) {
        if attributes.iter().any(|kept| kept.name == name) {
            continue;
        }
        let Ok(c_name) = CString::new(name) else { continue };
        match rustix::fs::fremovexattr(&target, &c_name) {
            Ok(()) | Err(Errno::NODATA) => {}
            Err(errno) => losses.push(loss("the absence of an access control list", errno)),
        }
    }
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
