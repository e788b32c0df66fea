//! How the centre itself is: for who watches it, on an address of its own.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use iostall_watch::Figure;

use super::probe::Probe;
use super::requests::Shared;
use crate::server::Crowd;

#[derive(Clone)]
pub struct CentreHealth {
    pub(super) shared: Arc<Shared>,
    pub(super) probe: Arc<Probe>,
    pub(super) crowd: Crowd,
    pub(super) connections_max: usize,
}

impl CentreHealth {
    /// Why servers cannot send now. It is asked in their way, but who wants to know waits for a few seconds at most.
    pub fn trouble(&self) -> Option<String> {
        self.probe.servers(&self.shared).err()
    }

    /// For who scrapes it.
    pub fn figures(&self) -> Vec<Figure> {
        let counts = &self.shared.counts;
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let servers = self.probe.servers(&self.shared).ok();
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
