//! Interface of a history: samples of watched sources, the intervals between them, and their roll-ups.

mod batch;
pub(crate) mod company;
mod pending;
mod utc_ns;
mod watched;
mod wire;

#[cfg(test)]
pub(crate) mod contract;

use std::collections::HashMap;
use std::sync::Arc;

use iostall_model::{Gap, Note, Sample, SettingVersion, Step, Subject, Tier, Warning};
use jiff::{SignedDuration, Timestamp};

use crate::collector_state::SettingsRead;
use crate::error::StoreError;

pub use crate::error::BatchError;
pub use crate::identity::{SeriesId, SourceId, StoreId};
pub(crate) use batch::Builder;
pub use batch::{Batch, RowColumns, SampleColumns, SeenWarning};
pub(crate) use pending::{Pending, changes_since};
pub(crate) use utc_ns::{from_utc_ns, utc_ns};
pub use watched::{Appended, ImportMark, RollupRow, Source, Watched};
pub use wire::{BODY_BYTES_MAX, WireError};

/// A store for the history of watched sources.
///
/// Every implementation passes the contract suite of this crate. Each call is one transaction: what it adds
/// is there completely or not at all, and once it returns survives a loss of power. Readers return their
/// results one by one, in the order in which they were taken, so that a year of samples needs no more memory
/// than one.
pub trait History {
    fn id(&self) -> StoreId;

    fn source(&mut self, name: &str) -> Result<Source, StoreError>;

    /// All sources ever watched, those of other stores included, by name.
    fn sources(&self) -> Result<Vec<Watched>, StoreError>;

    /// Stores the sample in `step`, taken from one of this store's own sources, and the roll-ups of the hours
    /// that it closes.
    ///
    /// The changes come from the step if it starts at the last stored sample. Otherwise they are computed
    /// here: after a start, after another process took a sample in between, or after a lost one. Gaps are
    /// added separately by
    /// [`History::add_gap`].
    fn add_step(&mut self, source: SourceId, step: &Step) -> Result<(), StoreError>;

    fn add_sample(&mut self, source: SourceId, sample: Sample) -> Result<(), StoreError> {
        self.add_step(source, &Step::first(Arc::new(sample)))
    }

    fn add_gap(&mut self, source: SourceId, gap: &Gap) -> Result<(), StoreError>;

    /// Stores `batch` with its source, completely or not at all.
    ///
    /// Senders send the batches of a source in the order of their numbers, and repeat one until it is
    /// confirmed: a batch whose number is not above the last appended one changes nothing.
    fn append(&mut self, batch: &Batch) -> Result<Appended, StoreError>;

    /// 0 if nothing was appended.
    fn last_appended(&self, source: SourceId) -> Result<u64, StoreError>;

    /// The next batch of `source` after the one numbered `sequence`, with at most `samples_max` samples;
    /// `None` if there is nothing to send yet. The numbers are this store's own, also for data that was
    /// appended to it.
    fn batch_after(
        &self,
        source: SourceId,
        sequence: u64,
        samples_max: u32,
    ) -> Result<Option<Batch>, StoreError>;

    /// Number of the last sample taken up to `at`, as [`History::batch_after`] counts; that of the first sample if all are later,
    /// and 0 if there is none.
    fn sample_before(&self, source: SourceId, at: Timestamp) -> Result<u64, StoreError>;

    /// Writes the roll-ups of everything sampled so far, including the current hour.
    fn finish(&mut self) -> Result<(), StoreError>;

    /// Calls `each` for every interval between two samples that overlaps the window.
    fn intervals(
        &self,
        source: SourceId,
        from: Timestamp,
        to: Timestamp,
        each: &mut dyn FnMut(Step),
    ) -> Result<(), StoreError>;

    fn rollups(
        &self,
        source: SourceId,
        tier: Tier,
        from: Timestamp,
        to: Timestamp,
        each: &mut dyn FnMut(RollupRow),
    ) -> Result<(), StoreError>;

    fn last_sample(&self, source: SourceId) -> Result<Option<Sample>, StoreError>;

    fn gaps(&self, source: SourceId, from: Timestamp, to: Timestamp) -> Result<Vec<Gap>, StoreError>;

    fn warnings(&self, source: SourceId, from: Timestamp, to: Timestamp) -> Result<Vec<Warning>, StoreError>;

    /// What was done in the window about `source`, and about all of them: what was noted, changes of settings, and the runs and jobs
    /// of iostall's own that are in the same store. In a repository runs and jobs are not among them.
    fn notes(&self, source: SourceId, from: Timestamp, to: Timestamp) -> Result<Vec<Note>, StoreError>;

