//! How the centre itself is: for who watches it, on an address of its own.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use iostall_measure::clock::utc_now;
use iostall_store::{KnownServer, MemberState};
use iostall_watch::Figure;
use jiff::SignedDuration;

use super::checks::lock;
use super::requests::{Failed, Shared};
use crate::server::Crowd;

/// A server whose newest sample is older than this has fallen silent.
const SILENT: SignedDuration = SignedDuration::from_hours(1);

#[derive(Clone)]
pub struct CentreHealth {
    pub(super) shared: Arc<Shared>,
    pub(super) crowd: Crowd,
    pub(super) connections_max: usize,
}

impl CentreHealth {
    /// Why servers cannot send now; whoever asks waits for the same locks and connection as they.
    pub fn trouble(&self) -> Option<String> {
        drop(lock(&self.shared.appending));
        match self.shared.servers() {
            Ok(_) => None,
            Err(Failed::Store(error)) => Some(error.to_string()),
            Err(Failed::Refused(refusal)) => Some(refusal.message),
            Err(Failed::Connection(error)) => Some(error.to_string()),
        }
    }

    /// For who scrapes it.
    pub fn figures(&self) -> Vec<Figure> {
        let counts = &self.shared.counts;
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let servers = self.shared.servers().ok().map(|all| of_servers(&all));
        let level = |name, help, value| Figure { name, help, is_counter: false, label: None, value };
        let total = |name, help, value| Figure { name, help, is_counter: true, label: None, value };
        let requests = |outcome: &str, count| {
            let help = "Requests of servers since the start, by what became of them.";
            let label = Some(("outcome", outcome.to_owned()));
            Figure { label, ..total("iostall_centre_requests_total", help, read(count)) }
        };
        let mut all = vec![
            level("iostall_centre_up", "Whether the repository answers.", u64::from(servers.is_some())),
            level(
                "iostall_centre_connections",
                "Connections there are now.",
                self.crowd.connections() as u64,
            ),
            level("iostall_centre_connections_max", "So many are taken.", self.connections_max as u64),
            total(
                "iostall_centre_connections_cut_total",
                "Connections without a key that were cut for others.",
                self.crowd.cut(),
            ),
            requests("answered", &counts.answered),
            requests("refused", &counts.refused),
            requests("unavailable", &counts.unavailable),
            total("iostall_centre_batches_total", "Batches stored since the start.", read(&counts.batches)),
        ];
        let last_s = read(&counts.last_batch_s);
        if last_s > 0 {
            let help = "When a batch was stored last.";
            all.push(level("iostall_centre_last_batch_timestamp_seconds", help, last_s));
        }
        if let Some((joined, silent)) = servers {
            all.push(level("iostall_centre_servers", "Servers that may send.", joined));
            let help = "Servers that may send and of which no sample of the last hour is there.";
            all.push(level("iostall_centre_servers_silent", help, silent));
        }
        all
    }
}

/// How many servers may send, and of how many of them nothing came of late.
fn of_servers(all: &[KnownServer]) -> (u64, u64) {
    let now = utc_now();
    let is_joined = |server: &&KnownServer| {
        server.membership.as_ref().is_some_and(|membership| membership.state == MemberState::Joined)
    };
    let is_silent =
        |server: &&KnownServer| server.newest_sample.is_none_or(|newest| now.duration_since(newest) > SILENT);
    let joined = all.iter().filter(is_joined);
    (joined.clone().count() as u64, joined.filter(is_silent).count() as u64)
}
