//! Pipes, devices and descriptors: written directly, because there is nothing to replace.

use std::fs::{File, FileType, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt as _};
use std::path::Path;

use iostall_measure::{Clock, MonotonicClock};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::Errno;

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
