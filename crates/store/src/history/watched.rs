//! What a history holds of its sources.

use iostall_model::{Rollup, Subject};
use jiff::Timestamp;

use crate::identity::{SourceId, StoreId};

/// A watched source as every store knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// What it is called everywhere.
    pub id: SourceId,
    /// The store that it is sampled into. Two hosts may each have a source `linux:`.
    pub store: StoreId,
    /// Its URL without login, password and transport.
    pub name: String,
}

/// A watched source as listings show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Watched {
    /// What it is called.
    pub source: Source,
    /// When the oldest raw sample was taken.
    pub first: Option<Timestamp>,
    /// When the newest was.
    pub last: Option<Timestamp>,
}

/// How far the history of another database has been taken over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImportMark {
    /// The number that the last sample has there.
    pub sample: i64,
    /// The latest time among the samples.
    pub taken: Timestamp,
}

/// One hour or day of one thing.
#[derive(Clone, Debug, PartialEq)]
pub struct RollupRow {
    /// When the hour or day began.
    pub beginning: Timestamp,
    /// What it is about, as it is called now.
    pub subject: Subject,
    /// Sums, maxima, distributions.
    pub rollup: Rollup,
}

/// What an append did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Appended {
    /// The batch is there now.
    Added,
    /// It was there before, and nothing changed.
    AlreadyThere,
}
