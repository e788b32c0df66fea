//! How long a history is kept.

use jiff::SignedDuration;

/// How long each tier is kept. Raw samples go only once they are rolled up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retention {
    /// Raw samples.
    pub raw: SignedDuration,
    /// Hours; those of a day go together.
    pub hours: SignedDuration,
    /// Days; `None`: for ever.
    pub days: Option<SignedDuration>,
}

impl Default for Retention {
    /// Two weeks raw, two years of hours, days for ever.
    fn default() -> Self {
        Self {
            raw: SignedDuration::from_hours(14 * 24),
            hours: SignedDuration::from_hours(2 * 366 * 24),
            days: None,
        }
    }
}
