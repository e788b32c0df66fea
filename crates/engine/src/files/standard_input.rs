//! Standard input that can be given up while it is silent.

use std::fs::File;
use std::io::{self, PipeReader, Read};
use std::os::fd::OwnedFd;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use super::standard_streams::standard_input;

/// How long to wait before asking again whether to stop, nanoseconds.
const LOOK_EVERY_NS: i64 = 100_000_000;

/// Standard input, or another stream. A read that waits for data ends when `is_over` says so: with an error, since the end of a
/// stream looks like its whole content.
pub struct StandardInput<F> {
    stream: File,
    is_over: F,
}

impl<F: Fn() -> bool> StandardInput<F> {
    pub fn open(is_over: F) -> io::Result<Self> {
        Ok(Self::of(standard_input()?, is_over))
    }

    pub fn of_pipe(pipe: PipeReader, is_over: F) -> Self {
        Self::of(File::from(OwnedFd::from(pipe)), is_over)
    }

    fn of(stream: File, is_over: F) -> Self {
        Self { stream, is_over }
    }
}

impl<F: Fn() -> bool> Read for StandardInput<F> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let wait = Timespec { tv_sec: 0, tv_nsec: LOOK_EVERY_NS };
        loop {
            if (self.is_over)() {
                return Err(io::Error::other("cancelled"));
            }
            // A closed pipe is ready too: reading it says so.
            match poll(&mut [PollFd::new(&self.stream, PollFlags::IN)], Some(&wait)) {
                Ok(0) | Err(Errno::INTR) => {}
                Ok(_) => return self.stream.read(buffer),
                Err(errno) => return Err(errno.into()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    /// Ctrl-C had to wait for a producer that had nothing to say.
    #[test]
    fn a_silent_stream_is_given_up_and_one_that_speaks_is_read_to_its_end() {
        let (reader, mut writer) = io::pipe().unwrap();
        let is_over = AtomicBool::new(false);
        let mut stream = StandardInput::of_pipe(reader, || is_over.load(Ordering::Relaxed));
        writer.write_all(b"said").unwrap();
        let mut buffer = [0; 10];
        assert_eq!(stream.read(&mut buffer).unwrap(), 4);
        is_over.store(true, Ordering::Relaxed);
        assert_eq!(stream.read(&mut buffer).unwrap_err().to_string(), "cancelled");
        is_over.store(false, Ordering::Relaxed);
        drop(writer);
        assert_eq!(stream.read(&mut buffer).unwrap(), 0);
    }
}
