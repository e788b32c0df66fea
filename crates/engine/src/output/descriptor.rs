//! A file descriptor inherited from the shell.

use std::fs::File;
use std::os::fd::BorrowedFd;

use rustix::fs::{OFlags, fcntl_getfl};
use rustix::io::fcntl_dupfd_cloexec;

use super::refusal::OutputRefusal;

/// Duplicates descriptor `number`, sharing its position. Call it at startup, while the numbers are still
/// those that the shell assigned.
pub(super) fn duplicate(number: i32) -> Result<File, OutputRefusal> {
    let refused = |what| OutputRefusal::Descriptor { number, what };
    if number < 0 {
        return Err(refused("is none"));
    }
    let file = File::from(duplicate_raw(number).ok_or_else(|| refused("is not open"))?);
    let flags = fcntl_getfl(&file).map_err(std::io::Error::from)?;
    if flags.contains(OFlags::PATH) || flags & OFlags::RWMODE == OFlags::RDONLY {
        return Err(refused("is open for reading only"));
    }
    Ok(file)
}

#[expect(unsafe_code, reason = "a number that the shell gave has no owner in this process to borrow it from")]
fn duplicate_raw(number: i32) -> Option<std::os::fd::OwnedFd> {
    // SAFETY: `number` is not negative. It is borrowed only for this call, which fails if no such descriptor
    // is open; the duplicate is owned by nobody else.
    let given = unsafe { BorrowedFd::borrow_raw(number) };
    fcntl_dupfd_cloexec(given, 3).ok()
}