    /// The settings of `source` that held at some time between the two, both included, by subject and name, in order of time.
    fn settings(
        &self,
        source: SourceId,
        from: Timestamp,
        to: Timestamp,
    ) -> Result<Vec<SettingVersion>, StoreError>;

    /// When the settings of `source` were read; `None` if they never were.
    fn settings_read(&self, source: SourceId) -> Result<Option<SettingsRead>, StoreError>;

    /// Where days, hours and raw samples meet; `None` if raw samples cover everything.
    fn seams(&self, source: SourceId) -> Result<Option<Seams>, StoreError>;

    fn import_mark(&self, source: SourceId) -> Result<Option<ImportMark>, StoreError>;

    fn forget(&mut self, retention: &Retention, now: Timestamp) -> Result<(), StoreError>;

    /// Removes a source with everything known about it. A collector that still watches it fails at its next
    /// sample.
    fn remove(&mut self, source: SourceId) -> Result<(), StoreError>;

    /// Rebuilds the roll-ups: hours wherever raw samples cover them, days wherever hours do. Older ones stay
    /// as they are.
    fn rebuild(&mut self, source: SourceId) -> Result<(), StoreError>;

    /// Calls `read` on a consistent snapshot: roll-ups and samples match, and a second look shows the same.
    fn frozen<T>(&self, read: impl FnOnce() -> T) -> Result<T, StoreError>
    where
        Self: Sized;
}

/// How long each tier is kept. Raw samples are deleted only once they are rolled up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retention {
    pub raw: SignedDuration,
    /// Hourly roll-ups, deleted a day at a time.
    pub hours: SignedDuration,
    /// Daily roll-ups; `None` keeps them forever.
    pub days: Option<SignedDuration>,
}

impl Default for Retention {
    /// Two weeks of raw samples, two years of hours, days forever.
    fn default() -> Self {
        Self {
            raw: SignedDuration::from_hours(14 * 24),
            hours: SignedDuration::from_hours(2 * 366 * 24),
            days: None,
        }
    }
}

/// Which tier to read for each time, so that nothing is missing or counted twice: days before `days_until`,
/// then hours before `hours_until`, then raw samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seams {
    /// A midnight, or the end of all roll-ups; [`Timestamp::MIN`] while every hour is kept.
    pub days_until: Timestamp,
    /// At or after `days_until`. A full hour, or the end of all roll-ups.
    pub hours_until: Timestamp,
}

impl Seams {
    /// For hours kept since `hours_from`, raw samples since `first`, and roll-ups up to `end`.
    ///
    /// Raw samples take over from roll-ups at their first full hour. If they do not reach back that far, they
    /// take over at the last sample in the roll-ups, which may be within an hour.
    pub(crate) fn between(hours_from: Timestamp, first: Timestamp, end: Timestamp) -> Self {
        let hours_until = ceiling(Tier::Hour, first).min(end);
        if hours_from <= hours_until {
            return Self { days_until: hours_from, hours_until };
        }
        // If the source ended long ago, or raw samples are kept longer than hours, there are no hours left:
        // the day of the first raw sample counts as a whole.
        let edge = ceiling(Tier::Day, hours_until).min(end);
        Self { days_until: edge, hours_until: edge }
    }
}

/// Start of the first hour or day that lies entirely at or after `at`.
pub(crate) fn ceiling(tier: Tier, at: Timestamp) -> Timestamp {
    let floor = tier.floor(at);
    if floor == at { at } else { floor.checked_add(SignedDuration::from_secs(tier.seconds())).unwrap_or(at) }
}

/// See the module. Each number has one current subject. An earlier name leads nowhere, so that a subject
/// which gets it back is stored again.
#[derive(Debug, Default)]
pub(crate) struct Series {
    numbers: HashMap<Subject, u32>,
    subjects: HashMap<u32, Subject>,
}

impl Series {
    pub(crate) fn of(subjects: HashMap<u32, Subject>) -> Self {
        let numbers = subjects.iter().map(|(number, subject)| (subject.clone(), *number)).collect();
        Self { numbers, subjects }
    }

    /// The number of `subject`, if its stored name is current.
    pub(crate) fn number(&self, subject: &Subject) -> Option<u32> {
        self.numbers.get(subject).copied()
    }

    pub(crate) fn put(&mut self, number: u32, subject: Subject) {
        if let Some(earlier) = self.subjects.insert(number, subject.clone()) {
            self.numbers.remove(&earlier);
        }
        self.numbers.insert(subject, number);
    }
}
