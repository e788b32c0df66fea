//! The sources in a history.

use iostall_model::{Rollup, Subject};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::identity::{SourceId, StoreId};

/// A watched source, as known to every store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    pub id: SourceId,
    /// The store that samples it. Two hosts may each have a source `linux:`.
    pub store: StoreId,
    /// Its URL without login, password and transport.
    pub name: String,
}

/// A watched source in listings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Watched {
    pub source: Source,
    /// When the oldest raw sample was taken.
    pub first: Option<Timestamp>,
    pub last: Option<Timestamp>,
}

/// How far an import from another database got.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImportMark {
    /// Number of the last sample in that database.
    pub sample: i64,
    /// The latest time among the samples.
    pub taken: Timestamp,
}

/// One hour or day of one subject.
#[derive(Clone, Debug, PartialEq)]
pub struct RollupRow {
    /// When the hour or day began.
    pub beginning: Timestamp,
    /// Under its current name.
    pub subject: Subject,
    /// Sums, maxima, distributions.
    pub rollup: Rollup,
}

/// The result of an append.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Appended {
    /// The batch was added.
    Added,
    /// It was there already; nothing changed.
    AlreadyThere,
    /// Another batch than was said is the last one; nothing changed.
    NotNext,
}
