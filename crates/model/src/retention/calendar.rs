//! The periods of a calendar, in a time zone.

use iostall_measure::named;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::Serialize;

named! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum Period {
        Hour = "hour",
        Day = "day",
        /// From Monday to Sunday.
        Week = "week",
        Month = "month",
        Year = "year",
    }
}

impl Period {
    /// Equal for two times in the same period of `zone`, as a clock on the wall shows it.
    pub(super) fn key(self, at: Timestamp, zone: &TimeZone) -> [i32; 4] {
        let local = zone.to_datetime(at);
        let (year, month, day) = (local.year().into(), local.month().into(), local.day().into());
        match self {
            // The hour that comes twice when the clock is set back is two hours.
            Self::Hour => {
                let offset = zone.to_offset(at).seconds();
                let day_of_year: i32 = local.day_of_year().into();
                [year, day_of_year, local.hour().into(), offset]
            }
            Self::Day => [year, month, day, 0],
            Self::Week => {
                let week = local.date().iso_week_date();
                [week.year().into(), week.week().into(), 0, 0]
            }
            Self::Month => [year, month, 0, 0],
            Self::Year => [year, 0, 0, 0],
        }
    }
}
