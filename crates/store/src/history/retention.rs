//! How long a history is kept.

use jiff::SignedDuration;

/// How long each tier is kept. Raw samples are deleted only once they are rolled up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retention {
    pub raw: SignedDuration,
    /// Hourly roll-ups, deleted a day at a time.
    pub hours: SignedDuration,
    /// Daily roll-ups; `None` keeps them forever.
    pub days: Option<SignedDuration>,
}

impl Default for Retention {
    /// Two weeks of raw samples, two years of hours, days forever.
    fn default() -> Self {
        Self {
            raw: SignedDuration::from_hours(14 * 24),
            hours: SignedDuration::from_hours(2 * 366 * 24),
            days: None,
        }
    }
}
