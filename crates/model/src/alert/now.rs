//! The current time.

use jiff::Timestamp;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Now {
    /// For people and for mute hours.
    pub utc: Timestamp,
    /// A monotonic clock, nanoseconds.
    pub clock_ns: u64,
}
