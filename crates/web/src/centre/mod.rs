//! The service at the centre of a fleet: servers join it and send their history, and it writes that to the repository. It alone logs in
//! there.
//!
//! ```text
//! listener ──► a thread for each connection: TLS ─► key ─► server ─► its connection to the repository
//! ```
//!
//! A server always gets the same one of a few connections, which remembers its last samples.

mod answers;
mod checks;
mod counts;
mod health;
mod limits;
mod probe;
mod refusals;
mod requests;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use iostall_measure::{Clock as _, MonotonicClock};
use iostall_remote::Fingerprint;
use iostall_store::{PostgresHistory, Retention};
use jiff::SignedDuration;

pub use health::CentreHealth;
pub use requests::{CentreEvent, OnCentreEvent};

use self::requests::Shared;
use crate::server::{Connection, FIRST_NS, Limits, Serve, ServeError, Server, Stopper, tls_config};

/// A server that has sent what it has waits no longer than this with more, and others have their turn.
const LIMITS: Limits = Limits { connections_max: 512, first_ns: FIRST_NS, next_ns: 5_000_000_000 };
/// It is looked so often for servers that say nothing any more, nanoseconds.
const FINISH_NS: u64 = 60_000_000_000;
/// Who was silent for so long since its hour ended says nothing any more. The next sample of the others writes the roll-ups of theirs.
const SILENT: SignedDuration = SignedDuration::from_mins(5);
/// What is old is deleted so often, nanoseconds.
const FORGET_NS: u64 = 3_600_000_000_000;
/// It is looked so often whether either is due, nanoseconds.
const LOOK_NS: u64 = 200_000_000;

pub struct CentreRequest {
    /// `HOST:PORT`; port 0 picks a free one.
    pub listen: String,
    /// In PEM form, the service's own first.
    pub certificate: PathBuf,
    pub key: PathBuf,
    /// How long samples are kept; `None` keeps them.
    pub keep_raw: Option<SignedDuration>,
    /// How long runs are kept; `None` keeps them.
    pub keep_runs: Option<SignedDuration>,
    /// Connections to one repository: one that looks up keys, and at least one that writes.
    pub repositories: (PostgresHistory, Vec<PostgresHistory>),
}

pub struct Centre {
    server: Server,
    fingerprint: Fingerprint,
    shared: Arc<Shared>,
    kept: Kept,
}

#[derive(Clone, Copy)]
struct Kept {
    history: Retention,
    runs: Option<SignedDuration>,
}

impl Centre {
    pub fn open(request: CentreRequest, on_event: OnCentreEvent) -> Result<Self, ServeError> {
        let (tls, fingerprint) = tls_config(&request.certificate, &request.key)?;
        let server = Server::open(&request.listen, Some(tls), LIMITS)?;
        let (members, writers) = request.repositories;
        let all = Retention { raw: SignedDuration::MAX, hours: SignedDuration::MAX, days: None };
        let history = request.keep_raw.map_or(all, |raw| Retention { raw, ..Retention::default() });
        let kept = Kept { history, runs: request.keep_runs };
        Ok(Self { server, fingerprint, shared: Arc::new(Shared::new(members, writers, on_event)), kept })
    }

    pub fn address(&self) -> SocketAddr {
        self.server.address()
    }

    /// The fingerprint that servers name to mean this centre.
    pub fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }

    pub fn stopper(&self) -> Stopper {
        self.server.stopper()
    }

    pub fn health(&self) -> CentreHealth {
        let connections_max = LIMITS.connections_max;
        let (shared, probe) = (Arc::clone(&self.shared), Arc::default());
        CentreHealth { shared, probe, crowd: self.server.crowd(), connections_max }
    }

    /// Serves until it is stopped, and writes the roll-ups of what came since they were written.
    pub fn run(self) {
        let is_over = Arc::new(AtomicBool::new(false));
        let (shared, ends, kept) = (Arc::clone(&self.shared), Arc::clone(&is_over), self.kept);
        let upkeep = std::thread::Builder::new().name("upkeep".into());
        // Without a thread roll-ups are written when hours end, and at the end, and the next service deletes what is old.
        let upkeep = upkeep.spawn(move || keep_up(&shared, kept, &ends));
        let shared = Arc::clone(&self.shared);
        let serve: Serve = Arc::new(move |connection: &mut Connection, peer| shared.serve(connection, peer));
        self.server.run("centre", &serve);
        is_over.store(true, Ordering::Release);
        if let Ok(thread) = upkeep {
            // If it panicked, the rest is done here.
            let _ = thread.join();
        }
        self.shared.finish();
    }
}

/// Writes roll-ups, makes tables ahead and deletes what is old, each when it is due, until `is_over`.
fn keep_up(shared: &Shared, kept: Kept, is_over: &AtomicBool) {
    let clock = MonotonicClock::new();
    let (mut finish_due_ns, mut forget_due_ns) = (clock.now_ns() + FINISH_NS, clock.now_ns());
    while !is_over.load(Ordering::Acquire) {
        if clock.now_ns() >= forget_due_ns {
            shared.forget(&kept.history, kept.runs);
            forget_due_ns = clock.now_ns() + FORGET_NS;
        }
        if clock.now_ns() >= finish_due_ns {
            shared.finish_silent(SILENT);
            finish_due_ns = clock.now_ns() + FINISH_NS;
        }
        clock.sleep_until(clock.now_ns() + LOOK_NS);
    }
}
