//! A sample and the changes since the previous one.

use std::sync::Arc;

use jiff::Timestamp;

use crate::delta::{self, Change};
use crate::gap::Gap;
use crate::sample::{Row, Sample, SampleTime};

/// One sample of a source, compared once: history, alerts, metrics and views all use these results.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// When the previous sample was taken; `None` if unknown.
    pub since: Option<SampleTime>,
    pub sample: Arc<Sample>,
    /// The change of each row, in order; empty if there is nothing to compare with.
    pub changes: Vec<Change>,
    pub gaps: Vec<Gap>,
}

impl Step {
    pub fn first(sample: Arc<Sample>) -> Self {
        Self { since: None, sample, changes: Vec::new(), gaps: Vec::new() }
    }

    pub fn between(before: &Sample, sample: Arc<Sample>) -> Self {
        let changes = delta::compare(before, &sample);
        Self { since: Some(before.taken.clone()), sample, changes, gaps: Vec::new() }
    }

    pub fn at(&self) -> Timestamp {
        self.sample.taken.utc
    }

    pub fn rows(&self) -> impl Iterator<Item = (&Row, &Change)> {
        self.sample.rows.iter().zip(&self.changes)
    }

    pub fn to_rows(&self) -> Vec<(Row, Change)> {
        self.rows().map(|(row, change)| (row.clone(), change.clone())).collect()
    }
}
