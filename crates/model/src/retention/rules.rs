//! The rules of what is kept.

use std::fmt;
use std::str::FromStr;

use iostall_measure::named;
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp};
use serde::{Serialize, Serializer};
use thiserror::Error;

/// How many backups are kept. Each rule keeps its own; what no rule keeps may be deleted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Rules {
    pub last: u32,
    /// The newest of each of the last so many hours that have one, and so on.
    pub hourly: u32,
    pub daily: u32,
    pub weekly: u32,
    pub monthly: u32,
    pub yearly: u32,
    /// All that are not older than this, counted from the newest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub within: Option<Within>,
}

impl Rules {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    pub fn of(&self, period: Period) -> u32 {
        match period {
            Period::Hour => self.hourly,
            Period::Day => self.daily,
            Period::Week => self.weekly,
            Period::Month => self.monthly,
            Period::Year => self.yearly,
        }
    }
}

/// A length of time on the calendar: `30d`, `6mo`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Within {
    amount: u32,
    unit: Unit,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    Hours,
    Days,
    Weeks,
    Months,
    Years,
}

impl Unit {
    const ALL: [(Self, &'static str); 5] =
        [(Self::Hours, "h"), (Self::Days, "d"), (Self::Weeks, "w"), (Self::Months, "mo"), (Self::Years, "y")];
}

impl Within {
    /// The time that is so much before `at` on the calendar of `zone`; `None` before the beginning of time.
    pub(super) fn before(self, at: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
        at.to_zoned(zone.clone()).checked_sub(self.span()?).ok().map(|before| before.timestamp())
    }

    /// The time that is so much after `at` on the calendar of `zone`; `None` after the end of time.
    pub fn after(self, at: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
        at.to_zoned(zone.clone()).checked_add(self.span()?).ok().map(|after| after.timestamp())
    }

    fn span(self) -> Option<Span> {
        let amount = i64::from(self.amount);
        let none = Span::new();
        match self.unit {
            Unit::Hours => none.try_hours(amount),
            Unit::Days => none.try_days(amount),
            Unit::Weeks => none.try_weeks(amount),
            Unit::Months => none.try_months(amount),
            Unit::Years => none.try_years(amount),
        }
        .ok()
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0:?} is no length of time: write a number with a unit, such as 48h, 30d, 8w, 6mo or 2y")]
pub struct WithinError(String);

impl FromStr for Within {
    type Err = WithinError;

    fn from_str(text: &str) -> Result<Self, WithinError> {
        let error = || WithinError(text.to_owned());
        let digits = text.find(|c: char| !c.is_ascii_digit()).ok_or_else(error)?;
        let (amount, name) = text.split_at(digits);
        let amount: u32 = amount.parse().map_err(|_| error())?;
        let unit = Unit::ALL.into_iter().find(|(_, known)| *known == name).ok_or_else(error)?.0;
        let within = Self { amount, unit };
        if amount > 0 && within.span().is_some() { Ok(within) } else { Err(error()) }
    }
}

impl fmt::Display for Within {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = Unit::ALL.into_iter().find(|(unit, _)| *unit == self.unit).map_or("", |(_, name)| name);
        write!(f, "{}{name}", self.amount)
    }
}

impl Serialize for Within {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_of_time_has_a_unit_and_reads_back() {
        for text in ["48h", "30d", "8w", "6mo", "2y"] {
            assert_eq!(text.parse::<Within>().unwrap().to_string(), text);
        }
        for text in ["", "30", "d", "0d", "30m", "-3d", "1.5d", "99999999y", "30 d", "99999999999d"] {
            assert!(text.parse::<Within>().is_err(), "{text}");
        }
    }

    /// The story: "30 days" as 2,592,000 seconds ended an hour late after the clock was set back, and the backup of that
    /// night was gone.
    #[test]
    fn a_day_is_one_of_the_calendar_and_a_month_as_long_as_it_is() {
        let berlin = TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").unwrap();
        let before = |text: &str, at: &str| {
            let within: Within = text.parse().unwrap();
            within.before(at.parse().unwrap(), &berlin).unwrap().to_string()
        };
        assert_eq!(before("1d", "2026-10-25T22:00:00Z"), "2026-10-24T21:00:00Z");
        assert_eq!(before("24h", "2026-10-25T22:00:00Z"), "2026-10-24T22:00:00Z");
        assert_eq!(before("1mo", "2024-03-31T10:00:00Z"), "2024-02-29T11:00:00Z");
    }
}
