//! Receives backups of other iostalls over TLS, and stores them as ordinary files.
//!
//! ```text
//! listener ──► a thread for each connection: TLS ─► requests ─► keys ─► Place of the prefix ─► files
//!                                                                  └──► Uploads, until they are complete
//! ```
//!
//! Threads that block, each with one client and a deadline for everything: what a client can hold is one thread, for a limited
//! time, and there are so many of them.

mod answer;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod http;
mod keys;
mod names;
mod notes;
mod place;
mod requests;
mod room;
mod socket;
mod tls;
mod uploads;

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use iostall_measure::{Clock as _, MonotonicClock};
use iostall_remote::Fingerprint;
use rustls::{ServerConfig, ServerConnection};
use thiserror::Error;

pub use keys::{KeysError, add_key};
pub use place::PlaceError;
pub use requests::{OnEvent, ReceiveEvent};
pub use tls::TlsError;

use self::http::Connection;
use self::requests::Shared;
use self::socket::TimedSocket;
use crate::listen::listen_hint;

/// Where no connection can be accepted, such as without file descriptors, it is tried again after this, nanoseconds.
const PAUSE_NS: u64 = 100_000_000;
const CONNECTIONS_MAX: usize = 256;
/// Where there are so many, it is looked again after this, nanoseconds.
const FULL_NS: u64 = 10_000_000;

/// Why nothing is received.
#[derive(Debug, Error)]
pub enum ReceiveError {
    #[error("cannot listen on {address}: {source}")]
    Listen { address: String, source: io::Error },
    #[error(transparent)]
    Keys(#[from] KeysError),
    #[error(transparent)]
    Tls(#[from] TlsError),
    #[error(transparent)]
    Place(#[from] PlaceError),
}

impl ReceiveError {
    /// What to do, where the message does not say it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Listen { source, .. } => Some(listen_hint(source).to_owned()),
            Self::Keys(error) => error.hint(),
            Self::Tls(TlsError::Read(error)) => error.hint(),
            Self::Tls(TlsError::Content { .. }) => {
                Some("both files are PEM, as `openssl req -x509 -nodes` writes them".to_owned())
            }
            Self::Place(PlaceError::Taken { .. }) => {
                Some("stop that one first, or name another directory".to_owned())
            }
            Self::Place(PlaceError::System { .. }) => Some(
                "name a directory in which this account can make others, and which leads through no link"
                    .to_owned(),
            ),
        }
    }
}

/// What to receive, and from whom.
pub struct ReceiveRequest {
    /// `HOST:PORT`; port 0 picks a free one.
    pub listen: String,
    /// Who may store, and where.
    pub keys: PathBuf,
    /// In PEM form, the receiver's own first.
    pub certificate: PathBuf,
    /// Its private key.
    pub key: PathBuf,
    /// Prefixes are directories in it.
    pub directory: PathBuf,
}

/// Listens, and serves in [`Receiver::run`].
pub struct Receiver {
    listener: TcpListener,
    address: SocketAddr,
    tls: Arc<ServerConfig>,
    fingerprint: Fingerprint,
    shared: Arc<Shared>,
    stopper: Stopper,
}

/// Ends a [`Receiver`] from another thread.
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

impl Receiver {
    /// Reads keys and certificate, goes on with the uploads of an earlier receiver, and listens.
    ///
    /// # Errors
    /// If something that was named cannot be used.
    pub fn open(request: ReceiveRequest, on_event: OnEvent) -> Result<Self, ReceiveError> {
        let keys = keys::read(&request.keys)?;
        if keys.is_empty() {
            return Err(KeysError::Empty { path: request.keys }.into());
        }
        let (tls, fingerprint) = tls::config(&request.certificate, &request.key)?;
        let shared = Shared::new(request.directory, request.keys, on_event);
        for key in &keys {
            shared.place(&key.prefix)?;
        }
        let failed = |source| ReceiveError::Listen { address: request.listen.clone(), source };
        let listener = TcpListener::bind(&request.listen).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let stopper = Stopper { address, is_over: Arc::default() };
        Ok(Self { listener, address, tls, fingerprint, shared: Arc::new(shared), stopper })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What clients name to mean this one.
    pub fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }

    /// What ends it.
    pub fn stopper(&self) -> Stopper {
        self.stopper.clone()
    }

    /// Serves until it is stopped. What is not complete then goes on with the next receiver.
    pub fn run(self) {
        let clock = MonotonicClock::new();
        let connections = Arc::new(AtomicUsize::new(0));
        while !self.stopper.is_over.load(Ordering::Acquire) {
            // Others wait until the system hands them over, and those that say nothing are cut soon.
            if connections.load(Ordering::Relaxed) >= CONNECTIONS_MAX {
                clock.sleep_until(clock.now_ns() + FULL_NS);
                continue;
            }
            match self.listener.accept() {
                Ok((socket, peer)) => self.serve(socket, peer, &connections),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => clock.sleep_until(clock.now_ns() + PAUSE_NS),
            }
        }
    }

    fn serve(&self, socket: TcpStream, peer: SocketAddr, connections: &Arc<AtomicUsize>) {
        if self.stopper.is_over.load(Ordering::Acquire) {
            return;
        }
        let count = Counted::new(connections);
        let Ok(tls) = ServerConnection::new(Arc::clone(&self.tls)) else { return };
        let shared = Arc::clone(&self.shared);
        let thread = std::thread::Builder::new().name("receive".into());
        // Without a thread the connection is closed, and its client tries again.
        let _ = thread.spawn(move || {
            let _count = count;
            // Small answers need not wait for others.
            let _ = socket.set_nodelay(true);
            // A client that is gone or too slow has ended its connection and nothing else.
            let _ = shared.serve(&mut Connection::new(tls, TimedSocket::new(socket)), peer);
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
