//! Where days, hours and raw samples of a source meet.

use iostall_model::Tier;
use jiff::{SignedDuration, Timestamp};

/// From which tier each moment of a source is read, so that nothing is left out and nothing is there twice: before
/// `days_until` it is in the days, from there to `hours_until` in the hours, and after that in raw samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seams {
    /// A midnight, or the end of all roll-ups; [`Timestamp::MIN`] where every hour is still there.
    pub days_until: Timestamp,
    /// Not before `days_until`. A whole hour, or the end of all roll-ups.
    pub hours_until: Timestamp,
}

impl Seams {
    /// Of hours that were kept from `hours_from` on, raw samples from `first` on, and roll-ups up to `end`.
    ///
    /// Roll-ups give way to raw samples at the first whole hour of those. Where the raw samples reach back less than
    /// that, it is the last sample in the roll-ups, which may be in the midst of an hour.
    pub(crate) fn between(hours_from: Timestamp, first: Timestamp, end: Timestamp) -> Self {
        let hours_until = ceiling(Tier::Hour, first).min(end);
        if hours_from <= hours_until {
            return Self { days_until: hours_from, hours_until };
        }
        // A source that died long ago has no hours any more, or raw samples are kept longer than hours: the day with
        // the first of them in it counts whole.
        let edge = ceiling(Tier::Day, hours_until).min(end);
        Self { days_until: edge, hours_until: edge }
    }
}

/// The beginning of the first hour or day that lies wholly at or after `at`.
pub(crate) fn ceiling(tier: Tier, at: Timestamp) -> Timestamp {
    let floor = tier.floor(at);
    if floor == at { at } else { floor.checked_add(SignedDuration::from_secs(tier.seconds())).unwrap_or(at) }
}
