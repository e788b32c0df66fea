//! Where history is sent to: another store, or the centre of a fleet.

use iostall_store::{Appended, Batch, History, SourceId, StoreError};
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
    /// Begins to send. A word for people, if there is one to say.
    fn begin(&mut self) -> Result<Option<String>, WatchError> {
        Ok(None)
    }

    /// What it is called where the store remembers what it has confirmed; `None` if the store remembers nothing of it.
    fn remembered_as(&self) -> Option<&str> {
        None
    }

    /// How much of `source` is there.
    fn known(&mut self, source: SourceId) -> Result<Known, WatchError>;

    /// Stores the batch that follows the one numbered `after`, completely or not at all. Twice is once.
    fn append(&mut self, after: u64, batch: &Batch) -> Result<Appended, WatchError>;

    /// Has it write what it holds back.
    fn finish(&mut self) -> Result<(), StoreError>;
}

impl<H: History> Destination for H {
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

    fn finish(&mut self) -> Result<(), StoreError> {
        History::finish(self)
    }
}
