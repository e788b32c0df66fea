//! What every engine does: take requests, hand them over in batches, give back completions.

use std::fmt;

use iostall_measure::{Feature, Unavailable};
use thiserror::Error;

use crate::buffer::Buffer;
use crate::report::EngineReport;

/// Index of a file in the list an engine was made with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FileIndex(pub u16);

/// What a request does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestOp {
    /// Fills the first `length` bytes of the buffer from `offset`.
    Read,
    /// Writes the first `length` bytes of the buffer at `offset`.
    Write,
    /// `fdatasync`. Needs no buffer; offset and length are not used.
    Fdatasync,
    /// `fsync`. Needs no buffer; offset and length are not used.
    Fsync,
}

/// One request. It owns its buffer until its completion gives it back, so nobody can touch memory that
/// the kernel is reading or writing.
#[derive(Debug)]
pub struct Request {
    /// The caller's own number for it, given back with its completion. Unique among those in flight, below the engine's capacity.
    pub token: u32,
    /// What to do.
    pub op: RequestOp,
    /// On which file.
    pub file: FileIndex,
    /// At which byte.
    pub offset: u64,
    /// How many bytes.
    pub length: u32,
    /// Data; `None` only for the two sync calls.
    pub buffer: Option<Buffer>,
}

/// The answer to a request.
#[derive(Debug)]
pub struct Completion {
    /// The request's token.
    pub token: u32,
    /// Bytes moved (which may be fewer than asked for), or the system's error.
    pub result: Result<u32, IoFailure>,
    /// The request's buffer.
    pub buffer: Option<Buffer>,
}

/// An error number of the system, such as `EIO`.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct IoFailure(pub i32);

impl IoFailure {
    /// Its symbol (`EIO`), or `errno N` for an uncommon one.
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
    /// What kind of error it is, such as a full file system.
    pub fn kind(self) -> std::io::ErrorKind {
        std::io::Error::from(self).kind()
    }

    /// Interrupted or out of some resource for a moment: the same request may succeed if it is made again.
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

/// How long [`Engine::submit`] stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    /// Until so many completions are there; 0 does not wait. Never more than are in flight.
    pub completions: u32,
    /// But no longer than this, nanoseconds; `None`: as long as it takes. 0 does not wait.
    pub timeout_ns: Option<u64>,
    /// After this long one completion is enough, nanoseconds; `None`: never fewer than `completions`.
    pub batch_ns: Option<u64>,
}

impl Wait {
    /// Hands over and takes what is there.
    pub const NO: Self = Self { completions: 0, timeout_ns: None, batch_ns: None };

    /// Until at least one completion is there.
    pub const ONE: Self = Self { completions: 1, timeout_ns: None, batch_ns: None };
}

/// Why an engine could not be made or has broken. Failures of single requests are in their completions.
#[derive(Debug, Error)]
pub enum EngineError {
    /// The kernel or a policy does not let this process use it.
    #[error("{engine} cannot be used: {cause}")]
    Unavailable {
        /// Its name.
        engine: &'static str,
        /// What the system said.
        cause: String,
        /// The command or setting that would allow it.
        hint: String,
    },
    /// A system call failed.
    #[error("{call}: {source}")]
    System {
        /// The call.
        call: &'static str,
        /// What the system said.
        source: std::io::Error,
    },
}

impl EngineError {
    /// The command or setting that would help, where there is one.
    pub fn hint(&self) -> Option<&str> {
        match self {
            Self::Unavailable { hint, .. } => Some(hint),
            Self::System { .. } => None,
        }
    }

    /// The same as a ring that could not be had: what stands beside the numbers of the engine used instead.
    pub fn without_ring(&self) -> Unavailable {
        match self {
            Self::Unavailable { cause, hint, .. } => {
                Unavailable::new(Feature::IoUring, format_args!("{cause}; {hint}"))
            }
            Self::System { .. } => Unavailable::new(Feature::IoUring, self),
        }
    }
}

/// Carries out requests. One engine belongs to one thread.
pub trait Engine {
    /// What it was granted.
    fn report(&self) -> EngineReport;

    /// Most requests that may be pushed or in flight at once.
    fn capacity(&self) -> u32;

    /// Requests pushed and not yet given back.
    fn in_flight(&self) -> u32;

    /// Takes a request. Nothing reaches the system before [`Engine::submit`].
    ///
    /// # Panics
    /// When `capacity` requests are in flight, the token is in flight or not below the capacity, the file
    /// index is unknown, the length is beyond the buffer, or a read or write has no buffer: the caller's fault in each case.
    fn push(&mut self, request: Request);

    /// Hands over everything pushed, waits as told, and appends every completion that is there.
    fn submit(&mut self, wait: Wait, completions: &mut Vec<Completion>) -> Result<(), EngineError>;

    /// How many calls into the kernel submitting and waiting have taken; 0 where there are none.
    fn calls(&self) -> u64;
}
