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
mod keys;
mod names;
mod notes;
mod place;
mod requests;
mod room;
mod uploads;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use iostall_remote::Fingerprint;
use thiserror::Error;

pub use keys::{KeysError, add_key};
pub use place::PlaceError;
pub use requests::{OnEvent, ReceiveEvent};

use self::requests::Shared;
use crate::tls_server::{Connection, Serve, ServeError, ServeRequest, Stopper, TlsServer};

const CONNECTIONS_MAX: usize = 256;
/// Until the next request of a client is there, nanoseconds.
const NEXT_NS: u64 = 60_000_000_000;

/// Why nothing is received.
#[derive(Debug, Error)]
pub enum ReceiveError {
    #[error(transparent)]
    Serve(#[from] ServeError),
    #[error(transparent)]
    Keys(#[from] KeysError),
    #[error(transparent)]
    Place(#[from] PlaceError),
}

impl ReceiveError {
    /// What to do, where the message does not say it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Serve(error) => error.hint(),
            Self::Keys(error) => error.hint(),
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
    server: TlsServer,
    shared: Arc<Shared>,
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
        let shared = Shared::new(request.directory, request.keys, on_event);
        for key in &keys {
            shared.place(&key.prefix)?;
        }
        let server = TlsServer::open(&ServeRequest {
            listen: &request.listen,
            certificate: &request.certificate,
            key: &request.key,
            connections_max: CONNECTIONS_MAX,
            next_ns: NEXT_NS,
        })?;
        Ok(Self { server, shared: Arc::new(shared) })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.server.address()
    }

    /// What clients name to mean this one.
    pub fn fingerprint(&self) -> Fingerprint {
        self.server.fingerprint()
    }

    /// What ends it.
    pub fn stopper(&self) -> Stopper {
        self.server.stopper()
    }

    /// Serves until it is stopped. What is not complete then goes on with the next receiver.
    pub fn run(self) {
        let shared = Arc::clone(&self.shared);
        let serve: Serve = Arc::new(move |connection: &mut Connection, peer| shared.serve(connection, peer));
        self.server.run("receive", &serve);
    }
}
