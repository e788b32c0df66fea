//! What comes out of the sampling loop.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use iostall_collect::Filter;
use iostall_model::{Gap, Step};
use jiff::Timestamp;

/// What to read, how often and how long.
#[derive(Clone, Debug)]
pub struct SamplerOptions {
    /// From tick to tick; at least a second makes sense.
    pub interval: Duration,
    /// The last tick; `None`: until told to stop.
    pub until: Option<Timestamp>,
    /// Which rows to keep.
    pub filter: Filter,
}

/// What a source did at a tick.
#[derive(Debug)]
pub enum Event {
    /// It answered.
    Step {
        /// Place of the source in the list that was given.
        source: usize,
        /// Its answer, filtered, compared with the one before.
        step: Step,
    },
    /// It did not.
    Missed(Missed),
}

/// A gap as it comes up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missed {
    /// Place of the source in the list that was given.
    pub source: usize,
    /// What is kept of it.
    pub gap: Gap,
    /// What to do about it.
    pub hint: String,
    /// When the source is asked again; `None` where that is being done already.
    pub retry: Option<Retry>,
}

/// The next try.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retry {
    /// At which tick.
    pub at: Timestamp,
    /// How many ticks that is after the last try: more, the more often a server has refused.
    pub ticks: u64,
}

/// What came within a limit of time.
#[derive(Debug)]
pub enum Next {
    /// Something.
    Event(Event),
    /// Nothing yet.
    Nothing,
    /// The last tick is over, or the sampling was stopped.
    Ended,
}

/// Where events come from.
pub trait Sampling {
    /// Waits for the next event, no longer than `limit`.
    fn next(&mut self, limit: Duration) -> Next;
}

impl Sampling for Receiver<Event> {
    fn next(&mut self, limit: Duration) -> Next {
        match self.recv_timeout(limit) {
            Ok(event) => Next::Event(event),
            Err(RecvTimeoutError::Timeout) => Next::Nothing,
            Err(RecvTimeoutError::Disconnected) => Next::Ended,
        }
    }
}
