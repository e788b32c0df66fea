//! The streams that this program was started with, used by their descriptors.
//!
//! Opening `/dev/stdout` instead makes a second description of the file, whose position is not that of the shell: what the
//! shell writes next lands in the midst of it. It fails on a socket, and on a file that only whoever started us may open.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::io::Errno;

use super::stamp::{FileKind, stamp_of_path};

/// Of standard input, output and error: before `main`, Rust opens `/dev/null` in the place of a closed one.
static WERE_CLOSED: [AtomicBool; 3] = [const { AtomicBool::new(false) }; 3];

#[used]
#[expect(unsafe_code, reason = "once `main` runs, a closed stream cannot be told from /dev/null")]
// SAFETY: the C library calls each function in this section once, before `main`; this one needs nothing of Rust's runtime.
#[unsafe(link_section = ".init_array")]
static LOOK: extern "C" fn() = look;

extern "C" fn look() {
    for (number, was_closed) in (0..).zip(&WERE_CLOSED) {
        #[expect(unsafe_code, reason = "a closed descriptor has no owner to borrow it from")]
        // SAFETY: it asks for the flags of a number, open or not, and changes nothing.
        let flags = unsafe { libc::fcntl(number, libc::F_GETFD) };
        was_closed.store(flags == -1, Ordering::Relaxed);
    }
}

/// Whether this program was started without the standard stream `number`.
pub(crate) fn was_closed(number: i32) -> bool {
    let stream = usize::try_from(number).ok().and_then(|number| WERE_CLOSED.get(number));
    stream.is_some_and(|was_closed| was_closed.load(Ordering::Relaxed))
}

/// Standard input, at the position where whoever started us left it.
pub fn standard_input() -> io::Result<File> {
    shared(0, io::stdin().as_fd())
}

/// The same of standard output.
pub fn standard_output() -> io::Result<File> {
    shared(1, io::stdout().as_fd())
}

/// Whether a name is that of standard output.
pub fn is_standard_output(path: &Path) -> bool {
    ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"].iter().any(|name| path == Path::new(name))
}

/// Whether a name is that of a pipe that this process was given, such as `<(command)` or `/dev/stdin`. A named pipe is a file
/// that can be kept.
pub fn is_given_pipe(path: &Path) -> bool {
    let is_given = ["/dev/stdin", "/dev/fd", "/proc/self/fd"].iter().any(|given| path.starts_with(given));
    is_given && stamp_of_path(path).is_ok_and(|stat| stat.kind == FileKind::Special)
}

fn shared(number: i32, stream: BorrowedFd<'_>) -> io::Result<File> {
    if was_closed(number) {
        return Err(Errno::BADF.into());
    }
    Ok(File::from(stream.try_clone_to_owned()?))
}
