//! A server that speaks HTTP over TLS with clients that are iostall, too.
//!
//! Threads that block, each with one client and a deadline for everything: what a client can hold is one thread, for a limited
//! time, and there are so many of them.

mod answer;
mod http;
mod patience;
mod socket;
mod tls;

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use iostall_measure::{Clock as _, MonotonicClock};
use iostall_remote::Fingerprint;
use rustls::{ServerConfig, ServerConnection};
use thiserror::Error;

pub(crate) use answer::{Answer, Refusal};
pub(crate) use http::{Connection, Head, Method};
pub use tls::TlsError;

use self::patience::Patience;
use self::socket::TimedSocket;
use crate::listen::listen_hint;

/// Where no connection can be accepted, such as without file descriptors, it is tried again after this, nanoseconds.
const PAUSE_NS: u64 = 100_000_000;
/// Where there are so many as there may be, it is looked again after this, nanoseconds.
const FULL_NS: u64 = 10_000_000;

/// Why nothing is served.
#[derive(Debug, Error)]
pub enum ServeError {
    #[error("cannot listen on {address}: {source}")]
    Listen { address: String, source: io::Error },
    #[error(transparent)]
    Tls(#[from] TlsError),
}

impl ServeError {
    /// What to do, where the message does not say it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Listen { source, .. } => Some(listen_hint(source).to_owned()),
            Self::Tls(TlsError::Read(error)) => error.hint(),
            Self::Tls(TlsError::Content { .. }) => {
                Some("both files are PEM, as `openssl req -x509 -nodes` writes them".to_owned())
            }
        }
    }
}

/// Where to listen, and as whom.
pub(crate) struct ServeRequest<'a> {
    /// `HOST:PORT`; port 0 picks a free one.
    pub(crate) listen: &'a str,
    /// In PEM form, the server's own first.
    pub(crate) certificate: &'a Path,
    /// Its private key.
    pub(crate) key: &'a Path,
    /// At the same time.
    pub(crate) connections_max: usize,
    /// How long a client may wait with its next request, nanoseconds; less where many are connected.
    pub(crate) next_ns: u64,
}

/// Listens, and serves in [`TlsServer::run`].
pub(crate) struct TlsServer {
    listener: TcpListener,
    address: SocketAddr,
    tls: Arc<ServerConfig>,
    fingerprint: Fingerprint,
    connections_max: usize,
    next_ns: u64,
    stopper: Stopper,
}

/// Ends a server from another thread.
#[derive(Clone)]
pub struct Stopper {
    address: SocketAddr,
    is_over: Arc<AtomicBool>,
}

impl Stopper {
    /// No connection is accepted after this.
    pub fn stop(&self) {
        self.is_over.store(true, Ordering::Release);
        // It waits for a connection, and gets one.
        let _ = TcpStream::connect(self.address);
    }
}

/// Serves one connection to its end.
pub(crate) type Serve = Arc<dyn Fn(&mut Connection, SocketAddr) -> io::Result<()> + Send + Sync>;

impl TlsServer {
    /// Reads the certificate and listens.
    ///
    /// # Errors
    /// If something that was named cannot be used.
    pub(crate) fn open(request: &ServeRequest<'_>) -> Result<Self, ServeError> {
        let (tls, fingerprint) = tls::config(request.certificate, request.key)?;
        let failed = |source| ServeError::Listen { address: request.listen.to_owned(), source };
        let listener = TcpListener::bind(request.listen).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let stopper = Stopper { address, is_over: Arc::default() };
        let (connections_max, next_ns) = (request.connections_max, request.next_ns);
        Ok(Self { listener, address, tls, fingerprint, connections_max, next_ns, stopper })
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// What clients name to mean this one.
    pub(crate) fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }

    /// What ends it.
    pub(crate) fn stopper(&self) -> Stopper {
        self.stopper.clone()
    }

    /// Serves until it is stopped, each connection in a thread of this name.
    pub(crate) fn run(self, name: &str, serve: &Serve) {
        let clock = MonotonicClock::new();
        let connections = Arc::new(AtomicUsize::new(0));
        while !self.stopper.is_over.load(Ordering::Acquire) {
            // Others wait until the system hands them over, and those that say nothing are cut soon.
            if connections.load(Ordering::Relaxed) >= self.connections_max {
                clock.sleep_until(clock.now_ns() + FULL_NS);
                continue;
            }
            match self.listener.accept() {
                Ok((socket, peer)) => self.serve(name, serve, socket, peer, &connections),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => clock.sleep_until(clock.now_ns() + PAUSE_NS),
            }
        }
    }

    fn serve(
        &self,
        name: &str,
        serve: &Serve,
        socket: TcpStream,
        peer: SocketAddr,
        connections: &Arc<AtomicUsize>,
    ) {
        if self.stopper.is_over.load(Ordering::Acquire) {
            return;
        }
        let count = Counted::new(connections);
        let Ok(tls) = ServerConnection::new(Arc::clone(&self.tls)) else { return };
        let serve = Arc::clone(serve);
        let patience = Patience {
            most_ns: self.next_ns,
            connections: Arc::clone(connections),
            connections_max: self.connections_max,
        };
        let thread = std::thread::Builder::new().name(name.into());
        // Without a thread the connection is closed, and its client tries again.
        let _ = thread.spawn(move || {
            let _count = count;
            // Small answers need not wait for others.
            let _ = socket.set_nodelay(true);
            // A client that is gone or too slow has ended its connection and nothing else.
            let _ = serve(&mut Connection::new(tls, TimedSocket::new(socket), patience), peer);
        });
    }
}

/// Counts a connection for as long as it lasts.
struct Counted(Arc<AtomicUsize>);

impl Counted {
    fn new(all: &Arc<AtomicUsize>) -> Self {
        all.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(all))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
