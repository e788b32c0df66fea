//! A collector as a whole: its sources opened, its alerts and its jobs started, and its file looked at while it runs.

use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use iostall_collect::{Secret, Source, SourceError, open};
use iostall_store::{CollectorState, History, StoreError};
use jiff::Timestamp;

use crate::alerting::{Alerting, MEMORY};
use crate::clock::{MachineClock, WatchClock};
use crate::collector::{CollectEvent, CollectObserver, Collector, Observers};
use crate::error::WatchError;
use crate::file_watch::FileWatch;
use crate::jobs::{Jobs, ProcessRunner};
use crate::metrics::Metrics;
use crate::push::{Push, PushSource};
use crate::sampling::{SamplerOptions, SetSource, SourceSet, SourceThreads, Stopper};
use crate::settings::{LIMIT, SettingsReader, SettingsTurn, read_within};
use crate::setup::{CollectorSetup, Purpose, WatchedSource};

/// A source that is sampled from now on, and the number of the one that it replaces.
type Change = (Option<usize>, WatchedSource, Box<dyn Source>);

pub struct CollectorService<H> {
    collector: Collector<H, MachineClock>,
    sampling: Box<dyn SourceSet>,
    purpose: Purpose,
    metrics: Option<Metrics<MachineClock>>,
    pushes: Vec<Push>,
    /// By the number that the collector knows each by.
    sources: HashMap<usize, WatchedSource>,
    paused: HashSet<String>,
    file: Option<(PathBuf, FileWatch)>,
    until: Option<Timestamp>,
    settings: SettingsReader,
    clock: MachineClock,
}

