//! What is said where nothing can be listened to.

use std::io;

/// What to do about an address that cannot be listened on.
pub(crate) fn listen_hint(source: &io::Error) -> &'static str {
    match source.kind() {
        io::ErrorKind::AddrInUse => "another program listens there: choose another port",
        io::ErrorKind::PermissionDenied => "ports below 1024 need a privilege: choose a higher one",
        io::ErrorKind::AddrNotAvailable => "this machine does not have that address",
        _ => "write HOST:PORT, such as 127.0.0.1:9497",
    }
}
