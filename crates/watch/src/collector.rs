//! Samples sources, and passes each step to the store, the alerts and the metrics.

use std::collections::HashMap;
use std::time::Duration;

use iostall_model::Step;
use iostall_store::{History, Retention, SourceId};
use jiff::{SignedDuration, Timestamp};

use crate::alerting::{AlertEvent, Alerting};
use crate::clock::WatchClock;
use crate::error::WatchError;
use crate::metrics::Metrics;
use crate::sampling::{Event, Missed, Next, Sampling};
use crate::writer::{SampleWriter, WriterEvent};

/// How long to wait for an event before checking the time.
const WAIT: Duration = Duration::from_secs(1);
/// How often old samples are deleted.
const FORGET_EVERY: SignedDuration = SignedDuration::from_hours(1);

/// Events of a running collector.
#[derive(Debug)]
pub enum CollectEvent<'a> {
    /// A source that failed answers again.
    AnswersAgain {
        source: &'a str,
        at: Timestamp,
    },
    /// A source missed a sample, for a different reason than before.
    Missed {
        source: &'a str,
        /// What was missed, why, and when the next attempt is.
        missed: &'a Missed,
    },
    Writer(WriterEvent<'a>),
    Alert(AlertEvent<'a>),
}

/// Who hears it.
pub type CollectObserver<'o> = &'o mut dyn FnMut(CollectEvent<'_>);

/// What a collector passes its steps to, besides the store.
pub struct Observers<C> {
    /// The current values, if they are served.
    pub metrics: Option<Metrics<C>>,
    /// The alerts, if there are rules.
    pub alerting: Option<Alerting>,
}

/// The last error of a failing source, and how many ticks it is left alone.
type LastHeard = (String, Option<u64>);

/// See the module.
pub struct Collector<H, C> {
    writer: SampleWriter<H>,
    sources: Vec<(SourceId, String)>,
    retention: Retention,
    observers: Observers<C>,
    clock: C,
    forget_next: Timestamp,
    failing: HashMap<usize, LastHeard>,
}

impl<H: History, C: WatchClock> Collector<H, C> {
    /// A collector of the sources `names` into `store`.
    pub fn new(
        store: H,
        names: &[&str],
        retention: Retention,
        observers: Observers<C>,
        clock: C,
    ) -> Result<Self, WatchError> {
        let mut writer = SampleWriter::new(store);
        let mut sources = Vec::new();
        for name in names {
            sources.push((writer.add_source(name)?, (*name).to_owned()));
        }
        let forget_next = clock.now().utc;
        Ok(Self { writer, sources, retention, observers, clock, forget_next, failing: HashMap::new() })
    }

    /// Processes events of `sampling` until it ends. Returns how many samples were stored.
    pub fn run(
        mut self,
        sampling: &mut impl Sampling,
        observer: CollectObserver<'_>,
    ) -> Result<u64, WatchError> {
        loop {
            let next = sampling.next(WAIT);
            if let Next::Event(event) = &next {
                self.show(event, observer);
            }
            let now = self.clock.now();
            if let Some(alerting) = &mut self.observers.alerting {
                alerting.look(now, &mut |event| observer(CollectEvent::Alert(event)));
            }
            match next {
                Next::Event(event) => self.keep(&event, observer)?,
                Next::Nothing => continue,
                Next::Ended => break,
            }
            if now.utc >= self.forget_next {
                let say = &mut |event: WriterEvent<'_>| observer(CollectEvent::Writer(event));
                self.writer.forget(&self.retention, now.utc, say)?;
                self.forget_next = now.utc.checked_add(FORGET_EVERY).unwrap_or(Timestamp::MAX);
            }
        }
        // Before the last notices are delivered: a receiver that hangs must not keep the store open.
        self.writer.finish()?;
        if let Some(alerting) = self.observers.alerting {
            alerting.finish(&mut |event| observer(CollectEvent::Alert(event)));
        }
        Ok(self.writer.samples)
    }

    /// Passes an event to the observers, which must not block.
    fn show(&mut self, event: &Event, observer: CollectObserver<'_>) {
        let now = self.clock.now();
        let Observers { metrics, alerting } = &mut self.observers;
        let say = &mut |event: AlertEvent<'_>| observer(CollectEvent::Alert(event));
        match event {
            Event::Step { source, step } => {
                if let Some(metrics) = metrics {
                    metrics.step(*source, step);
                }
                if let Some(alerting) = alerting {
                    alerting.step(*source, step, now, say);
                }
            }
            Event::Missed(missed) => {
                if let Some(metrics) = metrics {
                    metrics.gap(missed.source, missed.gap.missed);
                }
                if let Some(alerting) = alerting {
                    alerting.gap(missed.source, now, say);
                }
            }
        }
    }

    fn keep(&mut self, event: &Event, observer: CollectObserver<'_>) -> Result<(), WatchError> {
        match event {
            Event::Step { source, step } => self.keep_step(*source, step, observer),
            Event::Missed(missed) => self.keep_gap(missed, observer),
        }
    }

    fn keep_step(
        &mut self,
        source: usize,
        step: &Step,
        observer: CollectObserver<'_>,
    ) -> Result<(), WatchError> {
        let (id, name) = &self.sources[source];
        if self.failing.remove(&source).is_some() {
            observer(CollectEvent::AnswersAgain { source: name, at: step.at() });
        }
        self.writer.step(*id, step, &mut |event| observer(CollectEvent::Writer(event)))
    }

    fn keep_gap(&mut self, missed: &Missed, observer: CollectObserver<'_>) -> Result<(), WatchError> {
        let (id, name) = &self.sources[missed.source];
        let news = (missed.gap.reason.clone(), missed.retry.map(|retry| retry.ticks));
        // A source that times out always exceeds the interval; do not report that again.
        let is_known = missed.retry.is_none() && self.failing.contains_key(&missed.source);
        if !is_known && self.failing.insert(missed.source, news.clone()).as_ref() != Some(&news) {
            observer(CollectEvent::Missed { source: name, missed });
        }
        self.writer.gap(*id, &missed.gap, &mut |event| observer(CollectEvent::Writer(event)))
    }
}
