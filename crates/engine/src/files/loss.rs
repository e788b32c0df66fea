//! Metadata that gets lost.

use std::io;

use rustix::io::Errno;

/// Metadata that could not be copied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loss {
    /// `owner`, `mode`, `times`, or the name of an extended attribute.
    pub what: String,
    pub cause: String,
}

pub(super) fn loss(what: &str, errno: Errno) -> Loss {
    Loss { what: what.to_owned(), cause: io::Error::from(errno).to_string() }
}
