//! The history of watched sources: raw samples as read, and roll-ups written with them.
//!
//! A sample is one row whose body holds what changed; every [`writer::WHOLE_EVERY`]th holds everything, so that a
//! reader needs no more than that many bodies. One transaction takes a sample and the roll-ups that it closes:
//! a process that dies loses at most the sample in flight, and the roll-ups it had not written are made again
//! from the raw samples.

mod body;
mod bytes;
mod collector_state;
mod columns;
mod file;
#[cfg(feature = "fuzzing")]
pub(crate) mod fuzzing;
mod notes;
mod reader;
mod retention;
mod rollup_body;
mod runs;
mod settings;
mod sheets;
mod sources;
mod statements;
mod writer;

#[cfg(test)]
mod tests;

use iostall_model::{Gap, Note, Sample, SettingVersion, Step, Tier, Warning};
use jiff::Timestamp;

use crate::collector_state::SettingsRead;
use crate::error::StoreError;
use crate::history::{
    Appended, Batch, History, ImportMark, Retention, RollupRow, Seams, Source, SourceId, StoreId, Watched,
};
use crate::sqlite::fault;

pub use file::SqliteHistory;

use columns::{SourceNumber, damage, from_utc_ns, utc_ns};

impl History for SqliteHistory {
    fn id(&self) -> StoreId {
        self.id
    }

    fn source(&mut self, name: &str) -> Result<Source, StoreError> {
        let (number, source) = self.own_source(name)?;
        self.resume_if_closed(number)?;
        Ok(source)
    }

    fn sources(&self) -> Result<Vec<Watched>, StoreError> {
        sources::list(&self.connection).map_err(fault(&self.path, "read"))
    }

    fn add_step(&mut self, source: SourceId, step: &Step) -> Result<(), StoreError> {
        self.add_step_of(self.number(source)?, step)
    }

    fn add_gap(&mut self, source: SourceId, gap: &Gap) -> Result<(), StoreError> {
        self.add_gap_of(self.number(source)?, gap)
    }

    fn append(&mut self, batch: &Batch) -> Result<Appended, StoreError> {
        let whole = || Ok((batch.number()?, batch.to_samples()?));
        let (number, samples) = whole().map_err(|source| StoreError::Batch { source })?;
        self.append_batch(batch, number, samples)
    }

    fn last_appended(&self, source: SourceId) -> Result<u64, StoreError> {
        let number = self.number(source)?;
        let last = sources::last_appended(&self.connection, number).map_err(fault(&self.path, "read"))?;
        Ok(last.cast_unsigned())
    }

    fn batch_after(
        &self,
        source: SourceId,
        sequence: u64,
        samples_max: u32,
    ) -> Result<Option<Batch>, StoreError> {
        self.frozen(|| self.batch_of(source, sequence, samples_max))?
    }

    fn sample_before(&self, source: SourceId, at: Timestamp) -> Result<u64, StoreError> {
        self.sample_number_before(self.number(source)?, at)
    }

    fn finish(&mut self) -> Result<(), StoreError> {
        self.write_rollups()
    }

    fn intervals(
        &self,
        source: SourceId,
        from: Timestamp,
        to: Timestamp,
        each: &mut dyn FnMut(Step),
    ) -> Result<(), StoreError> {
        self.intervals_of(self.number(source)?, from, to, each)
    }

    fn rollups(
        &self,
        source: SourceId,
        tier: Tier,
        from: Timestamp,
        to: Timestamp,
        each: &mut dyn FnMut(RollupRow),
    ) -> Result<(), StoreError> {
        self.rollups_of(self.number(source)?, tier, from, to, each)
    }

    fn last_sample(&self, source: SourceId) -> Result<Option<Sample>, StoreError> {
        self.last_sample_of(self.number(source)?)
    }

    fn gaps(&self, source: SourceId, from: Timestamp, to: Timestamp) -> Result<Vec<Gap>, StoreError> {
        self.gaps_of(self.number(source)?, from, to)
    }

    fn warnings(&self, source: SourceId, from: Timestamp, to: Timestamp) -> Result<Vec<Warning>, StoreError> {
        let seen = self.warnings_of(self.number(source)?, from, to)?;
        Ok(seen.into_iter().map(|seen| seen.warning).collect())
    }

    fn notes(&self, source: SourceId, from: Timestamp, to: Timestamp) -> Result<Vec<Note>, StoreError> {
        self.notes_of(self.number(source)?, from, to)
    }

    fn settings(
        &self,
        source: SourceId,
        from: Timestamp,
        to: Timestamp,
    ) -> Result<Vec<SettingVersion>, StoreError> {
        self.settings_of(self.number(source)?, from, to)
    }

    fn settings_read(&self, source: SourceId) -> Result<Option<SettingsRead>, StoreError> {
        self.settings_read_of(self.number(source)?)
    }

    fn seams(&self, source: SourceId) -> Result<Option<Seams>, StoreError> {
        self.seams_of(self.number(source)?)
    }

    fn import_mark(&self, source: SourceId) -> Result<Option<ImportMark>, StoreError> {
        self.import_mark_of(self.number(source)?)
    }

    fn forget(&mut self, retention: &Retention, now: Timestamp) -> Result<(), StoreError> {
        self.forget_old(retention, now)
    }

    fn remove(&mut self, source: SourceId) -> Result<(), StoreError> {
        self.remove_source(self.number(source)?)
    }

    fn rebuild(&mut self, source: SourceId) -> Result<(), StoreError> {
        self.rebuild_of(self.number(source)?)
    }

    fn frozen<T>(&self, read: impl FnOnce() -> T) -> Result<T, StoreError> {
        let all = || {
            let transaction = self.connection.unchecked_transaction()?;
            let out = read();
            transaction.rollback()?;
            Ok(out)
        };
        all().map_err(fault(&self.path, "read"))
    }
}
