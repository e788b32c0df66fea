//! A server that speaks HTTP, over TLS or not, with a few kinds of clients: other iostalls, and what scrapes metrics.
//!
//! Threads that block, each with one client and a deadline for everything: what a client can hold is one thread, for a limited
//! time, and there are so many of them.

mod answer;
mod http;
mod lobby;
mod socket;
mod tls;

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use iostall_measure::{Clock as _, MonotonicClock};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use thiserror::Error;

pub(crate) use answer::{Answer, Refusal};
pub(crate) use http::{Connection, Head, Method};
pub use tls::TlsError;
pub(crate) use tls::config as tls_config;

use self::lobby::Lobby;
use self::socket::{Patience, Stream, TimedSocket};

/// Where no connection can be accepted, such as without file descriptors, it is tried again after this, nanoseconds.
const PAUSE_NS: u64 = 100_000_000;
/// Where there are so many as there may be, it is looked again after this, nanoseconds.
const FULL_NS: u64 = 10_000_000;
/// Where all connections are taken, nobody accepts the one that is to end it, and nobody needs to.
const STOP_LIMIT: Duration = Duration::from_secs(1);
/// Until the first request of a client is there, nanoseconds; as long again before it for the greeting of TLS, of which this server has
/// its share. Clients wait longer than both for their turn.
pub(crate) const FIRST_NS: u64 = 5_000_000_000;

#[derive(Debug, Error)]
pub enum ServeError {
    #[error("cannot listen on {address}: {source}")]
    Listen { address: String, source: io::Error },
    #[error(transparent)]
    Tls(#[from] TlsError),
    #[error("cannot start a thread of the server: {0}")]
    Start(io::Error),
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
            Self::Start(_) => None,
        }
    }
}

/// What to do about an address that cannot be listened on.
fn listen_hint(source: &io::Error) -> &'static str {
    match source.kind() {
        io::ErrorKind::AddrInUse => "another program listens there: choose another port",
        io::ErrorKind::PermissionDenied => "ports below 1024 need a privilege: choose a higher one",
        io::ErrorKind::AddrNotAvailable => "this machine does not have that address",
        _ => "write HOST:PORT, such as 127.0.0.1:9497",
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Limits {
    pub(crate) connections_max: usize,
    /// How long a client may take to greet, and then until its first request is there, nanoseconds.
    pub(crate) first_ns: u64,
    /// How long a client may wait with its next request, nanoseconds; less where many are connected.
    pub(crate) next_ns: u64,
}

pub(crate) struct Server {
    listener: TcpListener,
    address: SocketAddr,
    tls: Option<Arc<ServerConfig>>,
    limits: Limits,
    stopper: Stopper,
    crowd: Crowd,
}

/// Who is connected.
#[derive(Clone, Debug, Default)]
pub(crate) struct Crowd {
    connections: Arc<AtomicUsize>,
    lobby: Arc<Lobby>,
}

impl Crowd {
    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }

    /// How many connections were cut on which nobody had shown who he is.
    pub(crate) fn cut(&self) -> u64 {
        self.lobby.cut()
    }
}

#[derive(Clone)]
pub struct Stopper {
    address: SocketAddr,
    is_over: Arc<AtomicBool>,
}

impl Stopper {
    pub fn stop(&self) {
        self.is_over.store(true, Ordering::Release);
        // It waits for a connection, and gets one.
        let _ = TcpStream::connect_timeout(&self.address, STOP_LIMIT);
    }
}

pub(crate) type Serve = Arc<dyn Fn(&mut Connection, SocketAddr) -> io::Result<()> + Send + Sync>;

