//! Where history is sent to: another store, or the centre of a fleet.

use iostall_model::RunId;
use iostall_model::device::Placement;
use iostall_store::{
    Appended, Batch, History, PostgresHistory, RunMark, RunPut, SentRun, SentSheet, SheetMark, SheetPut,
    SourceId, StoreError, StoreId,
};
use jiff::Timestamp;

use crate::error::WatchError;

/// How much of a source a destination has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Known {
    /// The number of the last batch that was appended; 0 if there is none.
    pub appended: u64,
    /// When the newest sample was taken.
    pub newest: Option<Timestamp>,
}

/// What [`send_history`](crate::send_history) needs of a destination.
pub trait Destination {
    /// Begins to send what `store` has. A word for people, if there is one to say.
    fn begin(&mut self, _store: StoreId) -> Result<Option<String>, WatchError> {
        Ok(None)
    }

    /// What it is called where the store remembers what it has confirmed; `None` if the store remembers nothing of it.
    fn remembered_as(&self) -> Option<&str> {
        None
    }

    /// How much of `source` is there.
    fn known(&mut self, source: SourceId) -> Result<Known, WatchError>;

    /// Stores the batch that follows the one numbered `after`, completely or not at all. Twice is once; nothing is stored if another one
    /// is the last there.
    fn append(&mut self, after: u64, batch: &Batch) -> Result<Appended, WatchError>;

    /// Notes which devices are under the volumes of `source` now; what is not there any more ends. `source` is there.
    fn place(&mut self, source: SourceId, placements: &[Placement]) -> Result<(), WatchError>;

    /// Which of these runs of `store` are not there as they are now; `None` if it takes no runs, as an older centre.
    fn lacking_runs(&mut self, store: StoreId, marks: &[RunMark]) -> Result<Option<Vec<RunId>>, WatchError>;

    /// Stores a run of `store`. Twice is once.
    fn put_run(&mut self, store: StoreId, run: &SentRun) -> Result<RunPut, WatchError>;

    /// Which of these sheets of `store` are not there as they are now; `None` if it takes none, as an older centre.
    fn lacking_sheets(
        &mut self,
        store: StoreId,
        marks: &[SheetMark],
    ) -> Result<Option<Vec<SheetMark>>, WatchError>;

    /// Stores a sheet of `store`. Twice is once.
    fn put_sheet(&mut self, store: StoreId, sheet: &SentSheet) -> Result<SheetPut, WatchError>;

    /// Has it write what it holds back.
    fn finish(&mut self) -> Result<(), WatchError>;
}

impl Destination for PostgresHistory {
    fn begin(&mut self, store: StoreId) -> Result<Option<String>, WatchError> {
        self.lock_sender(store).map_err(StoreError::from)?;
        Ok(None)
    }

    fn known(&mut self, source: SourceId) -> Result<Known, WatchError> {
        known_in(self, source)
    }

    fn append(&mut self, after: u64, batch: &Batch) -> Result<Appended, WatchError> {
        Ok(self.append_after(after, batch)?)
    }

    fn place(&mut self, source: SourceId, placements: &[Placement]) -> Result<(), WatchError> {
        Ok(Self::place(self, source, placements)?)
    }

    fn lacking_runs(&mut self, store: StoreId, marks: &[RunMark]) -> Result<Option<Vec<RunId>>, WatchError> {
        Ok(Some(Self::lacking_runs(self, store, marks).map_err(StoreError::from)?))
    }

    fn put_run(&mut self, store: StoreId, run: &SentRun) -> Result<RunPut, WatchError> {
        Ok(Self::put_run(self, store, run).map_err(StoreError::from)?)
    }

    fn lacking_sheets(
        &mut self,
        store: StoreId,
        marks: &[SheetMark],
    ) -> Result<Option<Vec<SheetMark>>, WatchError> {
        Ok(Some(Self::lacking_sheets(self, store, marks).map_err(StoreError::from)?))
    }

    fn put_sheet(&mut self, store: StoreId, sheet: &SentSheet) -> Result<SheetPut, WatchError> {
        Ok(Self::put_sheet(self, store, sheet)?)
    }

    fn finish(&mut self) -> Result<(), WatchError> {
        Ok(History::finish(self)?)
    }
}

/// How much of `source` a history has.
fn known_in(history: &impl History, source: SourceId) -> Result<Known, WatchError> {
    let appended = match history.last_appended(source) {
        Err(StoreError::NoSource { .. }) => return Ok(Known::default()),
        known => known?,
    };
    // Only what was appended has a number to compare with.
    let newest = if appended == 0 { None } else { history.last_sample(source)? };
    Ok(Known { appended, newest: newest.map(|sample| sample.taken.utc) })
}

/// Another store, for tests: it knows nothing of devices and of other stores' runs.
#[cfg(test)]
impl Destination for iostall_store::SqliteHistory {
    fn known(&mut self, source: SourceId) -> Result<Known, WatchError> {
        known_in(self, source)
    }

    fn append(&mut self, _: u64, batch: &Batch) -> Result<Appended, WatchError> {
        Ok(History::append(self, batch)?)
    }

    fn place(&mut self, _: SourceId, _: &[Placement]) -> Result<(), WatchError> {
        Ok(())
    }

    fn lacking_runs(&mut self, _: StoreId, _: &[RunMark]) -> Result<Option<Vec<RunId>>, WatchError> {
        Ok(None)
    }

    fn put_run(&mut self, _: StoreId, _: &SentRun) -> Result<RunPut, WatchError> {
        Ok(RunPut::AlreadyThere)
    }

    fn lacking_sheets(&mut self, _: StoreId, _: &[SheetMark]) -> Result<Option<Vec<SheetMark>>, WatchError> {
        Ok(None)
    }

    fn put_sheet(&mut self, _: StoreId, _: &SentSheet) -> Result<SheetPut, WatchError> {
        Ok(SheetPut::AlreadyThere)
    }

    fn finish(&mut self) -> Result<(), WatchError> {
        Ok(History::finish(self)?)
    }
}
