//! Where days, hours and raw samples of a source meet.

use iostall_model::Tier;
use jiff::{SignedDuration, Timestamp};

/// Which tier to read for each time, so that nothing is missing or counted twice: days before `days_until`,
/// then hours before `hours_until`, then raw samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seams {
    /// A midnight, or the end of all roll-ups; [`Timestamp::MIN`] while every hour is kept.
    pub days_until: Timestamp,
    /// At or after `days_until`. A full hour, or the end of all roll-ups.
    pub hours_until: Timestamp,
}

impl Seams {
    /// For hours kept since `hours_from`, raw samples since `first`, and roll-ups up to `end`.
    ///
    /// Raw samples take over from roll-ups at their first full hour. If they do not reach back that far, they
    /// take over at the last sample in the roll-ups, which may be within an hour.
    pub(crate) fn between(hours_from: Timestamp, first: Timestamp, end: Timestamp) -> Self {
        let hours_until = ceiling(Tier::Hour, first).min(end);
        if hours_from <= hours_until {
            return Self { days_until: hours_from, hours_until };
        }
        // If the source ended long ago, or raw samples are kept longer than hours, there are no hours left:
        // the day of the first raw sample counts as a whole.
        let edge = ceiling(Tier::Day, hours_until).min(end);
        Self { days_until: edge, hours_until: edge }
    }
}

/// Start of the first hour or day that lies entirely at or after `at`.
pub(crate) fn ceiling(tier: Tier, at: Timestamp) -> Timestamp {
    let floor = tier.floor(at);
    if floor == at { at } else { floor.checked_add(SignedDuration::from_secs(tier.seconds())).unwrap_or(at) }
}
