//! A collector as a whole: its sources opened, its alerts and its jobs started.

use std::ffi::OsString;

use iostall_collect::{Secret, Source, SourceError, open};
use iostall_store::{CollectorState, History, Retention};
use jiff::{SignedDuration, Timestamp};

use crate::alerting::Alerting;
use crate::clock::{MachineClock, WatchClock};
use crate::collector::{CollectObserver, Collector, Observers};
use crate::error::WatchError;
use crate::jobs::{Jobs, ProcessRunner};
use crate::metrics::Metrics;
use crate::sampling::{SamplerOptions, SourceThreads, Stopper};
use crate::setup::{CollectorSetup, WatchedSource};

/// A collector that is ready to run.
pub struct CollectorService<H> {
    collector: Collector<H, MachineClock>,
    threads: SourceThreads,
    metrics: Option<Metrics<MachineClock>>,
}

impl<H: History + CollectorState> CollectorService<H> {
    /// A collector into `store` that does what `setup` says, up to `until`. `environment` is what jobs get on top of the
    /// collector's own.
    pub fn new(
        store: H,
        setup: CollectorSetup,
        until: Option<Timestamp>,
        environment: Vec<(OsString, OsString)>,
    ) -> Result<Self, WatchError> {
        let clock = MachineClock::default();
        let metrics = setup.metrics.is_some().then(|| Metrics::new(clock.clone()));
        let has_alerts = !setup.alerts.channels.is_empty();
        let alerting =
            has_alerts.then(|| Alerting::start(setup.alerts.book, setup.alerts.channels, clock.now()));
        let has_jobs = !setup.jobs.is_empty();
        let jobs = has_jobs.then(|| (Jobs::new(ProcessRunner { environment }), setup.jobs));
        let keep_raw = SignedDuration::try_from(setup.keep_raw).unwrap_or(SignedDuration::MAX);
        let retention = Retention { raw: keep_raw, ..Retention::default() };
        let observers = Observers { metrics: metrics.clone(), alerting, jobs };
        let mut collector = Collector::new(store, retention, observers, clock);
        let mut threads = SourceThreads::new(until);
        for source in &setup.sources {
            let opened = opened(source)?;
            let index = collector.add(source.for_rules())?;
            threads.put(index, opened, options(source, until));
        }
        Ok(Self { collector, threads, metrics })
    }

    /// The current values, where they are to be served.
    pub fn metrics(&self) -> Option<&Metrics<MachineClock>> {
        self.metrics.as_ref()
    }

    /// Ends it from anywhere, a signal's thread included.
    pub fn stopper(&self) -> Stopper {
        self.threads.stopper()
    }

    /// Samples until that is over. How many samples were kept.
    pub fn run(mut self, observer: CollectObserver<'_>) -> Result<u64, WatchError> {
        self.collector.run(&mut self.threads, observer)
    }
}

/// A source that connects when it is read. The password is read now unless it is known.
fn opened(source: &WatchedSource) -> Result<Box<dyn Source>, SourceError> {
    let secret = match &source.secret {
        Some(secret) => secret.clone(),
        // Where somebody would have to be asked, nobody is there: a file cannot say so.
        None => Secret::of(&source.address.password)?.unwrap_or_default(),
    };
    open(source.address.clone(), secret, source.timeout)
}

fn options(source: &WatchedSource, until: Option<Timestamp>) -> SamplerOptions {
    SamplerOptions { interval: source.interval, until, filter: source.filter.clone() }
}
