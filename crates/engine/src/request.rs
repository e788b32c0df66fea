//! The interface of all engines: queue requests, submit them in batches, collect completions.

use std::fmt;
use std::os::fd::{AsFd, BorrowedFd};

use iostall_measure::{Feature, Unavailable};
use thiserror::Error;

use crate::buffer::Buffer;
use crate::report::EngineReport;

/// Index into the list of files an engine was created with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FileIndex(pub u16);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestOp {
    /// Reads `length` bytes at `offset` into the start of the buffer.
    Read,
    /// Writes the first `length` bytes of the buffer at `offset`.
    Write,
    /// The same with `RWF_DSYNC`: it ends when the data is durable. On a device that takes FUA the kernel sends it so, and else a
    /// write and a flush. The ring of io_uring and `pwritev2` take it; object stores do not.
    WriteThrough,
    /// `fdatasync`. Uses no buffer, offset or length.
    Fdatasync,
    /// `fsync`. Uses no buffer, offset or length.
    Fsync,
    /// `sync_file_range` on `length` bytes at `offset`: writes their dirty pages to the device and waits for that, but flushes
    /// neither metadata nor the device's cache. Uses no buffer.
    SyncFileRange,
}

impl RequestOp {
    pub fn is_write(self) -> bool {
        matches!(self, Self::Write | Self::WriteThrough)
    }
}

/// One request. It owns its buffer until its completion returns it, so nobody can touch memory that the
/// kernel is using.
#[derive(Debug)]
pub struct Request {
    /// The caller's number for it, returned with the completion. Unique among those in flight, and below the
    /// engine's capacity.
    pub token: u32,
    pub op: RequestOp,
    pub file: FileIndex,
    pub offset: u64,
    pub length: u32,
    /// `None` only for the sync calls.
    pub buffer: Option<Buffer>,
}

#[derive(Debug)]
pub struct Completion {
    pub token: u32,
    /// Bytes moved (possibly fewer than requested), or the error.
    pub result: Result<u32, IoFailure>,
    pub buffer: Option<Buffer>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
/// An error number of the system, such as `EIO`.
pub struct IoFailure(pub i32);

impl IoFailure {
    /// For engines whose files are not the kernel's: the request failed.
    pub const BROKEN: Self = Self(libc::EIO);
    /// More than a file can hold.
    pub const TOO_LARGE: Self = Self(libc::EFBIG);
    /// Nothing was there to carry it out.
    pub const NO_RESOURCES: Self = Self(libc::ENOMEM);

    /// Its symbol (`EIO`), or `errno N` if it is uncommon.
    pub fn symbol(self) -> String {
        match self.0 {
            libc::EIO => "EIO".into(),
            libc::ENOSPC => "ENOSPC".into(),
            libc::EINVAL => "EINVAL".into(),
            libc::EBADF => "EBADF".into(),
            libc::EFBIG => "EFBIG".into(),
            libc::EDQUOT => "EDQUOT".into(),
            libc::EAGAIN => "EAGAIN".into(),
            libc::EINTR => "EINTR".into(),
            libc::ENODEV => "ENODEV".into(),
            libc::ENXIO => "ENXIO".into(),
            libc::EROFS => "EROFS".into(),
            libc::EPERM => "EPERM".into(),
            libc::EACCES => "EACCES".into(),
            libc::ETIMEDOUT => "ETIMEDOUT".into(),
            libc::EOPNOTSUPP => "EOPNOTSUPP".into(),
            libc::ECANCELED => "ECANCELED".into(),
            libc::EFAULT => "EFAULT".into(),
            libc::ENOMEM => "ENOMEM".into(),
            other => format!("errno {other}"),
        }
    }
}

impl IoFailure {
    pub fn kind(self) -> std::io::ErrorKind {
        std::io::Error::from(self).kind()
    }

    /// Interrupted or briefly out of a resource: the same request may succeed if repeated.
    pub fn is_transient(self) -> bool {
        matches!(self.0, libc::EINTR | libc::EAGAIN)
    }
}

impl From<IoFailure> for std::io::Error {
    fn from(failure: IoFailure) -> Self {
        Self::from_raw_os_error(failure.0)
    }
}

impl fmt::Display for IoFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        std::io::Error::from_raw_os_error(self.0).fmt(f)
    }
}

