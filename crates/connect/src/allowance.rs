//! Limits how much a server may send: an endless answer would fill the memory of a collector that runs for
//! months.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll, ready};

use iostall_measure::ByteCount;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::error::SourceError;

/// Until login: settings, keys and a certificate take a few kilobytes. It is low because data at this stage
/// is kept in small pieces that take many times their size.
const LOGIN_BYTES: u64 = 1 << 20;
/// For one reading of all databases over all connections: some three hundred thousand relations.
const READING_BYTES: u64 = 64 << 20;
/// Rows of one reading, which take about a kilobyte each in memory.
const READING_ROWS: u64 = 200_000;

#[derive(Clone, Debug)]
pub struct Allowance(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    bytes: AtomicU64,
    rows: AtomicU64,
    is_exceeded: AtomicBool,
}

impl Allowance {
    pub fn for_one_reading() -> Self {
        Self(Arc::new(Shared {
            bytes: READING_BYTES.into(),
            rows: READING_ROWS.into(),
            is_exceeded: AtomicBool::new(false),
        }))
    }

    pub fn without_limit() -> Self {
        Self(Arc::new(Shared {
            bytes: u64::MAX.into(),
            rows: u64::MAX.into(),
            is_exceeded: AtomicBool::new(false),
        }))
    }

    pub fn renew(&self) {
        self.0.bytes.store(READING_BYTES, Ordering::Relaxed);
        self.0.rows.store(READING_ROWS, Ordering::Relaxed);
        self.0.is_exceeded.store(false, Ordering::Relaxed);
    }

    /// Counts a row; an error if there are too many.
    pub fn take_row(&self) -> io::Result<()> {
        self.take(&self.0.rows, 1)
    }

    /// Counts bytes read by a driver that does not expose its socket.
    pub fn take_bytes(&self, bytes: u64) -> io::Result<()> {
        self.take(&self.0.bytes, bytes)
    }

    /// Checks the size declared in a message, which drivers trust.
    pub(crate) fn check_message(&self, bytes: u64, bytes_max: u64) -> io::Result<()> {
        if bytes > bytes_max { Err(self.exceeded()) } else { Ok(()) }
    }

    fn take(&self, left: &AtomicU64, amount: u64) -> io::Result<()> {
        let taken = left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(amount));
        taken.map(|_| ()).map_err(|_| self.exceeded())
    }

    fn exceeded(&self) -> io::Error {
        self.0.is_exceeded.store(true, Ordering::Relaxed);
        io::Error::new(io::ErrorKind::QuotaExceeded, "the server sends more data than expected")
    }

    /// An error if more was sent than allowed: drivers report only that the connection ended.
    pub fn check(&self, source_name: &str) -> Result<(), SourceError> {
        if !self.0.is_exceeded.load(Ordering::Relaxed) {
            return Ok(());
        }
        let (source_name, bytes) = (source_name.to_owned(), ByteCount(READING_BYTES));
        Err(SourceError::TooMuch { source_name, bytes, rows: READING_ROWS })
    }
}

#[derive(Debug)]
pub(crate) struct Metered<S> {
    stream: S,
    allowance: Allowance,
    login: Arc<Login>,
}

/// What is left until login.
#[derive(Debug)]
struct Login {
    bytes: AtomicU64,
    is_over: AtomicBool,
}

#[derive(Clone, Debug)]
pub(crate) struct LetIn(Arc<Login>);

impl LetIn {
    /// From here on the limits of a reading apply.
    pub(crate) fn done(&self) {
        self.0.is_over.store(true, Ordering::Relaxed);
    }
}

impl<S> Metered<S> {
    /// A new connection, and a handle to call after login.
    pub(crate) fn new(stream: S, allowance: Allowance) -> (Self, LetIn) {
        let login = Arc::new(Login { bytes: LOGIN_BYTES.into(), is_over: AtomicBool::new(false) });
        (Self { stream, allowance, login: Arc::clone(&login) }, LetIn(login))
    }

    fn take(&self, bytes: usize) -> io::Result<()> {
        let is_over = self.login.is_over.load(Ordering::Relaxed);
        let left = if is_over { &self.allowance.0.bytes } else { &self.login.bytes };
        self.allowance.take(left, bytes as u64)
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Metered<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(context, buffer))?;
        let taken = self.take(buffer.filled().len() - before);
        if taken.is_err() {
            buffer.set_filled(before);
        }
        Poll::Ready(taken)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Metered<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
