//! The sources in a history.

use iostall_model::{Rollup, Subject};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::identity::{SourceId, StoreId};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    pub id: SourceId,
    /// The store that samples it. Two hosts may each have a source `linux:`.
    pub store: StoreId,
    pub name: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Watched {
    pub source: Source,
    pub first: Option<Timestamp>,
    pub last: Option<Timestamp>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImportMark {
    pub sample: i64,
    pub taken: Timestamp,
}

#[derive(Clone, Debug, PartialEq)]
pub struct RollupRow {
    pub beginning: Timestamp,
    pub subject: Subject,
    pub rollup: Rollup,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Appended {
    Added,
    /// It was there already; nothing changed.
    AlreadyThere,
    /// Another batch than was said is the last one; nothing changed.
    NotNext,
}
