//! The history of watched sources: raw samples as read, and roll-ups written with them.
//!
//! A sample is one row whose body holds what changed; every [`WHOLE_EVERY`]th holds everything, so that a
//! reader needs no more than that many bodies. One transaction takes a sample and the roll-ups that it closes:
//! a process that dies loses at most the sample in flight, and the roll-ups it had not written are made again
//! from the raw samples.

mod body;
mod bytes;
mod reader;
mod retention;
mod rollup_body;
mod seams;
mod series;
mod statements;
mod writer;

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use iostall_model::{Change, Moment, Rollup, Row, Subject, Warning};
use jiff::Timestamp;
use rusqlite::Connection;

use crate::error::StoreError;
use crate::sqlite::open_connection;

pub use retention::Retention;
pub use seams::Seams;

/// A body that holds every row comes after this many that hold only changes.
const WHOLE_EVERY: u32 = 64;

/// The number of a watched source in its store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SourceNumber(pub u32);

/// A watched source as listings show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Watched {
    /// Its number.
    pub number: SourceNumber,
    /// Its URL without login, password and transport.
    pub name: String,
    /// When the oldest raw sample was taken.
    pub first: Option<Timestamp>,
    /// When the newest was.
    pub last: Option<Timestamp>,
}

/// What happened between a sample and the one before it.
#[derive(Clone, Debug)]
pub struct Step {
    /// When the earlier one was taken.
    pub since: Moment,
    /// When the later one was taken.
    pub taken: Moment,
    /// Its rows, each with what it did since the earlier one.
    pub rows: Vec<(Row, Change)>,
}

/// Beats without a sample, as stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredGap {
    /// The first of them.
    pub at: Timestamp,
    /// How many.
    pub beats: u64,
    /// Why.
    pub reason: String,
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

/// The history of watched sources in a local store.
#[derive(Debug)]
pub struct WatchStore {
    path: PathBuf,
    connection: Connection,
    chains: HashMap<SourceNumber, writer::Chain>,
}

impl WatchStore {
    /// Opens the store at `path`, the same file that keeps the runs, and makes it where nothing is there.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, StoreError> {
        let path = path.into();
        let connection = open_connection(&path)?;
        Ok(Self { path, connection, chains: HashMap::new() })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// What a stored warning is.
fn warning_text(warning: &Warning) -> String {
    serde_json::to_string(warning).unwrap_or_default()
}

/// A body that cannot be read, as SQLite would say it.
fn damage(what: String) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(0, rusqlite::types::Type::Blob, what.into())
}

/// Nanoseconds since 1970, at most to the ends of the column: 1677 to 2262.
fn utc_ns(at: Timestamp) -> i64 {
    let end = if at < Timestamp::UNIX_EPOCH { i64::MIN } else { i64::MAX };
    i64::try_from(at.as_nanosecond()).unwrap_or(end)
}

fn from_utc_ns(ns: i64) -> Timestamp {
    Timestamp::from_nanosecond(i128::from(ns)).unwrap_or(Timestamp::UNIX_EPOCH)
}
