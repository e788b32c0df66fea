//! The time of an observation.

use jiff::Timestamp;

/// The time, as whoever asks reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Now {
    /// For people and for muted hours.
    pub utc: Timestamp,
    /// A clock that only moves forward, nanoseconds.
    pub clock_ns: u64,
}
