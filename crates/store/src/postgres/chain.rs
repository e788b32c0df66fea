//! What is remembered of a source that is being written.

use std::sync::Arc;

use iostall_model::{Epoch, Sample};
use jiff::Timestamp;

use super::columns::SourceNumber;
use crate::history::{Pending, Series, SourceId, utc_ns};

#[derive(Debug)]
pub(super) struct Chain {
    pub(super) source: SourceNumber,
    pub(super) id: SourceId,
    pub(super) before: Option<Arc<Sample>>,
    pub(super) series: Series,
    /// The epoch and the clock of the previous sample, with their number.
    pub(super) epoch: Option<(Epoch, String, i32)>,
    pub(super) last: i64,
    pub(super) pending: Pending,
    pub(super) rolled_up: RolledUp,
    /// The newest hour and the newest day that may have stored roll-ups.
    pub(super) newest: (Option<Timestamp>, Option<Timestamp>),
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct RolledUp {
    /// The last sample whose difference to the one before is in them.
    pub(super) to: i64,
    /// When that was taken. If it is later, it is the beginning of an hour: the part before it of what follows that sample is in them,
    /// too.
    pub(super) utc_ns: Option<i64>,
}

impl RolledUp {
    /// Whether the roll-ups hold part of the interval that follows `taken`, the last sample in them.
    pub(super) fn is_beyond(self, taken: Timestamp) -> bool {
        self.utc_ns.is_some_and(|reached_ns| reached_ns > utc_ns(taken))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Closed {
    Nothing,
    /// Those before an hour that began after the sample with this number. All that is pending of that hour came after it.
    Before {
        hour: Timestamp,
        number: i64,
    },
    /// A clock went back.
    All,
}

impl Closed {
    /// `open` is the hour of the sample numbered `number`, `hour` that of the sample after it.
    pub(super) fn turn(&mut self, (open, hour): (Timestamp, Timestamp), number: i64) {
        *self = if hour < open || *self == Self::All { Self::All } else { Self::Before { hour, number } };
    }
}

impl Chain {
    /// For a source whose stored roll-ups reach so far, with these as the newest.
    pub(super) fn new(
        source: SourceNumber,
        id: SourceId,
        rolled_up: RolledUp,
        newest: (Option<Timestamp>, Option<Timestamp>),
    ) -> Self {
        Self {
            source,
            id,
            before: None,
            series: Series::default(),
            epoch: None,
            last: rolled_up.to,
            pending: Pending::default(),
            rolled_up,
            newest,
        }
    }
}
