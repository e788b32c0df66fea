//! Samples sources, and passes each step to the store, the alerts and the metrics.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::time::Duration;

use iostall_model::alert::{Now, RuleSource};
use iostall_model::job::JobRun;
use iostall_model::{Setting, Step};
use iostall_notify::{AlertFile, Message};
use iostall_store::{CollectorState, History, Retention, SourceId};
use jiff::{SignedDuration, Timestamp};

use crate::alerting::{AlertEvent, Alerting};
use crate::clock::WatchClock;
use crate::drills::{self, Drills};
use crate::error::WatchError;
use crate::jobs::{Job, JobReport, Jobs};
use crate::metrics::Metrics;
use crate::push::PushEvent;
use crate::sampling::{Event, Missed, Next, Sampling};
use crate::writer::{SampleWriter, WriterEvent};

const WAIT: Duration = Duration::from_secs(1);
/// How many earlier runs of a job are read to find where the previous collector ended.
const RUNS_LOOKED_AT: u32 = 20;
const FORGET_EVERY: SignedDuration = SignedDuration::from_hours(1);

#[derive(Debug)]
pub enum CollectEvent<'a> {
    AnswersAgain {
        source: &'a str,
        at: Timestamp,
    },
    /// A source missed a sample, for a different reason than before.
    Missed {
        source: &'a str,
        missed: &'a Missed,
    },
    /// The settings of a source were not there in time: they are as they were, and those of other sources are read.
    SettingsLate {
        source: &'a str,
        limit: Duration,
    },
    Writer(WriterEvent<'a>),
    Alert(AlertEvent<'a>),
    Job(&'a JobRun),
    /// A receiver of samples fails, or takes them again.
    Push(&'a PushEvent),
    Reloaded(&'a Path),
    /// The file has changed and cannot be used: what was read before still counts.
    Refused(&'a WatchError),
}

pub type CollectObserver<'o> = &'o mut dyn FnMut(CollectEvent<'_>);

pub struct Observers<C> {
    pub metrics: Option<Metrics<C>>,
    pub alerting: Option<Alerting>,
    pub jobs: Option<(Jobs, Vec<Job>)>,
}

/// The last error of a failing source, and how many ticks it is left alone.
type LastHeard = (String, Option<u64>);

pub struct Collector<H, C> {
    writer: SampleWriter<H>,
    sources: Vec<(SourceId, String)>,
    retention: Retention,
    observers: Observers<C>,
    clock: C,
    forget_next: Timestamp,
    failing: HashMap<usize, LastHeard>,
    answering: HashSet<usize>,
    memory_name: Option<String>,
    drills: Drills,
}

impl<H: History + CollectorState, C: WatchClock> Collector<H, C> {
    pub fn new(store: H, retention: Retention, observers: Observers<C>, clock: C) -> Self {
        let (writer, forget_next) = (SampleWriter::new(store), clock.now().utc);
        Self {
            writer,
            sources: Vec::new(),
            retention,
            observers,
            clock,
            forget_next,
            failing: HashMap::new(),
            answering: HashSet::new(),
            memory_name: None,
            drills: Drills::default(),
        }
    }

    pub(crate) fn keep_memory(&mut self, name: String) {
        self.memory_name = Some(name);
    }

    /// Adds a source. Returns the number that events refer to.
    pub fn add(&mut self, source: RuleSource) -> Result<usize, WatchError> {
        self.sources.push((self.writer.add_source(&source.name)?, source.name.clone()));
        if let Some(metrics) = &self.observers.metrics {
            metrics.add(&source.name);
        }
        if let Some(alerting) = &mut self.observers.alerting {
            alerting.add(source, self.clock.now());
        }
        Ok(self.sources.len() - 1)
    }

    pub(crate) fn retire(&mut self, source: usize, observer: CollectObserver<'_>) {
        let now = self.clock.now();
        self.failing.remove(&source);
        self.answering.remove(&source);
        if let Some(metrics) = &self.observers.metrics {
            metrics.retire(source);
        }
        if let Some(alerting) = &mut self.observers.alerting {
            alerting.retire(source, now, &mut |event| observer(CollectEvent::Alert(event)));
        }
    }

    pub(crate) fn is_answering(&self, source: usize) -> bool {
        self.answering.contains(&source)
    }

    pub(crate) fn update(&mut self, number: usize, source: RuleSource) {
        if let Some(alerting) = &mut self.observers.alerting {
            alerting.update(number, source);
        }
    }

    pub(crate) fn replace(
        &mut self,
        alerts: AlertFile,
        planned: Vec<Job>,
        retention: Retention,
        observer: CollectObserver<'_>,
    ) -> Result<(), WatchError> {
        let now = self.clock.now();
        self.retention = retention;
        if let Some(alerting) = &mut self.observers.alerting {
            alerting.replace(alerts, now, &mut |event| observer(CollectEvent::Alert(event)));
        }
        if let Some(jobs) = &mut self.observers.jobs {
            jobs.1 = planned;
        }
        self.plan_jobs(observer)
    }

    /// Processes events of `sampling` until it ends. Returns how many samples were stored.
    pub fn run(
        mut self,
        sampling: &mut impl Sampling,
        observer: CollectObserver<'_>,
    ) -> Result<u64, WatchError> {
        self.begin(observer)?;
        while self.turn(sampling, observer)? {}
        self.end(observer)
    }

    /// Takes up jobs and alerts where the collector before this one left them.
    pub(crate) fn begin(&mut self, observer: CollectObserver<'_>) -> Result<(), WatchError> {
        let now = self.clock.now();
        if let (Some(name), Some(alerting)) = (&self.memory_name, &mut self.observers.alerting)
            && let Some(memory) = self.writer.state(name)?
        {
            alerting.remember(memory, now, &mut |event| observer(CollectEvent::Alert(event)));
        }
        self.plan_jobs(observer)
    }

    /// Waits for the next event, and does what is due. Whether there is more to come.
    pub(crate) fn turn(
        &mut self,
        sampling: &mut impl Sampling,
        observer: CollectObserver<'_>,
    ) -> Result<bool, WatchError> {
        let next = sampling.next(WAIT);
        if let Next::Event(event) = &next {
            self.show(event, observer);
        }
        let now = self.clock.now();
        self.look_for_drills(now);
        if let Some(alerting) = &mut self.observers.alerting {
            alerting.look(now, &mut |event| observer(CollectEvent::Alert(event)));
        }
        let reports = self.observers.jobs.as_mut().map(|(jobs, _)| jobs.look(now));
        self.report_jobs(reports.unwrap_or_default(), observer)?;
        if let Next::Event(event) = &next {
            self.keep(event, observer)?;
        }
        self.put_memory(observer)?;
        if now.utc >= self.forget_next {
            let say = &mut |event: WriterEvent<'_>| observer(CollectEvent::Writer(event));
            self.writer.forget(&self.retention, now.utc, say)?;
            self.forget_next = now.utc.checked_add(FORGET_EVERY).unwrap_or(Timestamp::MAX);
        }
        Ok(!matches!(next, Next::Ended))
    }

    /// Reads the drills that were stored since, where a rule is about them. A store that cannot be read now is read later.
    fn look_for_drills(&mut self, now: Now) {
        let Some(alerting) = &mut self.observers.alerting else { return };
        if alerting.needs_drills()
            && self.drills.is_due(now.utc)
            && let Ok(stored) = self.writer.runs_after(drills::KIND, self.drills.read())
        {
            alerting.update_drills(self.drills.add(&stored));
        }
    }

    /// Ends its jobs, writes what is still to be written, and has what waits delivered. How many samples were kept.
    pub(crate) fn end(mut self, observer: CollectObserver<'_>) -> Result<u64, WatchError> {
        let now = self.clock.now();
        let reports = self.observers.jobs.as_mut().map(|(jobs, _)| jobs.stop(now));
        self.report_jobs(reports.unwrap_or_default(), observer)?;
        // Before the last notices are delivered: a receiver that hangs must not cost what is in the store.
        self.writer.finish()?;
        self.put_memory(observer)?;
        if let Some(alerting) = &mut self.observers.alerting {
            alerting.finish(&mut |event| observer(CollectEvent::Alert(event)));
        }
        self.put_memory(observer)?;
        Ok(self.writer.samples)
    }

    fn put_memory(&mut self, observer: CollectObserver<'_>) -> Result<(), WatchError> {
        let now = self.clock.now();
        let (Some(name), Some(alerting)) = (&self.memory_name, &mut self.observers.alerting) else {
            return Ok(());
        };
        if let Some(document) = alerting.memory(now) {
            let mut said = |event: WriterEvent<'_>| observer(CollectEvent::Writer(event));
            if self.writer.put_state(name, &document, &mut said)? {
                alerting.memory_is_kept();
            }
        }
        Ok(())
    }

    pub(crate) fn put_settings(
        &mut self,
        source: usize,
        settings: &[Setting],
        observer: CollectObserver<'_>,
    ) -> Result<(), WatchError> {
        let (id, at) = (self.sources[source].0, self.clock.now().utc);
        self.writer.settings(id, at, settings, &mut |event| observer(CollectEvent::Writer(event)))
    }

    pub(crate) fn has_settings(&self, source: usize) -> Result<bool, WatchError> {
        self.writer.has_settings(self.sources[source].0, self.clock.now().utc)
    }

    fn plan_jobs(&mut self, observer: CollectObserver<'_>) -> Result<(), WatchError> {
        let now: Now = self.clock.now();
        let Some((jobs, planned)) = &mut self.observers.jobs else { return Ok(()) };
        let mut histories = HashMap::new();
        for job in planned.iter() {
            histories.insert(job.name.clone(), self.writer.job_runs(&job.name, RUNS_LOOKED_AT)?);
        }
        let history = |job: &Job| histories.remove(&job.name).unwrap_or_default();
        let reports = jobs.replace(std::mem::take(planned), history, now);
        self.report_jobs(reports, observer)
    }

    fn report_jobs(
        &mut self,
        reports: Vec<JobReport>,
        observer: CollectObserver<'_>,
    ) -> Result<(), WatchError> {
        for JobReport { run, notice } in reports {
            self.writer.job_run(&run, &mut |event| observer(CollectEvent::Writer(event)))?;
            observer(CollectEvent::Job(&run));
            if let (Some(notice), Some(alerting)) = (notice, &mut self.observers.alerting) {
                alerting.send(&Message::Job(notice), &mut |event| observer(CollectEvent::Alert(event)));
            }
        }
        Ok(())
    }

    /// Passes an event to the observers, which must not block.
    fn show(&mut self, event: &Event, observer: CollectObserver<'_>) {
        let now = self.clock.now();
        let Observers { metrics, alerting, .. } = &mut self.observers;
        let say = &mut |event: AlertEvent<'_>| observer(CollectEvent::Alert(event));
        match event {
            Event::Step { source, step, .. } => {
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
            Event::Step { source, step, placements } => {
                if let Some(placements) = placements {
                    let name = &self.sources[*source].1;
                    self.writer.put_placements(name, placements, &mut |event| {
                        observer(CollectEvent::Writer(event));
                    })?;
                }
                self.keep_step(*source, step, observer)
            }
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
        self.answering.insert(source);
        if self.failing.remove(&source).is_some() {
            observer(CollectEvent::AnswersAgain { source: name, at: step.at() });
        }
        let before = self.writer.samples;
        self.writer.step(*id, step, &mut |event| observer(CollectEvent::Writer(event)))?;
        if let Some(alerting) = self.observers.alerting.as_mut().filter(|_| self.writer.samples > before) {
            alerting.kept(source);
        }
        Ok(())
    }

    fn keep_gap(&mut self, missed: &Missed, observer: CollectObserver<'_>) -> Result<(), WatchError> {
        self.answering.remove(&missed.source);
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
