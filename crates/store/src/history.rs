//! What every history does: the samples of watched sources, what happened between them, and their roll-ups.

mod batch;
mod retention;
mod seams;
mod watched;

#[cfg(test)]
pub(crate) mod contract;

use std::sync::Arc;

use iostall_model::{Gap, Sample, Step, Tier, Warning};
use jiff::Timestamp;

use crate::error::StoreError;

pub use crate::batch_error::BatchError;
pub use crate::identity::{SeriesId, SourceId, StoreId};
pub(crate) use batch::Builder;
pub use batch::{Batch, RowColumns, SampleColumns, SeenWarning};
pub use retention::Retention;
pub use seams::Seams;
pub(crate) use seams::ceiling;
pub use watched::{Appended, ImportMark, RollupRow, Source, Watched};

/// A place where the history of watched sources is kept.
///
/// Every implementation passes the one contract suite of this crate. Each call is one transaction: what it adds is there
/// whole or not at all, and once it has returned survives a loss of power. Those that read give their answers one by one,
/// so that a year of samples needs no more memory than one; what they give is in the order it was taken.
pub trait History {
    /// What this store is called everywhere.
    fn id(&self) -> StoreId;

    /// The source of this store's own called `name`, which is made where it is not there.
    fn source(&mut self, name: &str) -> Result<Source, StoreError>;

    /// The sources that were ever watched, this store's own and those of others, by name.
    fn sources(&self) -> Result<Vec<Watched>, StoreError>;

    /// Keeps the sample of `step`, taken of a source of this store's own, and the roll-ups of the hours that it closes.
    ///
    /// What its rows did is taken from the step where that begins at the last sample here, and compared here where not:
    /// after a start, and where another process took a sample in between or one was lost. Its gaps are kept by
    /// [`History::add_gap`] as they come up.
    fn add_step(&mut self, source: SourceId, step: &Step) -> Result<(), StoreError>;

    /// Keeps a sample that nobody compared.
    fn add_sample(&mut self, source: SourceId, sample: Sample) -> Result<(), StoreError> {
        self.add_step(source, &Step::first(Arc::new(sample)))
    }

    /// Keeps that `gap` happened.
    fn add_gap(&mut self, source: SourceId, gap: &Gap) -> Result<(), StoreError>;

    /// Keeps `batch`, its source included: all of it, or nothing.
    ///
    /// Those that send batches of a source send them in the order of their numbers, and send one again until they have
    /// heard that it is there: a batch whose number is not above the last appended one changes nothing.
    fn append(&mut self, batch: &Batch) -> Result<Appended, StoreError>;

    /// The number of the last batch of `source` that was appended; 0 before the first.
    fn last_appended(&self, source: SourceId) -> Result<u64, StoreError>;

    /// What to send of `source` after the batch numbered `sequence`, of at most `samples_max` samples; `None`: there is
    /// nothing yet. The numbers are this store's own, whoever numbered what was appended to it.
    fn batch_after(
        &self,
        source: SourceId,
        sequence: u64,
        samples_max: u32,
    ) -> Result<Option<Batch>, StoreError>;

    /// Writes the roll-ups of what has been sampled so far, the open hour included.
    fn finish(&mut self) -> Result<(), StoreError>;

    /// Gives `each` what happened between every two samples, of every such step that lies in the window at least in part.
    fn intervals(
        &self,
        source: SourceId,
        from: Timestamp,
        to: Timestamp,
        each: &mut dyn FnMut(Step),
    ) -> Result<(), StoreError>;

    /// Gives `each` the roll-ups that begin in the window.
    fn rollups(
        &self,
        source: SourceId,
        tier: Tier,
        from: Timestamp,
        to: Timestamp,
        each: &mut dyn FnMut(RollupRow),
    ) -> Result<(), StoreError>;

    /// The newest sample.
    fn last_sample(&self, source: SourceId) -> Result<Option<Sample>, StoreError>;

    /// The gaps in the window.
    fn gaps(&self, source: SourceId, from: Timestamp, to: Timestamp) -> Result<Vec<Gap>, StoreError>;

    /// What `source` could not tell at some time in the window.
    fn warnings(&self, source: SourceId, from: Timestamp, to: Timestamp) -> Result<Vec<Warning>, StoreError>;

    /// Where days, hours and raw samples meet; `None`: raw samples hold all there is.
    fn seams(&self, source: SourceId) -> Result<Option<Seams>, StoreError>;

    /// How far an import came; `None` before the first one.
    fn import_mark(&self, source: SourceId) -> Result<Option<ImportMark>, StoreError>;

    /// Deletes what is older than `retention` allows, as of `now`.
    fn forget(&mut self, retention: &Retention, now: Timestamp) -> Result<(), StoreError>;

    /// Makes the roll-ups anew: hours wherever raw samples cover them, days wherever hours do. What is older than that
    /// stays as it is.
    fn rebuild(&mut self, source: SourceId) -> Result<(), StoreError>;

    /// Calls `read`, and lets no writer change what it sees meanwhile: roll-ups and samples fit together, and a second
    /// look shows the same.
    fn frozen<T>(&self, read: impl FnOnce() -> T) -> Result<T, StoreError>
    where
        Self: Sized;
}
