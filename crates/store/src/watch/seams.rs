//! Where days, hours and raw samples of a source meet.

use iostall_model::Tier;
use jiff::Timestamp;
use rusqlite::named_params;

use super::retention::ceiling;
use super::{SourceNumber, WatchStore, from_utc_ns, statements};
use crate::error::StoreError;
use crate::sqlite::fault;

/// From which tier each moment of a source is read, so that nothing is left out and nothing is there twice: before
/// `days_until` it is in the days, from there to `hours_until` in the hours, and after that in raw samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seams {
    /// A midnight, or the end of all roll-ups; [`Timestamp::MIN`] where every hour is still there.
    pub days_until: Timestamp,
    /// Not before `days_until`. A whole hour, or the end of all roll-ups.
    pub hours_until: Timestamp,
}

impl WatchStore {
    /// Where the tiers of `source` meet; `None`: raw samples hold all there is.
    ///
    /// Roll-ups give way to raw samples at the first whole hour of those. Where the raw samples reach back less than
    /// that, it is the last sample in the roll-ups, which may be in the midst of an hour.
    pub fn seams(&self, source: SourceNumber) -> Result<Option<Seams>, StoreError> {
        let (forgot, first, rolled_up, forgot_hours): (bool, Option<i64>, Option<i64>, Option<i64>) = self
            .connection
            .query_row(statements::FIND_SEAM, named_params! {":source": source.0}, |row| {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
            })
            .map_err(fault(&self.path, "read"))?;
        if !forgot {
            return Ok(None);
        }
        let first = first.map_or(Timestamp::MAX, from_utc_ns);
        let end = rolled_up.map_or(Timestamp::MAX, from_utc_ns);
        let days_until = forgot_hours.and_then(|second| Timestamp::from_second(second).ok());
        Ok(Some(Seams::between(days_until.unwrap_or(Timestamp::MIN), first, end)))
    }
}

impl Seams {
    /// Of hours that were kept from `hours_from` on, raw samples from `first` on, and roll-ups up to `end`.
    fn between(hours_from: Timestamp, first: Timestamp, end: Timestamp) -> Self {
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