impl<H: History + CollectorState + Send + 'static> CollectorService<H> {
    /// A collector for `setup` that writes to the store that `open` opens until `until`; each receiver of samples reads it through
    /// a connection of its own. `environment` is added to that of the jobs.
    pub fn new(
        open: &dyn Fn() -> Result<H, StoreError>,
        setup: CollectorSetup,
        until: Option<Timestamp>,
        environment: Vec<(OsString, OsString)>,
    ) -> Result<Self, WatchError> {
        let sampling = Box::new(SourceThreads::new(until));
        Self::sampled_by((sampling, Purpose::Collect), HashSet::new(), open, setup, until, environment)
    }

    /// The same, where `sampling` samples the sources. Those in `paused` are not sampled until they are resumed.
    pub(crate) fn sampled_by(
        (sampling, purpose): (Box<dyn SourceSet>, Purpose),
        paused: HashSet<String>,
        open: &dyn Fn() -> Result<H, StoreError>,
        setup: CollectorSetup,
        until: Option<Timestamp>,
        environment: Vec<(OsString, OsString)>,
    ) -> Result<Self, WatchError> {
        let clock = MachineClock::default();
        let metrics = setup.metrics.is_some().then(|| Metrics::new(clock.clone()));
        // A file may name alerts and jobs later.
        let has_alerts = setup.path.is_some() || !setup.alerts.channels.is_empty();
        let alerting = has_alerts.then(|| Alerting::start(setup.alerts.clone(), clock.now()));
        let jobs =
            setup.path.is_some().then(|| (Jobs::new(ProcessRunner { environment }), setup.jobs.clone()));
        let observers = Observers { metrics: metrics.clone(), alerting, jobs };
        let mut collector =
            Collector::new(open()?, purpose.retention(setup.keep_raw), observers, clock.clone());
        if let Some(path) = setup.path.as_deref().or(setup.alerts_path.as_deref()) {
            collector.keep_memory(memory_name(path));
        }
        let file = setup.path.clone().map(|path| (path, FileWatch::new(setup.files())));
        let pushes = setup.pushes.iter().map(|target| Push::start(open()?, target.clone()));
        let pushes = pushes.collect::<Result<Vec<_>, _>>()?;
        if let Some(metrics) = &metrics {
            metrics.put_pushes(pushes.iter().map(Push::counts).collect());
        }
        let sources = HashMap::new();
        let settings = SettingsReader::default();
        let mut new = Self {
            collector,
            sampling,
            purpose,
            metrics,
            pushes,
            sources,
            paused,
            file,
            until,
            settings,
            clock,
        };
        for source in setup.sources {
            let opened = opened(&source)?;
            new.add(source, opened)?;
        }
        Ok(new)
    }

    pub fn metrics(&self) -> Option<&Metrics<MachineClock>> {
        self.metrics.as_ref()
    }

    /// A handle to end it from any thread, such as a signal handler's.
    pub fn stopper(&self) -> Stopper {
        self.sampling.stopper()
    }

    /// Samples until stopped. Returns the number of samples stored.
    pub fn run(mut self, observer: CollectObserver<'_>) -> Result<u64, WatchError> {
        self.begin(observer)?;
        while self.turn(observer)? {}
        self.end(observer)
    }

    /// Takes up what the collector before this one left.
    pub(crate) fn begin(&mut self, observer: CollectObserver<'_>) -> Result<(), WatchError> {
        self.collector.begin(observer)
    }

    /// Waits for the next event, and does what is due. Whether there is more to come.
    pub(crate) fn turn(&mut self, observer: CollectObserver<'_>) -> Result<bool, WatchError> {
        if !self.collector.turn(&mut self.sampling, observer)? {
            return Ok(false);
        }
        self.look_at_file(observer)?;
        self.look_at_settings(observer)?;
        let events = self.pushes.iter().flat_map(Push::events);
        events.for_each(|event| observer(CollectEvent::Push(&event)));
        Ok(true)
    }

    /// Writes what is still to be written. Returns the number of samples stored.
    pub(crate) fn end(self, observer: CollectObserver<'_>) -> Result<u64, WatchError> {
        // Its threads end first: nobody takes their samples any more.
        drop(self.sampling);
        let count = self.collector.end(observer)?;
        for push in self.pushes {
            push.close().iter().for_each(|event| observer(CollectEvent::Push(event)));
        }
        Ok(count)
    }

    /// Stores the settings that were read since, and has the next ones read.
    fn look_at_settings(&mut self, observer: CollectObserver<'_>) -> Result<(), WatchError> {
        let now_ns = self.clock.now().clock_ns;
        let Self { settings, sources, collector, .. } = self;
        // A refused login is tried less and less often, and not once more for the settings: accounts get locked.
        let numbers = sources.keys().copied().filter(|number| collector.is_answering(*number));
        match settings.turn(numbers, now_ns, |number| opened(&sources[&number])) {
            // One that is gone meanwhile has nothing to be stored.
            Some(SettingsTurn::Read(number, read)) if sources.contains_key(&number) => {
                collector.put_settings(number, &read, observer)
            }
            Some(SettingsTurn::Late(number)) => {
                if let Some(source) = sources.get(&number) {
                    observer(CollectEvent::SettingsLate { source: &source.name, limit: LIMIT });
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Reads the settings of each source that has answered, one after the other, but for those that were read within the hour.
    pub(crate) fn read_settings(&mut self, observer: CollectObserver<'_>) -> Result<(), WatchError> {
        for (number, source) in &self.sources {
            if !self.collector.is_answering(*number) || self.collector.has_settings(*number)? {
                continue;
            }
            // What a source says while it fails is said where it is sampled.
            let Some(read) = read_within(opened(source), LIMIT) else {
                observer(CollectEvent::SettingsLate { source: &source.name, limit: LIMIT });
                continue;
            };
            let read = read.unwrap_or_default();
            if !read.is_empty() {
                self.collector.put_settings(*number, &read, observer)?;
            }
        }
        Ok(())
    }

    /// What is sampled now, or paused.
    pub(crate) fn sources(&self) -> impl Iterator<Item = &WatchedSource> {
        self.sources.values()
    }

    pub(crate) fn pause(&mut self, name: &str) {
        self.paused.insert(name.to_owned());
        let numbers: Vec<usize> = self.numbers_of(name).collect();
        for number in numbers {
            self.sampling.remove(number);
        }
    }

    pub(crate) fn resume(&mut self, name: &str) -> Result<(), WatchError> {
        self.paused.remove(name);
        let numbers: Vec<usize> = self.numbers_of(name).collect();
        for number in numbers {
            let source = self.sources[&number].clone();
            let opened = opened(&source)?;
            self.put(number, source, opened);
        }
        Ok(())
    }

    fn numbers_of<'a>(&'a self, name: &'a str) -> impl Iterator<Item = usize> + 'a {
        self.sources.iter().filter(move |(_, source)| source.name == name).map(|(number, _)| *number)
    }

    fn add(&mut self, source: WatchedSource, opened: Box<dyn Source>) -> Result<(), WatchError> {
        let number = self.collector.add(source.for_rules())?;
        self.pushes.iter().for_each(|push| push.add(PushSource::of(&source.name, &source.address)));
        self.put(number, source, opened);
        Ok(())
    }

    fn put(&mut self, number: usize, source: WatchedSource, opened: Box<dyn Source>) {
        self.settings.forget(number);
        if !self.paused.contains(&source.name) {
            let (interval, filter) = (source.interval, source.filter.clone());
            let (name, server) = (source.name.clone(), source.endpoint());
            let options = SamplerOptions { interval, until: self.until, filter };
            self.sampling.put(number, SetSource { source: opened, name, server, options });
        }
        self.sources.insert(number, source);
    }

    /// Does what the file says now, if it has changed. One that cannot be used changes nothing.
    fn look_at_file(&mut self, observer: CollectObserver<'_>) -> Result<(), WatchError> {
        let now_ns = self.clock.now().clock_ns;
        let Some((path, watch)) = &mut self.file else { return Ok(()) };
        if !watch.has_changed(now_ns) {
            return Ok(());
        }
        let path = path.clone();
        let read = CollectorSetup::read_for(&path, self.purpose).map_err(WatchError::from);
        let read = read.and_then(|setup| {
            let changes = self.changes(&setup)?;
            Ok((setup, changes))
        });
        match read {
            Err(error) => observer(CollectEvent::Refused(&error)),
            Ok((setup, changes)) => {
                self.apply(setup, changes, observer)?;
                observer(CollectEvent::Reloaded(&path));
            }
        }
        Ok(())
    }

    /// The sources of `setup` that are not sampled like this already, opened, with the number of the one that each replaces.
    fn changes(&self, setup: &CollectorSetup) -> Result<Vec<Change>, SourceError> {
        let mut changes = Vec::new();
        for source in &setup.sources {
            let known = self.sources.iter().find(|(_, known)| known.name == source.name);
            if known.is_none_or(|(_, known)| known != source) {
                changes.push((known.map(|(number, _)| *number), source.clone(), opened(source)?));
            }
        }
        Ok(changes)
    }

    fn apply(
        &mut self,
        setup: CollectorSetup,
        changes: Vec<Change>,
        observer: CollectObserver<'_>,
    ) -> Result<(), WatchError> {
        if let Some((_, watch)) = &mut self.file {
            watch.follow(setup.files());
        }
        let is_gone = |source: &WatchedSource| !setup.sources.iter().any(|one| one.name == source.name);
        let gone: Vec<usize> =
            self.sources.iter().filter(|(_, source)| is_gone(source)).map(|(number, _)| *number).collect();
        for number in gone {
            self.sampling.remove(number);
            self.settings.forget(number);
            self.sources.remove(&number);
            self.collector.retire(number, observer);
        }
        for (number, source, opened) in changes {
            match number {
                Some(number) => {
                    self.collector.update(number, source.for_rules());
                    self.put(number, source, opened);
                }
                None => self.add(source, opened)?,
            }
        }
        let retention = self.purpose.retention(setup.keep_raw);
        self.collector.replace(setup.alerts, setup.jobs, retention, observer)
    }
}

/// The name under which the state of the alerts in the file at `path` is kept. Another file has its own.
fn memory_name(path: &Path) -> String {
    let real = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    format!("{MEMORY}{}", real.display())
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use iostall_store::SqliteHistory;

    use super::*;

    fn setup(text: &str) -> CollectorSetup {
        CollectorSetup::parse(text, Path::new("collector.toml")).unwrap()
    }

    fn source(name: &str) -> String {
        format!("[[source]]\nname = \"{name}\"\nurl = \"linux:\"\ninterval = \"1h\"\n")
    }

    fn service(text: &str) -> (tempfile::TempDir, CollectorService<SqliteHistory>) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("store.db");
        let open = move || SqliteHistory::open(path.clone());
        let service = CollectorService::new(&open, setup(text), None, Vec::new()).unwrap();
        (directory, service)
    }

    #[test]
    fn a_source_that_is_gone_from_the_file_is_retired_and_the_others_go_on() {
        let head = "metrics = \"127.0.0.1:0\"\n";
        let (_directory, mut service) = service(&format!("{head}{}{}", source("old"), source("kept")));
        let names = |service: &CollectorService<SqliteHistory>| -> Vec<String> {
            service.metrics().unwrap().now().into_iter().map(|source| source.name).collect()
        };
        assert_eq!(names(&service), ["old", "kept"]);
        let later = setup(&format!("{head}{}{}", source("kept"), source("new")));
        let changes = service.changes(&later).unwrap();
        assert_eq!(changes.len(), 1, "what is sampled already stays as it is");
        service.apply(later, changes, &mut |_| ()).unwrap();
        assert_eq!(names(&service), ["kept", "new"]);
        service.stopper().stop();
    }

    #[test]
    fn there_are_metrics_only_where_an_address_for_them_is_given() {
        let (_directory, service) = service(&source("host"));
        assert!(service.metrics().is_none());
        service.stopper().stop();
    }

    #[test]
    fn raw_samples_are_kept_as_long_as_the_file_says() {
        let mut three_days = setup(&source("host"));
        three_days.keep_raw = Duration::from_secs(3 * 86_400);
        let kept = Purpose::Collect.retention(three_days.keep_raw);
        assert_eq!(kept.raw, jiff::SignedDuration::from_hours(72));
    }
}