impl Server {
    /// Listens on `listen`, which is `HOST:PORT`; port 0 picks a free one. Without `tls` nothing is encrypted.
    pub(crate) fn open(
        listen: &str,
        tls: Option<Arc<ServerConfig>>,
        limits: Limits,
    ) -> Result<Self, ServeError> {
        let failed = |source| ServeError::Listen { address: listen.to_owned(), source };
        let listener = TcpListener::bind(listen).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let stopper = Stopper { address, is_over: Arc::default() };
        Ok(Self { listener, address, tls, limits, stopper, crowd: Crowd::default() })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn stopper(&self) -> Stopper {
        self.stopper.clone()
    }

    pub(crate) fn crowd(&self) -> Crowd {
        self.crowd.clone()
    }

    /// Serves until it is stopped, each connection in a thread of this name.
    pub(crate) fn run(self, name: &str, serve: &Serve) {
        let clock = MonotonicClock::new();
        while !self.stopper.is_over.load(Ordering::Acquire) {
            // Others wait until the system hands them over, and those that say nothing are cut soon.
            if self.crowd.connections() >= self.limits.connections_max {
                self.crowd.lobby.make_room();
                clock.sleep_until(clock.now_ns() + FULL_NS);
                continue;
            }
            match self.listener.accept() {
                Ok((socket, peer)) => self.serve(name, serve, socket, peer),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => clock.sleep_until(clock.now_ns() + PAUSE_NS),
            }
        }
    }

    fn serve(&self, name: &str, serve: &Serve, socket: TcpStream, peer: SocketAddr) {
        if self.stopper.is_over.load(Ordering::Acquire) {
            return;
        }
        let count = Counted::new(&self.crowd.connections);
        // Small answers need not wait for others.
        let _ = socket.set_nodelay(true);
        let socket = Arc::new(socket);
        let presence = self.crowd.lobby.enter(peer.ip(), &socket);
        let socket = TimedSocket::new(socket);
        let stream: Box<dyn Stream> = match &self.tls {
            None => Box::new(socket),
            Some(tls) => {
                let Ok(tls) = ServerConnection::new(Arc::clone(tls)) else { return };
                Box::new(StreamOwned::new(tls, socket))
            }
        };
        let serve = Arc::clone(serve);
        let Limits { connections_max, first_ns, next_ns } = self.limits;
        let connections = Arc::clone(&self.crowd.connections);
        let patience = Patience { most_ns: next_ns, connections, connections_max };
        let thread = std::thread::Builder::new().name(name.into());
        // Without a thread the connection is closed, and its client tries again.
        let _ = thread.spawn(move || {
            let _count = count;
            // A client that is gone or too slow has ended its connection and nothing else.
            let _ = serve(&mut Connection::new(stream, first_ns, patience, presence), peer);
        });
    }
}

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

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};

    use super::*;

    /// Somebody who connects and says nothing, or begins a request and does not end it, took the place of a client.
    #[test]
    fn clients_that_say_nothing_are_cut_and_others_are_served() {
        let limits = Limits { connections_max: 4, first_ns: 200_000_000, next_ns: 1_000_000_000 };
        let server = Server::open("127.0.0.1:0", None, limits).unwrap();
        let (address, stopper) = (server.address(), server.stopper());
        let serve: Serve =
            Arc::new(|connection, _| connection.answer_each(|_, _| Ok((Answer::empty(404), 0))));
        let serving = std::thread::spawn(move || server.run("test", &serve));
        let mut silent: Vec<TcpStream> = (0..12).map(|_| TcpStream::connect(address).unwrap()).collect();
        silent[0].write_all(b"GET / HT").unwrap();
        let mut client = TcpStream::connect(address).unwrap();
        client.write_all(b"GET / HTTP/1.1\r\nConnection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        client.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 404 Not Found\r\n"), "{answer}");
        for stream in &mut silent {
            stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
            let cut = stream.read(&mut [0; 16]).map_err(|error| error.kind());
            assert!(matches!(cut, Ok(0) | Err(io::ErrorKind::ConnectionReset)), "{cut:?}");
        }
        stopper.stop();
        serving.join().unwrap();
    }
}
