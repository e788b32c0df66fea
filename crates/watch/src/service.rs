//! A complete collector: sources, alerts and jobs.

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
    /// A collector for `setup` that writes to `store` until `until`. `environment` is added to that of the
    /// jobs.
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

    /// Current values, if a metrics address is set.
    pub fn metrics(&self) -> Option<&Metrics<MachineClock>> {
        self.metrics.as_ref()
    }

    /// A handle to end it from any thread, such as a signal handler's.
    pub fn stopper(&self) -> Stopper {
        self.threads.stopper()
    }

    /// Samples until stopped. Returns the number of samples stored.
    pub fn run(mut self, observer: CollectObserver<'_>) -> Result<u64, WatchError> {
        self.collector.run(&mut self.threads, observer)
    }
}

/// A source that connects at its first reading. The password is read now.
fn opened(source: &WatchedSource) -> Result<Box<dyn Source>, SourceError> {
    let secret = match &source.secret {
        Some(secret) => secret.clone(),
        // A file cannot ask for a password, because nobody may be there to type it.
        None => Secret::of(&source.address.password)?.unwrap_or_default(),
    };
    open(source.address.clone(), secret, source.timeout)
}

fn options(source: &WatchedSource, until: Option<Timestamp>) -> SamplerOptions {
    SamplerOptions { interval: source.interval, until, filter: source.filter.clone() }
}
