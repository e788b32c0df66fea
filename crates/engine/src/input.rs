//! Reads files that a user names as input: never more than a limit, never from a device, and with a timeout
//! on silent pipes.

use std::fs::File;
use std::io::{self, ErrorKind, IsTerminal as _, Read};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use iostall_measure::ByteCount;
use iostall_measure::foreign::shell_path;
use iostall_measure::hinted;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FileType, Mode, OFlags};
use thiserror::Error;

use crate::files;

/// How long a pipe may stay silent: the program that writes to it may be waiting for a person.
const SILENT_S: i64 = 60;

/// The name of standard input, which is read by its descriptor.
pub const STANDARD_INPUT: &str = "/dev/stdin";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Input {
    /// Its name in messages, such as `profile`.
    pub what: &'static str,
    pub limit: ByteCount,
}

hinted! {
    #[derive(Debug, Error)]
    #[non_exhaustive]
    pub enum InputError {
        #[error("cannot read the {what} {path}: {source}", path = path.display())]
        System { what: &'static str, path: PathBuf, source: io::Error },
        #[error("{path} is a device and not a {what}", path = path.display())]
        Device { what: &'static str, path: PathBuf } => "name a file, or a pipe such as <(command)",
        #[error("the {what} {path} is larger than {limit}", path = path.display())]
        TooLong { what: &'static str, path: PathBuf, limit: ByteCount }
            => format!("check that it is the right {what}"),
        #[error("the {what} {path} has mode {mode:04o}: users other than its owner can read it", path = path.display())]
        Readable { what: &'static str, path: PathBuf, mode: u32 }
            => format!("chmod 600 {}", shell_path(path)),
    }
}

impl Input {
    pub fn read(self, path: &Path) -> Result<Vec<u8>, InputError> {
        self.all_of(path, self.open(path)?)
    }

    pub fn text(self, path: &Path) -> Result<String, InputError> {
        String::from_utf8(self.read(path)?).map_err(|_| self.no_text(path))
    }

    /// Reads a secret. Like PostgreSQL's clients, it refuses a file that its group or others can read. It
    /// checks the open descriptor, because the path may already refer to another file.
    pub fn secret(self, path: &Path) -> Result<String, InputError> {
        let stream = self.open(path)?;
        let metadata = rustix::fs::fstat(&stream.file).map_err(|error| self.system(path, error.into()))?;
        let mode = metadata.st_mode & 0o7777;
        if mode & 0o077 != 0 {
            return Err(InputError::Readable { what: self.what, path: path.to_owned(), mode });
        }
        String::from_utf8(self.all_of(path, stream)?).map_err(|_| self.no_text(path))
    }

    pub fn open(self, path: &Path) -> Result<Stream, InputError> {
        let refused = |source: io::Error| self.system(path, source);
        // Check before opening, because opening some devices makes them act: a tape rewinds, a watchdog
        // starts.
        let admitted = |stat: &rustix::fs::Stat| match FileType::from_raw_mode(stat.st_mode) {
            FileType::BlockDevice => false,
            // A terminal is a character device too; which one shows after opening.
            FileType::CharacterDevice => is_terminal_number(stat.st_rdev),
            _ => true,
        };
        let device = || InputError::Device { what: self.what, path: path.to_owned() };
        let file = if path == Path::new(STANDARD_INPUT) {
            files::standard_input().map_err(refused)?
        } else {
            if !admitted(&rustix::fs::stat(path).map_err(|error| refused(error.into()))?) {
                return Err(device());
            }
            // Non-blocking, because opening a pipe would otherwise wait for its writer.
            let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
            let opened = rustix::fs::open(path, flags, Mode::empty());
            File::from(opened.map_err(|error| refused(error.into()))?)
        };
        let stat = rustix::fs::fstat(&file).map_err(|error| refused(error.into()))?;
        let kind = FileType::from_raw_mode(stat.st_mode);
        if !admitted(&stat) || (kind == FileType::CharacterDevice && !file.is_terminal()) {
            return Err(device());
        }
        let size = u64::try_from(stat.st_size).unwrap_or(0);
        if kind == FileType::RegularFile && size > self.limit.bytes() {
            return Err(self.too_long(path));
        }
        let wait = match kind {
            FileType::RegularFile | FileType::Directory => Wait::Never,
            FileType::CharacterDevice => Wait::ForAPerson,
            _ => Wait::ForAProgram,
        };
        Ok(Stream { file, wait, left: self.limit.bytes(), limit: self.limit })
    }

    fn all_of(self, path: &Path, mut stream: Stream) -> Result<Vec<u8>, InputError> {
        let mut bytes = Vec::new();
        match stream.read_to_end(&mut bytes) {
            Ok(_) => Ok(bytes),
            Err(error) if error.kind() == ErrorKind::FileTooLarge => Err(self.too_long(path)),
            Err(error) => Err(self.system(path, error)),
        }
    }

    fn system(self, path: &Path, source: io::Error) -> InputError {
        InputError::System { what: self.what, path: path.to_owned(), source }
    }

    fn too_long(self, path: &Path) -> InputError {
        InputError::TooLong { what: self.what, path: path.to_owned(), limit: self.limit }
    }

    fn no_text(self, path: &Path) -> InputError {
        self.system(path, io::Error::new(ErrorKind::InvalidData, "it is not UTF-8 text"))
    }
}

/// The first `length` bytes of the regular file at `path`, or fewer if it is shorter; for other programs'
/// files that are only inspected.
pub fn head(path: &Path, length: usize) -> io::Result<Vec<u8>> {
    if !std::fs::metadata(path)?.is_file() {
        return Err(ErrorKind::InvalidInput.into());
    }
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    let mut bytes = Vec::new();
    file.take(length as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Whether a device number may be a terminal: virtual consoles (4), `/dev/tty` (5) and pseudo terminals (136
/// to 143).
fn is_terminal_number(device: u64) -> bool {
    matches!(rustix::fs::major(device), 4 | 5 | 136..=143)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wait {
    /// A regular file needs no wait.
    Never,
    ForAPerson,
    /// Another program writes.
    ForAProgram,
}

/// An input being read. It fails with [`ErrorKind::FileTooLarge`] beyond the limit, and with
/// [`ErrorKind::TimedOut`] if nothing arrives.
#[derive(Debug)]
pub struct Stream {
    file: File,
    wait: Wait,
    left: u64,
    limit: ByteCount,
}

impl Stream {
    fn wait(&self) -> io::Result<()> {
        let limit = match self.wait {
            Wait::Never => return Ok(()),
            Wait::ForAPerson => None,
            Wait::ForAProgram => Some(Timespec { tv_sec: SILENT_S, tv_nsec: 0 }),
        };
        let mut descriptors = [PollFd::from_borrowed_fd(self.file.as_fd(), PollFlags::IN)];
        match poll(&mut descriptors, limit.as_ref())? {
            0 => Err(io::Error::new(
                ErrorKind::TimedOut,
                format!("nothing was written to the pipe for {SILENT_S} s"),
            )),
            _ => Ok(()),
        }
    }

    fn read_once(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.wait().and_then(|()| self.file.read(buffer)) {
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {
                    if self.wait == Wait::Never {
                        return Err(error);
                    }
                }
                done => return done,
            }
        }
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        // Asks for one byte more than the limit, to find out whether there is more.
        let wanted = buffer.len().min(usize::try_from(self.left.saturating_add(1)).unwrap_or(usize::MAX));
        let read = self.read_once(&mut buffer[..wanted])?;
        let Some(left) = self.left.checked_sub(read as u64) else {
            let said = format!("there is more than {}", self.limit);
            return Err(io::Error::new(ErrorKind::FileTooLarge, said));
        };
        self.left = left;
        Ok(read)
    }
}

#[cfg(test)]
mod tests;
