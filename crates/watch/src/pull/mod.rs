//! Samples sources that have no iostall on their host, and sends the samples to the repository of a fleet.
//!
//! What is sampled goes into a store of its own, the spool, and from there into the repository: while that cannot be reached, nothing is
//! lost.

mod claim;
mod forwarder;
mod outcome;
mod sender;

use std::collections::HashSet;
use std::ffi::OsString;
use std::path::Path;

use iostall_engine::files::raise_open_file_limit;
use iostall_store::SqliteHistory;
use jiff::Timestamp;

use crate::clock::{MachineClock, WatchClock as _};
use crate::error::WatchError;
use crate::metrics::Metrics;
use crate::named::{AskPassword, NamedSource};
use crate::sampling::{PoolLimits, SourcePool, Stopper};
use crate::service::CollectorService;
use crate::setup::{CollectorSetup, Purpose, WatchedSource};

use forwarder::{ForwardEvent, Forwarder, PulledSource};
use outcome::Outcomes;
use sender::{Sender, SenderEvent};

pub(crate) use claim::is_spool_state;
pub use outcome::{PullEvent, PullObserver, PullProgress, PulledOutcome, PulledState};

pub struct PullRequest<'a> {
    /// The repository: `postgres://USER@HOST/DATABASE`.
    pub url: &'a str,
    /// From [`CollectorSetup::read_pulled`].
    pub setup: CollectorSetup,
    /// Where samples are until the repository has them; created if it is not there.
    pub spool: &'a Path,
    pub threads: usize,
    pub connections: usize,
    pub once: bool,
    /// The last tick; `None` samples until stopped.
    pub until: Option<Timestamp>,
    pub version: &'a str,
    pub environment: Vec<(OsString, OsString)>,
}

pub struct PullService {
    service: CollectorService<SqliteHistory>,
    sender: Sender,
    outcomes: Outcomes,
    sources: Vec<PulledSource>,
    once: bool,
    events: Vec<ForwardEvent>,
    cut: Option<WatchError>,
}

impl PullService {
    pub fn open(request: PullRequest<'_>, ask: AskPassword<'_>) -> Result<Self, WatchError> {
        let PullRequest { url, setup, spool, threads, connections, once, until, version, environment } =
            request;
        // A source needs a few, and there may be hundreds.
        raise_open_file_limit();
        let open = || SqliteHistory::open(spool);
        let place = NamedSource::at(url.parse()?, ask)?;
        let mut forwarder = Forwarder::new(open()?, place, version)?;
        let sources: Vec<PulledSource> = setup.sources.iter().map(pulled).collect();
        forwarder.replace(sources.clone());
        let cut = match forwarder.round(MachineClock::default().now().clock_ns, &|| false) {
            Err(error) if error.may_pass() => Some(error),
            done => done.map(|()| None)?,
        };
        let (paused, events): (HashSet<String>, _) =
            (forwarder.elsewhere().cloned().collect(), forwarder.events());
        let pool = Box::new(SourcePool::new(PoolLimits { threads, connections }, until, once));
        let outcomes = Outcomes::of(&sources);
        let service =
            CollectorService::sampled_by((pool, Purpose::Pull), paused, &open, setup, until, environment)?;
        let sender = Sender::start(forwarder, cut.is_some())?;
        Ok(Self { service, sender, outcomes, sources, once, events, cut })
    }

    /// A handle to end it from any thread, such as a signal handler's.
    pub fn stopper(&self) -> Stopper {
        self.service.stopper()
    }

    pub fn metrics(&self) -> Option<&Metrics<MachineClock>> {
        self.service.metrics()
    }

    /// Pulls until stopped, and sends what is left. What became of each source.
    pub fn run(mut self, observer: PullObserver<'_>) -> Result<Vec<PulledOutcome>, WatchError> {
        if let Some(error) = self.cut.take() {
            let cut = SenderEvent::Cut { reason: error.to_string(), hint: error.hint() };
            self.outcomes.hear(vec![cut], observer);
        }
        let begun = vec![SenderEvent::Forward(std::mem::take(&mut self.events))];
        self.outcomes.hear(begun, observer);
        let Self { mut service, sender, mut outcomes, mut sources, once, .. } = self;
        service.begin(&mut |event| outcomes.collected(event, observer))?;
        while service.turn(&mut |event| outcomes.collected(event, observer))? {
            let change = outcomes.hear(sender.events(), observer);
            change.elsewhere.iter().for_each(|name| service.pause(name));
            change.ours.iter().try_for_each(|name| service.resume(name))?;
            let mut now: Vec<PulledSource> = service.sources().map(pulled).collect();
            now.sort_by(|one, other| one.name.cmp(&other.name));
            if now != sources {
                outcomes.replace(&now);
                sender.replace(now.clone());
                sources = now;
            }
        }
        if once {
            service.read_settings(&mut |event| outcomes.collected(event, observer))?;
        }
        service.end(&mut |event| outcomes.collected(event, observer))?;
        outcomes.hear(sender.close(), observer);
        Ok(outcomes.finish())
    }
}

fn pulled(source: &WatchedSource) -> PulledSource {
    PulledSource { name: source.name.clone(), server: source.server() }
}
