//! Where history is sent to: the centre of a fleet.

use iostall_model::RunId;
use iostall_model::device::Placement;
use iostall_store::{Appended, Batch, RunMark, RunPut, SentRun, SentSheet, SheetMark, SheetPut, SourceId};
use jiff::Timestamp;

use crate::error::WatchError;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Known {
    /// The number of the last batch that was appended; 0 if there is none.
    pub appended: u64,
    pub newest: Option<Timestamp>,
}

pub trait Destination {
    /// Begins to send. A word for people, if there is one to say.
    fn begin(&mut self) -> Result<Option<String>, WatchError> {
        Ok(None)
    }

    /// What it is called where the store remembers what it has confirmed; `None` if the store remembers nothing of it.
    fn remembered_as(&self) -> Option<&str> {
        None
    }

    fn known(&mut self, source: SourceId) -> Result<Known, WatchError>;

    /// Stores the batch that follows the one numbered `after`, completely or not at all. Twice is once; nothing is stored if another one
    /// is the last there.
    fn append(&mut self, after: u64, batch: &Batch) -> Result<Appended, WatchError>;

    /// Notes which devices are under the volumes of `source` now; what is not there any more ends. `source` is there.
    fn place(&mut self, source: SourceId, placements: &[Placement]) -> Result<(), WatchError>;

    /// Which of these runs are not there as they are now; `None` if it takes no runs, as an older centre.
    fn lacking_runs(&mut self, marks: &[RunMark]) -> Result<Option<Vec<RunId>>, WatchError>;

    /// Stores a run. Twice is once.
    fn put_run(&mut self, run: &SentRun) -> Result<RunPut, WatchError>;

    /// Which of these sheets are not there as they are now; `None` if it takes none, as an older centre.
    fn lacking_sheets(&mut self, marks: &[SheetMark]) -> Result<Option<Vec<SheetMark>>, WatchError>;

    /// Stores a sheet. Twice is once.
    fn put_sheet(&mut self, sheet: &SentSheet) -> Result<SheetPut, WatchError>;
}

/// Another store, for tests: it knows nothing of devices and of other stores' runs.
#[cfg(test)]
mod of_tests {
    use iostall_store::{History, SqliteHistory, StoreError};

    use super::*;

    impl Destination for SqliteHistory {
        fn known(&mut self, source: SourceId) -> Result<Known, WatchError> {
            let appended = match self.last_appended(source) {
                Err(StoreError::NoSource { .. }) => return Ok(Known::default()),
                known => known?,
            };
            // Only what was appended has a number to compare with.
            let newest = if appended == 0 { None } else { self.last_sample(source)? };
            Ok(Known { appended, newest: newest.map(|sample| sample.taken.utc) })
        }

        fn append(&mut self, _: u64, batch: &Batch) -> Result<Appended, WatchError> {
            Ok(History::append(self, batch)?)
        }

        fn place(&mut self, _: SourceId, _: &[Placement]) -> Result<(), WatchError> {
            Ok(())
        }

        fn lacking_runs(&mut self, _: &[RunMark]) -> Result<Option<Vec<RunId>>, WatchError> {
            Ok(None)
        }

        fn put_run(&mut self, _: &SentRun) -> Result<RunPut, WatchError> {
            Ok(RunPut::AlreadyThere)
        }

        fn lacking_sheets(&mut self, _: &[SheetMark]) -> Result<Option<Vec<SheetMark>>, WatchError> {
            Ok(None)
        }

        fn put_sheet(&mut self, _: &SentSheet) -> Result<SheetPut, WatchError> {
            Ok(SheetPut::AlreadyThere)
        }
    }
}
