//! Where runs land: a local SQLite file, so that a number measured today can be found, compared and
//! exported next year.
//!
//! [`Store`] is what every store does; [`SqliteStore`] is the local one. The documents are
//! [`Run`](iostall_model::Run)s as JSON; beside each one stand the few columns that listings show and
//! filter by. What the file looks like is in `migrations/`, what is asked of it in `queries/`.

mod document;
mod entry;
mod error;
mod location;
mod selector;
mod sqlite;
mod store;
mod watch;

#[cfg(test)]
mod contract;
#[cfg(test)]
mod sample;

pub use document::DocumentError;
pub use entry::{Entry, Filter, RunNumber, Summary};
pub use error::StoreError;
pub use location::{default_path, default_path_in};
pub use selector::{FRAGMENT_DIGITS_MIN, Selector, SelectorError};
pub use sqlite::SqliteStore;
pub use store::{Store, Stored};
pub use watch::{
    ImportMark, Retention, RollupRow, Seams, SourceNumber, Step, StoredGap, WatchStore, Watched,
};
