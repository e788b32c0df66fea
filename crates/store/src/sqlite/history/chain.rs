//! What is remembered of a source that is being written.

use std::sync::Arc;

use iostall_model::Sample;

use super::body::Rows;
use super::columns::SourceNumber;
use crate::history::{Pending, Series};

#[derive(Debug)]
pub(super) struct Chain {
    pub(super) source: SourceNumber,
    /// The previous sample as received.
    pub(super) before: Option<Arc<Sample>>,
    /// Series numbers of its rows, in order, if this process wrote it.
    pub(super) numbers: Vec<u32>,
    pub(super) rows: Rows,
    /// Bodies written since the last complete one; `None` before this process wrote one.
    pub(super) since_whole: Option<u32>,
    pub(super) series: Series,
    pub(super) epoch: Option<(String, String, u32)>,
    /// Number of the previous sample, or of the last one in the roll-ups.
    pub(super) last: i64,
    pub(super) pending: Pending,
}

impl Chain {
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
