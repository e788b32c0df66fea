//! What every store does.

use iostall_model::{CapacityRecord, Run};

use crate::entry::{Entry, Filter, RunNumber};
use crate::error::StoreError;
use crate::selector::Selector;

/// A run that came out of a store, with the number people know it by there.
#[derive(Clone, Debug, PartialEq)]
pub struct Stored {
    /// Its number in this store.
    pub number: RunNumber,
    /// The run.
    pub run: Run,
}

/// What a device gave, with the number of the run that says so.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredCapacity {
    /// The run's number in this store.
    pub number: RunNumber,
    /// What it gave.
    pub record: CapacityRecord,
}

/// A place where runs are kept.
///
/// Every implementation passes the one contract suite of this crate. Each call is one transaction: a
/// run is in the store whole or not at all, and what one call returns belongs together even while
/// others write.
pub trait Store: Send {
    /// Keeps `run` and returns its number. When it returns, the run survives a loss of power.
    ///
    /// A run that is there already (same id) is refused with [`StoreError::Exists`]: a measurement is never overwritten.
    fn add(&mut self, run: &Run) -> Result<RunNumber, StoreError>;

    /// The one run that `selector` names, as listings show it.
    fn find(&self, selector: &Selector) -> Result<Entry, StoreError>;

    /// The one run that `selector` names.
    fn get(&self, selector: &Selector) -> Result<Stored, StoreError>;

    /// The runs that `filter` lets through, newest first.
    fn list(&self, filter: &Filter) -> Result<Vec<Entry>, StoreError>;

    /// The document of the run that `selector` names, as it was stored: JSON text. It is not
    /// interpreted, so a run of a newer iostall can be exported too.
    fn export(&self, selector: &Selector) -> Result<String, StoreError>;

    /// What devices gave by the runs that are kept, newest run first: of the device with this key or kernel name, or of all.
    fn capacities(&self, device: Option<&str>, limit: Option<u32>)
    -> Result<Vec<StoredCapacity>, StoreError>;

    /// Removes the run that `selector` names and returns what it was.
    fn delete(&mut self, selector: &Selector) -> Result<Entry, StoreError>;

    /// The newest run; `None` in an empty store.
    fn last(&self) -> Result<Option<Entry>, StoreError> {
        Ok(self.list(&Filter { limit: Some(1), ..Filter::default() })?.pop())
    }
}
