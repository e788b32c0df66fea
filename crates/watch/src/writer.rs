//! Writes samples to the store, and handles times in which the store cannot be written.
//!
//! A collector runs for months, and its disk may be full for a night. Samples from that time are lost, but
//! the loss is recorded: as soon as there is space, it becomes a gap with the store's error as its reason.

use std::collections::{HashMap, HashSet};

use iostall_model::device::Placement;
use iostall_model::job::JobRun;
use iostall_model::{Gap, Setting, Step, Warning};
use iostall_store::{CollectorState, History, Retention, RunNumber, SourceId, StoreError, Stored};
use jiff::Timestamp;
use serde::de::DeserializeOwned;

use crate::confirmed::{Unconfirmed, held_back};
use crate::error::WatchError;
use crate::reported_volumes::put_reported;
use crate::settings::is_fresh;
use crate::state;

#[derive(Debug)]
pub enum WriterEvent<'a> {
    /// A source could not read something, reported once.
    Warning {
        source: &'a str,
        at: Timestamp,
        warning: &'a Warning,
    },
    Unwritable(StoreError),
    WritableAgain,
    /// Samples are older than they are kept, and no centre has confirmed them. Said once an hour at most.
    Unconfirmed(Unconfirmed),
}

pub(crate) type Observer<'o> = &'o mut dyn FnMut(WriterEvent<'_>);

pub(crate) struct SampleWriter<H> {
    store: H,
    pub(crate) samples: u64,
    names: HashMap<SourceId, String>,
    warned: HashSet<(SourceId, String)>,
    lost: HashMap<SourceId, Gap>,
    trouble: Option<String>,
}

impl<H: History + CollectorState> SampleWriter<H> {
    pub(crate) fn new(store: H) -> Self {
        let (names, warned, lost) = (HashMap::new(), HashSet::new(), HashMap::new());
        Self { store, samples: 0, names, warned, lost, trouble: None }
    }

    pub(crate) fn add_source(&mut self, name: &str) -> Result<SourceId, WatchError> {
        let id = self.store.source(name)?.id;
        self.names.insert(id, name.to_owned());
        Ok(id)
    }

    pub(crate) fn step(
        &mut self,
        source: SourceId,
        step: &Step,
        observer: Observer<'_>,
    ) -> Result<(), WatchError> {
        for warning in &step.sample.warnings {
            if self.warned.insert((source, warning.message.clone())) {
                let source = self.names.get(&source).map_or("", String::as_str);
                observer(WriterEvent::Warning { source, at: step.at(), warning });
            }
        }
        let kept = self.with_lost(source).and_then(|()| self.store.add_step(source, step));
        self.samples += u64::from(kept.is_ok());
        let reason = |error: &StoreError| format!("the sample could not be stored: {error}");
        let lost = |error: &StoreError| Gap { at: step.at(), missed: 1, reason: reason(error) };
        self.or_lost(kept, source, lost, observer)
    }

    pub(crate) fn gap(
        &mut self,
        source: SourceId,
        gap: &Gap,
        observer: Observer<'_>,
    ) -> Result<(), WatchError> {
        let kept = self.with_lost(source).and_then(|()| self.store.add_gap(source, gap));
        self.or_lost(kept, source, |_| gap.clone(), observer)
    }

    /// Deletes old history. If that is impossible now, the next call does it.
    pub(crate) fn forget(
        &mut self,
        retention: &Retention,
        now: Timestamp,
        observer: Observer<'_>,
    ) -> Result<(), WatchError> {
        let forgotten = held_back(&self.store, retention, now).and_then(|(held, unconfirmed)| {
            if let Some(unconfirmed) = unconfirmed {
                observer(WriterEvent::Unconfirmed(unconfirmed));
            }
            self.store.forget(&held, now)
        });
        match forgotten {
            Err(error) if error.may_pass() => self.say(error, observer),
            done => done?,
        }
        Ok(())
    }

    /// Stores a run of a job. If the store cannot be written, the record is lost.
    pub(crate) fn job_run(&mut self, run: &JobRun, observer: Observer<'_>) -> Result<(), WatchError> {
        match self.store.put_job_run(run) {
            Err(error) if error.may_pass() => self.say(error, observer),
            done => done?,
        }
        Ok(())
    }

    /// Keeps a document of the collector's. `false` if that cannot be done now.
    pub(crate) fn put_state(
        &mut self,
        name: &str,
        document: &str,
        observer: Observer<'_>,
    ) -> Result<bool, WatchError> {
        match self.store.put_state(name, document) {
            Err(error) if error.may_pass() => {
                self.say(error, observer);
                Ok(false)
            }
            done => Ok(done.map(|()| true)?),
        }
    }

    /// Keeps what the volumes of the source `name` are. Where that cannot be done now, it is kept when the source says it again.
    pub(crate) fn put_placements(
        &mut self,
        name: &str,
        placements: &[Placement],
        observer: Observer<'_>,
    ) -> Result<(), WatchError> {
        match put_reported(&mut self.store, name, placements) {
            Err(error) if error.may_pass() => self.say(error, observer),
            done => done?,
        }
        Ok(())
    }

    /// Stores the settings of a source. Where that cannot be done now, the next reading does it.
    pub(crate) fn settings(
        &mut self,
        source: SourceId,
        at: Timestamp,
        settings: &[Setting],
        observer: Observer<'_>,
    ) -> Result<(), WatchError> {
        match self.store.put_settings(source, at, settings) {
            Err(error) if error.may_pass() => self.say(error, observer),
            done => done?,
        }
        Ok(())
    }

    /// Whether the settings of a source were read within the hour before `now`.
    pub(crate) fn has_settings(&self, source: SourceId, now: Timestamp) -> Result<bool, WatchError> {
        Ok(self.store.settings_read(source)?.is_some_and(|read| is_fresh(read, now)))
    }

    pub(crate) fn state<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>, WatchError> {
        Ok(state::read(&self.store, name)?)
    }

    pub(crate) fn job_runs(&self, job: &str, most: u32) -> Result<Vec<JobRun>, WatchError> {
        Ok(self.store.job_runs(job, most)?)
    }

    pub(crate) fn runs_after(&self, kind: &str, after: Option<RunNumber>) -> Result<Vec<Stored>, StoreError> {
        self.store.runs_after(kind, after)
    }

    pub(crate) fn finish(&mut self) -> Result<(), WatchError> {
        Ok(self.store.finish()?)
    }

    fn with_lost(&mut self, source: SourceId) -> Result<(), StoreError> {
        if let Some(gap) = self.lost.get(&source) {
            self.store.add_gap(source, gap)?;
            self.lost.remove(&source);
        }
        Ok(())
    }

    /// Remembers what was not stored, if the error may go away.
    fn or_lost(
        &mut self,
        kept: Result<(), StoreError>,
        source: SourceId,
        gap: impl FnOnce(&StoreError) -> Gap,
        observer: Observer<'_>,
    ) -> Result<(), WatchError> {
        match kept {
            Ok(()) => {
                if self.trouble.take().is_some() {
                    observer(WriterEvent::WritableAgain);
                }
                Ok(())
            }
            Err(error) if error.may_pass() => {
                let gap = gap(&error);
                let missed = gap.missed;
                let lost = self.lost.entry(source).or_insert(Gap { missed: 0, ..gap });
                lost.missed = lost.missed.saturating_add(missed);
                self.say(error, observer);
                Ok(())
            }
            Err(error) => Err(error.into()),
        }
    }

    fn say(&mut self, error: StoreError, observer: Observer<'_>) {
        let message = error.to_string();
        if self.trouble.as_ref() != Some(&message) {
            observer(WriterEvent::Unwritable(error));
            self.trouble = Some(message);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use iostall_model::{Epoch, Sample, SampleTime, WarningCode};
    use iostall_store::SqliteHistory;

    use super::*;

    /// "warning: track_io_timing is off", of which of fifty servers?
    #[test]
    fn a_warning_names_its_source_and_its_time_once() {
        let directory = tempfile::tempdir().unwrap();
        let mut writer = SampleWriter::new(SqliteHistory::open(directory.path().join("s.db")).unwrap());
        let ids = ["db1", "db2"].map(|name| writer.add_source(name).unwrap());
        let at: Timestamp = "2026-03-01T10:00:00Z".parse().unwrap();
        let step = Step::first(Arc::new(Sample {
            taken: SampleTime { utc: at, clock: "c".into(), clock_ns: 1 },
            epoch: Epoch::default(),
            rows: Vec::new(),
            warnings: vec![Warning::new(WarningCode::NotCounted, "it is off")],
        }));
        let mut said = Vec::new();
        for id in ids.into_iter().chain(ids) {
            let mut observer = |event: WriterEvent<'_>| {
                if let WriterEvent::Warning { source, at, .. } = event {
                    said.push((source.to_owned(), at));
                }
            };
            writer.step(id, &step, &mut observer).unwrap();
        }
        assert_eq!(said, [("db1".to_owned(), at), ("db2".to_owned(), at)]);
    }
}
