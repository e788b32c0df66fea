//! Events of the sampling loop.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use iostall_collect::Filter;
use iostall_measure::clock::receive;
use iostall_model::device::Placement;
use iostall_model::{Gap, Step};
use jiff::Timestamp;

#[derive(Clone, Debug)]
pub struct SamplerOptions {
    /// Time between ticks; useful from one second on.
    pub interval: Duration,
    /// The last tick; `None` runs until stopped.
    pub until: Option<Timestamp>,
    pub filter: Filter,
}

#[derive(Debug)]
pub enum Event {
    Step {
        source: usize,
        /// The filtered sample, compared with the previous one.
        step: Step,
        /// What its volumes are, where the source says it and it is not what it said before.
        placements: Option<Vec<Placement>>,
    },
    Missed(Missed),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missed {
    pub source: usize,
    pub gap: Gap,
    pub hint: String,
    /// When the source is tried again; `None` if that is already under way.
    pub retry: Option<Retry>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retry {
    pub at: Timestamp,
    /// Ticks until the next attempt; grows with each refusal.
    pub ticks: u64,
}

#[derive(Debug)]
pub enum Next {
    Event(Event),
    Nothing,
    /// The last tick is over, or sampling was stopped.
    Ended,
}

impl Next {
    /// What comes next of `events`, waiting up to `limit`. `is_over` is looked at before the wait: by then all events of what has ended are
    /// in the channel.
    pub(super) fn of(events: &Receiver<Event>, is_over: bool, limit: Duration) -> Self {
        let limit = if is_over { Duration::ZERO } else { limit };
        match receive(events, limit) {
            Ok(event) => Self::Event(event),
            Err(RecvTimeoutError::Timeout) if !is_over => Self::Nothing,
            Err(_) => Self::Ended,
        }
    }
}

pub trait Sampling {
    fn next(&mut self, limit: Duration) -> Next;
}

impl<T: Sampling + ?Sized> Sampling for Box<T> {
    fn next(&mut self, limit: Duration) -> Next {
        (**self).next(limit)
    }
}

impl Sampling for Receiver<Event> {
    fn next(&mut self, limit: Duration) -> Next {
        match receive(self, limit) {
            Ok(event) => Next::Event(event),
            Err(RecvTimeoutError::Timeout) => Next::Nothing,
            Err(RecvTimeoutError::Disconnected) => Next::Ended,
        }
    }
}
