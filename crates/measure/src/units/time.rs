//! Lengths of time.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::error::UnitError;

/// A duration in nanoseconds. Written as text with a unit (`10s`, `2m 30s`, `500ms`, `8d` of 24 hours each).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Nanos(pub u64);

const DAY_NS: u64 = 24 * 3600 * 1_000_000_000;
const TIME_WANTED: &str = "a length of time: write it with its unit, such as 10s, 500ms, 5m or 1h30m";

impl Nanos {
    /// From `seconds`; a negative number or NaN becomes zero.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "float casts saturate")]
    pub fn from_seconds(seconds: f64) -> Self {
        Self((seconds * 1e9).round() as u64)
    }

    pub fn nanos(self) -> u64 {
        self.0
    }

    pub fn seconds(self) -> f64 {
        self.0 as f64 / 1e9
    }

    pub fn millis(self) -> f64 {
        self.0 as f64 / 1e6
    }
}

impl FromStr for Nanos {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let refuse = || UnitError::new(text, TIME_WANTED);
        if text.trim() == "0" {
            return Ok(Self(0));
        }
        let days = text.trim().strip_suffix('d').and_then(|days| days.parse::<u64>().ok());
        if let Some(days) = days {
            return days.checked_mul(DAY_NS).map(Self).ok_or_else(refuse);
        }
        let parsed: jiff::SignedDuration = text.trim().parse().map_err(|_| refuse())?;
        u64::try_from(parsed.as_nanos()).map(Self).map_err(|_| refuse())
    }
}

impl fmt::Display for Nanos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let span = jiff::SignedDuration::from_nanos(i64::try_from(self.0).unwrap_or(i64::MAX));
        f.pad(&format!("{span:#}"))
    }
}

impl Serialize for Nanos {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

// Accepts only text, because a bare number would have no unit.
impl<'de> Deserialize<'de> for Nanos {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An alert was to fire after eight days, and the file had to say 192 hours.
    #[test]
    fn days_are_24_hours_and_a_number_that_no_clock_reaches_is_refused() {
        assert_eq!("8d".parse::<Nanos>().unwrap().nanos(), 8 * DAY_NS);
        assert_eq!("1h30m".parse::<Nanos>().unwrap().nanos(), 5_400_000_000_000);
        for text in ["d", "-1d", "1.5d", "999999999d", "8"] {
            assert!(text.parse::<Nanos>().is_err(), "{text}");
        }
    }
}
