//! Moments as people type them.

use jiff::{SignedDuration, Timestamp, civil, tz::TimeZone};

use crate::failure::hinted;

/// Reads the value of `flag`: a time, a date, or how long before `now`.
pub(crate) fn moment(flag: &str, text: &str, now: Timestamp) -> anyhow::Result<Timestamp> {
    if let Ok(at) = text.parse::<Timestamp>() {
        return Ok(at);
    }
    if let Ok(date) = text.parse::<civil::Date>()
        && let Ok(midnight) = date.to_zoned(TimeZone::UTC)
    {
        return Ok(midnight.timestamp());
    }
    let ago = text.strip_suffix('d').and_then(|days| days.parse::<i64>().ok()).map_or_else(
        || text.parse::<SignedDuration>().ok(),
        |days| days.checked_mul(24).and_then(SignedDuration::try_from_hours),
    );
    ago.and_then(|ago| now.checked_sub(ago).ok()).ok_or_else(|| {
        let error = anyhow::anyhow!("{flag} {text:?} is no moment");
        hinted(error, "write a date (2026-11-01), a time (2026-11-01T08:00:00Z), or how long ago (7d, 12h)")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_a_time_a_date_or_how_long_ago() {
        let now: Timestamp = "2026-11-21T12:00:00Z".parse().unwrap();
        let read = |text: &str| moment("--since", text, now).unwrap().to_string();
        assert_eq!(read("2026-11-01T08:00:00Z"), "2026-11-01T08:00:00Z");
        assert_eq!(read("2026-11-01"), "2026-11-01T00:00:00Z");
        assert_eq!(read("7d"), "2026-11-14T12:00:00Z");
        assert_eq!(read("12h"), "2026-11-21T00:00:00Z");
        assert!(moment("--since", "yesterday", now).is_err());
    }
}
