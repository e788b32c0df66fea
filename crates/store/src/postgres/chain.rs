//! What is remembered of a source that is being written.

use std::sync::Arc;

use iostall_model::{Epoch, Sample};

use super::columns::SourceNumber;
use crate::history::{Pending, Series, SourceId};

/// The writer's state of a source between samples.
#[derive(Debug)]
pub(super) struct Chain {
    pub(super) source: SourceNumber,
    pub(super) id: SourceId,
    /// The previous sample as received.
    pub(super) before: Option<Arc<Sample>>,
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
            series: Series::default(),
            epoch: None,
            last: rolled_up_to,
            pending: Pending::after(rolled_up_to),
        }
    }
}
