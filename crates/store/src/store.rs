//! Interface of a store for runs.

use iostall_model::{CapacityRecord, Run};

use crate::entry::{Entry, Filter, RunNumber};
use crate::error::StoreError;
use crate::selector::Selector;

#[derive(Clone, Debug, PartialEq)]
pub struct Stored {
    pub number: RunNumber,
    pub run: Run,
}

#[derive(Clone, Debug, PartialEq)]
pub struct StoredCapacity {
    pub number: RunNumber,
    pub record: CapacityRecord,
}

/// A store for runs.
///
/// Every implementation passes the contract suite of this crate. Each call is one transaction: a run is
/// stored completely or not at all, and the result of one call is consistent even while others write.
pub trait Store: Send {
    /// Stores `run` and returns its number. Once it returns, the run survives a loss of power.
    ///
    /// A run with an id that exists is refused with [`StoreError::Exists`]: a measurement is never
    /// overwritten.
    fn add(&mut self, run: &Run) -> Result<RunNumber, StoreError>;

    /// Stores `run` as [`Store::add`] does, or again if it is there and was not complete: a long run is stored while it goes on, and
    /// keeps its number. A complete one is refused.
    fn keep(&mut self, run: &Run) -> Result<RunNumber, StoreError>;

    fn find(&self, selector: &Selector) -> Result<Entry, StoreError>;

    fn get(&self, selector: &Selector) -> Result<Stored, StoreError>;

    /// The runs that match `filter`, newest first.
    fn list(&self, filter: &Filter) -> Result<Vec<Entry>, StoreError>;

    /// The stored document of a run: JSON text. It is not parsed, so that a run of a newer iostall can be
    /// exported too.
    fn export(&self, selector: &Selector) -> Result<String, StoreError>;

    /// Capacity records of the stored runs, newest run first, for the device with this key or kernel name, or
    /// for all.
    fn capacities(&self, device: Option<&str>, limit: Option<u32>)
    -> Result<Vec<StoredCapacity>, StoreError>;

    fn delete(&mut self, selector: &Selector) -> Result<Entry, StoreError>;

    fn last(&self) -> Result<Option<Entry>, StoreError> {
        Ok(self.list(&Filter { limit: Some(1), ..Filter::default() })?.pop())
    }
}
