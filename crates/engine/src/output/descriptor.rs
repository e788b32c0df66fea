//! A descriptor that the shell gave this process.

use std::fs::File;
use std::os::fd::BorrowedFd;

use rustix::fs::{OFlags, fcntl_getfl};
use rustix::io::fcntl_dupfd_cloexec;

use super::refusal::OutputRefusal;

/// A second descriptor of the open file behind `number`, with the same position in it. To be taken at the start, while the
/// numbers are those that the shell gave out.
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
    // SAFETY: `number` is not negative. It is borrowed for this one call, which only reads the table of descriptors and
    // fails where there is none of this number; what it makes is owned by nobody else.
    let given = unsafe { BorrowedFd::borrow_raw(number) };
    fcntl_dupfd_cloexec(given, 3).ok()
}
