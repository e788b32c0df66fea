//! What is remembered of a source that is being written.

use std::collections::HashMap;
use std::sync::Arc;

use iostall_model::{Epoch, Sample, Subject};

use super::columns::SourceNumber;
use crate::history::{Pending, Series, SeriesId, SourceId};

/// The writer's state of a source between samples.
#[derive(Debug)]
pub(super) struct Chain {
    pub(super) source: SourceNumber,
    pub(super) id: SourceId,
    /// The previous sample as received.
    pub(super) before: Option<Arc<Sample>>,
    /// Series numbers of its rows, in order, if this process wrote it.
    pub(super) numbers: Vec<u32>,
    pub(super) series: Series,
    /// The epoch and the clock of the previous sample, with their number.
    pub(super) epoch: Option<(Epoch, String, i32)>,
    /// Number of the previous sample, or of the last one in the roll-ups.
    pub(super) last: i64,
    pub(super) pending: Pending,
}

impl Chain {
    /// For a source whose stored roll-ups end at the sample numbered `rolled_up_to`.
    pub(super) fn new(source: SourceNumber, id: SourceId, rolled_up_to: i64) -> Self {
        Self {
            source,
            id,
            before: None,
            numbers: Vec::new(),
            series: Series::default(),
            epoch: None,
            last: rolled_up_to,
            pending: Pending::after(rolled_up_to),
        }
    }

    /// Series numbers of the rows of `sample`; `None` if a row has no series. Those in `stored` may have had another name since.
    pub(super) fn numbers_of(&self, sample: &Sample, stored: &HashMap<SeriesId, u32>) -> Option<Vec<u32>> {
        let earlier_rows = self.before.as_ref().map_or(&[][..], |before| &before.rows);
        let number = |(place, subject): (usize, &Subject)| {
            // Usually the same subject is at the same index as before, with the same number.
            let same = earlier_rows.get(place).filter(|earlier| earlier.subject == *subject);
            same.and_then(|_| self.numbers.get(place).copied())
                .or_else(|| self.series.number(subject))
                .or_else(|| stored.get(&SeriesId::of(self.id, subject)).copied())
        };
        sample.rows.iter().map(|row| &row.subject).enumerate().map(number).collect()
    }
}
