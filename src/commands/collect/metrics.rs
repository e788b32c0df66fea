//! `--metrics`: the current values for Prometheus.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use iostall_measure::{Clock, MonotonicClock};
use iostall_model::{Change, Sample};
use iostall_report::exposition::{CONTENT_TYPE, SourceNow, exposition};
use iostall_web::{MetricsPage, MetricsServer, WebError};

use crate::failure::hinted;
use crate::printer::Printer;

/// A source, and when its newest sample arrived.
struct Seen {
    now: SourceNow,
    arrived_ns: Option<u64>,
}

/// The values that are served, and the server.
pub(super) struct Metrics {
    seen: Arc<Mutex<Vec<Seen>>>,
    clock: MonotonicClock,
    /// Serves until it is dropped.
    _server: MetricsServer,
}

impl Metrics {
    /// Listens on `address`. Until the first beat the sources called `names` are there and not up.
    pub(super) fn start(address: &str, names: &[&str], printer: &Printer) -> anyhow::Result<Self> {
        let new = |name: &&str| Seen {
            now: SourceNow { name: (*name).to_owned(), ..SourceNow::default() },
            arrived_ns: None,
        };
        let seen = Arc::new(Mutex::new(names.iter().map(new).collect::<Vec<_>>()));
        let clock = MonotonicClock::new();
        let (shown, its_clock) = (Arc::clone(&seen), clock.clone());
        let page = MetricsPage {
            content_type: CONTENT_TYPE,
            render: Box::new(move || exposition(&now(&shown, &its_clock), env!("CARGO_PKG_VERSION"))),
        };
        let server = MetricsServer::start(address, page).map_err(|error| with_hint(address, error))?;
        printer.note(&format!("metrics at http://{}/metrics", server.address()));
        Ok(Self { seen, clock, _server: server })
    }

    /// A source answered, and its rows changed so since the sample before.
    pub(super) fn sample(&self, source: usize, sample: &Arc<Sample>, changes: &[Change]) {
        let arrived_ns = Some(self.clock.now_ns());
        self.change(source, |seen| {
            seen.arrived_ns = arrived_ns;
            seen.now.last = Some(Arc::clone(sample));
            seen.now.is_up = true;
            seen.now.samples += 1;
            for change in changes {
                if let Change::Reset(reason) = change {
                    *seen.now.resets.entry(*reason).or_default() += 1;
                }
            }
        });
    }

    /// A source did not answer at this many beats.
    pub(super) fn gap(&self, source: usize, beats: u64) {
        self.change(source, |seen| {
            seen.now.is_up = false;
            seen.now.gaps += beats;
        });
    }

    fn change(&self, source: usize, change: impl FnOnce(&mut Seen)) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(seen) = seen.get_mut(source) {
            change(seen);
        }
    }
}

/// The sources as they are now. Samples are shared, so the lock is held for as long as a few words take to copy.
fn now(seen: &Mutex<Vec<Seen>>, clock: &MonotonicClock) -> Vec<SourceNow> {
    let seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
    let now_ns = clock.now_ns();
    let with_age = |seen: &Seen| SourceNow {
        age_ns: seen.arrived_ns.map(|arrived_ns| now_ns.saturating_sub(arrived_ns)),
        ..seen.now.clone()
    };
    seen.iter().map(with_age).collect()
}

fn with_hint(address: &str, error: WebError) -> anyhow::Error {
    let hint = match &error {
        WebError::Listen { source, .. } => match source.kind() {
            io::ErrorKind::AddrInUse => "another program listens there: choose another port",
            io::ErrorKind::PermissionDenied => "ports below 1024 need a privilege: choose a higher one",
            io::ErrorKind::AddrNotAvailable => "the address is none of this machine's",
            _ => "write HOST:PORT, such as 127.0.0.1:9497",
        },
        _ => return anyhow::Error::new(error).context(format!("cannot serve metrics on {address}")),
    };
    hinted(error, hint)
}
