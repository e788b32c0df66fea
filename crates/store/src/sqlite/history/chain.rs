//! What is remembered of a source that is being written.

use std::sync::Arc;

use iostall_model::Sample;

use super::body::Rows;
use super::columns::SourceNumber;
use super::pending::Pending;
use super::series::Series;

/// What the writer remembers of a source between its samples.
#[derive(Debug)]
pub(super) struct Chain {
    pub(super) source: SourceNumber,
    /// The sample before, as it came.
    pub(super) before: Option<Arc<Sample>>,
    /// The numbers of the series of its rows, in their order, if this process wrote it.
    pub(super) numbers: Vec<u32>,
    /// The same as it was written.
    pub(super) rows: Rows,
    /// How many bodies were written since the last whole one; `None` before this process wrote one.
    pub(super) since_whole: Option<u32>,
    pub(super) series: Series,
    pub(super) epoch: Option<(String, String, u32)>,
    /// The number of the sample before, or of the last one that is in the roll-ups.
    pub(super) last: i64,
    pub(super) pending: Pending,
}

impl Chain {
    /// Of a source whose stored roll-ups go up to the sample numbered `rolled_up_to`.
    pub(super) fn new(source: SourceNumber, rolled_up_to: i64) -> Self {
        Self {
            source,
            before: None,
            numbers: Vec::new(),
            rows: Rows::new(),
            since_whole: None,
            series: Series::default(),
            epoch: None,
            last: rolled_up_to,
            pending: Pending::after(rolled_up_to),
        }
    }
}
