//! Pipes, devices and inherited descriptors: written directly, because there is nothing to replace.

use std::fs::{File, FileType, OpenOptions};
use std::io::{self, Write};
use std::os::fd::BorrowedFd;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt as _};
use std::path::Path;

use iostall_measure::{Clock, MonotonicClock};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::{Errno, fcntl_dupfd_cloexec};

use super::refusal::OutputRefusal;
use crate::files;

/// How long to wait for a pipe's reader at the end of a run, nanoseconds. Enough for a script to start one,
/// but limited because other outputs wait meanwhile.
const READER_PATIENCE_NS: u64 = 60_000_000_000;
const LOOK_EVERY_NS: u64 = 50_000_000;

/// Opens a pipe for writing once it has a reader. It is opened only once, because its reader would take a
/// close for the end of the output.
pub(super) fn open_pipe(path: &Path, waiting: &dyn Fn()) -> io::Result<File> {
    let clock = MonotonicClock::new();
    let deadline_ns = clock.now_ns() + READER_PATIENCE_NS;
    let mut has_shown = false;
    loop {
        match open(path, FileTypeExt::is_fifo) {
            Err(error) if error.raw_os_error() == Some(Errno::NXIO.raw_os_error()) => {}
            opened => return opened,
        }
        if clock.now_ns() >= deadline_ns {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "nobody has opened the pipe to read it"));
        }
        if !has_shown {
            has_shown = true;
            waiting();
        }
        clock.sleep_until(clock.now_ns() + LOOK_EVERY_NS);
    }
}

pub(super) fn open_device(path: &Path) -> io::Result<File> {
    // In procfs, another process's open file may have lost its name.
    open(path, |kind| kind.is_char_device() || path.starts_with("/proc"))
}

/// Never waits for a pipe's other end and never acquires a controlling terminal. Refuses a file whose type
/// has changed in the meantime.
fn open(path: &Path, is_expected: impl Fn(&FileType) -> bool) -> io::Result<File> {
    let flags = (OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed();
    let file = OpenOptions::new().write(true).custom_flags(flags).open(path)?;
    if !is_expected(&file.metadata()?.file_type()) {
        return Err(io::Error::other("something else has taken its place"));
    }
    fcntl_setfl(&file, fcntl_getfl(&file)? - OFlags::NONBLOCK)?;
    Ok(file)
}

/// Writes the whole output. Renders it first, because half of it is useless to a reader.
pub(super) fn write(mut file: File, render: &dyn Fn(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut document = Vec::new();
    render(&mut document)?;
    match file.write_all(&document) {
        // As with standard output, the reader may stop early.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}

/// Duplicates descriptor `number`, sharing its position. Call it at startup, while the numbers are still
/// those that the shell assigned.
pub(super) fn duplicate(number: i32) -> Result<File, OutputRefusal> {
    let refused = |what| OutputRefusal::Descriptor { number, what };
    if number < 0 {
        return Err(refused("is none"));
    }
    if files::was_closed(number) {
        return Err(refused("is not open"));
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