impl fmt::Debug for IoFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.symbol())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    /// Returns after this many completions, at most those in flight; 0 does not wait.
    pub completions: u32,
    /// Returns after this many nanoseconds at the latest; `None` waits without limit, 0 does not wait.
    pub timeout_ns: Option<u64>,
    /// After this long one completion is enough, nanoseconds; `None`: never fewer than `completions`.
    pub batch_ns: Option<u64>,
}

impl Wait {
    /// Submits, collects completions that are ready, and does not wait.
    pub const NO: Self = Self { completions: 0, timeout_ns: None, batch_ns: None };

    pub const ONE: Self = Self { completions: 1, timeout_ns: None, batch_ns: None };
}

/// Why an engine could not be created or broke. Errors of single requests are in their completions.
#[derive(Debug, Error)]
pub enum EngineError {
    #[error("{engine} cannot be used: {cause}")]
    Unavailable { engine: &'static str, cause: String, hint: String },
    #[error("{call}: {source}")]
    System { call: &'static str, source: std::io::Error },
}

impl EngineError {
    pub fn hint(&self) -> Option<&str> {
        match self {
            Self::Unavailable { hint, .. } => Some(hint),
            Self::System { .. } => None,
        }
    }

    /// The error as an unavailable ring, to show next to the numbers of the engine used instead.
    pub fn without_ring(&self) -> Unavailable {
        match self {
            Self::Unavailable { cause, hint, .. } => {
                Unavailable::new(Feature::IoUring, format_args!("{cause}; {hint}"))
            }
            Self::System { .. } => Unavailable::new(Feature::IoUring, self),
        }
    }
}

/// Carries out requests. An engine belongs to one thread.
pub trait Engine {
    fn report(&self) -> EngineReport;

    fn capacity(&self) -> u32;

    fn in_flight(&self) -> u32;

    /// Queues a request. Nothing reaches the system before [`Engine::submit`].
    ///
    /// # Panics
    /// If `capacity` requests are in flight, the token is in flight or not below the capacity, the file index
    /// is unknown, the length exceeds the buffer, or a read or write has no buffer. Each is the caller's
    /// fault.
    fn push(&mut self, request: Request);

    /// Submits everything queued, waits as requested, and appends every completion that is there.
    fn submit(&mut self, wait: Wait, completions: &mut Vec<Completion>) -> Result<(), EngineError>;

    /// How many system calls submitting and waiting have taken; 0 for an engine without any.
    fn calls(&self) -> u64;
}

/// An open file or device, borrowed while an engine is created. The engine keeps its own handle.
#[derive(Clone, Copy, Debug)]
pub struct FileHandle<'a>(pub(crate) BorrowedFd<'a>);

impl<'a, File: AsFd> From<&'a File> for FileHandle<'a> {
    fn from(file: &'a File) -> Self {
        Self(file.as_fd())
    }
}

#[derive(Debug)]
/// Enforces the rules of [`Engine::push`] for all engines.
pub(crate) struct Tokens {
    busy: Vec<bool>,
    in_flight: u32,
    file_count: usize,
}

impl Tokens {
    pub(crate) fn new(capacity: u32, file_count: usize) -> Self {
        Self { busy: vec![false; capacity as usize], in_flight: 0, file_count }
    }

    pub(crate) fn capacity(&self) -> u32 {
        // Made from a `u32`.
        u32::try_from(self.busy.len()).unwrap_or(u32::MAX)
    }

    pub(crate) fn in_flight(&self) -> u32 {
        self.in_flight
    }

    /// Marks the request's token as in flight. Panics as described at `Engine::push`.
    #[inline]
    pub(crate) fn admit(&mut self, request: &Request) {
        let token = request.token as usize;
        assert!(token < self.busy.len(), "token {token} is not below the capacity, {}", self.busy.len());
        assert!(!self.busy[token], "token {token} is in flight already");
        let file = usize::from(request.file.0);
        assert!(file < self.file_count, "file {file} is not one of the engine's {}", self.file_count);
        if matches!(request.op, RequestOp::Read | RequestOp::Write | RequestOp::WriteThrough) {
            let bytes = request.buffer.as_ref().map(crate::buffer::Buffer::bytes);
            let bytes = bytes.expect("a read or a write needs a buffer");
            assert!(request.length <= bytes, "{} bytes in a buffer of {bytes}", request.length);
        }
        self.busy[token] = true;
        self.in_flight += 1;
    }

    #[inline]
    pub(crate) fn release(&mut self, token: u32) {
        self.busy[token as usize] = false;
        self.in_flight -= 1;
    }
}
