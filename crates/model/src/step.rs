//! A sample, and what happened since the one before.

use std::sync::Arc;

use jiff::Timestamp;

use crate::delta::{self, Change};
use crate::gap::Gap;
use crate::sample::{Row, Sample, SampleTime};

/// One sample of a source, compared once: history, alerts, metrics and views all take what is in here.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// When the sample before was taken; `None` where none is known.
    pub since: Option<SampleTime>,
    /// The sample.
    pub sample: Arc<Sample>,
    /// What each of its rows did since then, in their order; empty where nothing is known to compare with.
    pub changes: Vec<Change>,
    /// What is missing since then.
    pub gaps: Vec<Gap>,
}

impl Step {
    /// A sample that is compared with none.
    pub fn first(sample: Arc<Sample>) -> Self {
        Self { since: None, sample, changes: Vec::new(), gaps: Vec::new() }
    }

    /// From the sample `before` to this one.
    pub fn between(before: &Sample, sample: Arc<Sample>) -> Self {
        let changes = delta::compare(before, &sample);
        Self { since: Some(before.taken.clone()), sample, changes, gaps: Vec::new() }
    }

    /// When the sample was taken, by the calendar.
    pub fn at(&self) -> Timestamp {
        self.sample.taken.utc
    }

    /// Every row with what it did.
    pub fn rows(&self) -> impl Iterator<Item = (&Row, &Change)> {
        self.sample.rows.iter().zip(&self.changes)
    }

    /// The same, to keep.
    pub fn to_rows(&self) -> Vec<(Row, Change)> {
        self.rows().map(|(row, change)| (row.clone(), change.clone())).collect()
    }
}
