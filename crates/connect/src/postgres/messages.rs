//! Checks the declared length of messages, because the driver allocates memory first.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::tls::{ChannelBinding, TlsConnect, TlsStream};

use crate::allowance::Allowance;

/// Our rows have a few hundred bytes, errors a few thousand.
pub(super) const MESSAGE_BYTES_MAX: u64 = 4 << 20;
/// A message starts with its kind and its length, which includes itself.
const HEADER_BYTES: usize = 5;
const LENGTH_BYTES: u64 = 4;

/// Reads the headers that pass through, and ends the connection at one that is too long.
pub(super) struct Messages<S> {
    stream: S,
    allowance: Allowance,
    header: [u8; HEADER_BYTES],
    /// How much of a header was read.
    seen: usize,
    left: u64,
    is_shut: bool,
}

impl<S> Messages<S> {
    pub(super) fn new(stream: S, allowance: Allowance) -> Self {
        Self { stream, allowance, header: [0; HEADER_BYTES], seen: 0, left: 0, is_shut: false }
    }

    fn pass(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let body = bytes.len().min(usize::try_from(self.left).unwrap_or(usize::MAX));
            self.left -= body as u64;
            bytes = &bytes[body..];
            let head = bytes.len().min(HEADER_BYTES - self.seen);
            self.header[self.seen..self.seen + head].copy_from_slice(&bytes[..head]);
            self.seen += head;
            bytes = &bytes[head..];
            if self.seen == HEADER_BYTES {
                let [_, length @ ..] = self.header;
                let length = u64::from(u32::from_be_bytes(length));
                self.allowance.check_message(length, MESSAGE_BYTES_MAX)?;
                self.seen = 0;
                self.left = length.saturating_sub(LENGTH_BYTES);
            }
        }
        Ok(())
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Messages<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(context, buffer))?;
        let passed = self.pass(&buffer.filled()[before..]);
        if passed.is_err() {
            buffer.set_filled(before);
        }
        Poll::Ready(passed)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Messages<S> {
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

    /// Waits for the server to close its side; until then the session counts against the login's limit.
    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if !self.is_shut {
            ready!(Pin::new(&mut self.stream).poll_shutdown(context))?;
            self.is_shut = true;
        }
        let mut rest = [0; 512];
        loop {
            let mut rest = ReadBuf::new(&mut rest);
            // An error here also means that the connection has ended.
            let read = ready!(Pin::new(&mut self.stream).poll_read(context, &mut rest));
            if read.is_err() || rest.filled().is_empty() {
                return Poll::Ready(Ok(()));
            }
        }
    }
}

impl<S: TlsStream + Unpin> TlsStream for Messages<S> {
    fn channel_binding(&self) -> ChannelBinding {
        self.stream.channel_binding()
    }
}

/// Encrypts like `tls`, and checks the headers of decrypted messages.
pub(super) struct Inside<T> {
    tls: T,
    allowance: Allowance,
}

impl<T> Inside<T> {
    pub(super) fn new(tls: T, allowance: Allowance) -> Self {
        Self { tls, allowance }
    }
}

impl<S, T> TlsConnect<S> for Inside<T>
where
    T: TlsConnect<S>,
    T::Stream: Unpin,
    T::Future: Send + 'static,
{
    type Stream = Messages<T::Stream>;
    type Error = T::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Stream, T::Error>> + Send>>;

    fn connect(self, stream: S) -> Self::Future {
        let connected = self.tls.connect(stream);
        let allowance = self.allowance;
        Box::pin(async move { Ok(Messages::new(connected.await?, allowance)) })
    }
}
