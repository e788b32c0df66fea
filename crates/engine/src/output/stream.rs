//! Pipes, devices and descriptors: written through, for there is nothing to replace.

use std::fs::{File, FileType, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt as _};
use std::path::Path;

use iostall_measure::{Clock, MonotonicClock};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::Errno;

/// How long a pipe may be without a reader at the end of a run, nanoseconds: longer than a script takes to start one, and
/// not for ever, for all else that the run gave waits meanwhile.
const READER_PATIENCE_NS: u64 = 60_000_000_000;
/// From look to look, nanoseconds.
const LOOK_EVERY_NS: u64 = 50_000_000;

/// Opens a pipe for writing when it has a reader. It is opened this once: to open and close it for a look would be the end
/// of the document to its reader.
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

/// Opens a character device for writing.
pub(super) fn open_device(path: &Path) -> io::Result<File> {
    // What procfs shows of another process's open files may be a file that has lost its name.
    open(path, |kind| kind.is_char_device() || path.starts_with("/proc"))
}

/// Never waits for a peer, and never makes a terminal ours. Refuses what has become something else in the meantime.
fn open(path: &Path, is_expected: impl Fn(&FileType) -> bool) -> io::Result<File> {
    let flags = (OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed();
    let file = OpenOptions::new().write(true).custom_flags(flags).open(path)?;
    if !is_expected(&file.metadata()?.file_type()) {
        return Err(io::Error::other("something else has taken its place"));
    }
    fcntl_setfl(&file, fcntl_getfl(&file)? - OFlags::NONBLOCK)?;
    Ok(file)
}

/// Writes a whole document. It is made first: half of it is of no use to a reader.
pub(super) fn write(mut file: File, render: &dyn Fn(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut document = Vec::new();
    render(&mut document)?;
    match file.write_all(&document) {
        // As with standard output: a reader who has seen enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}
