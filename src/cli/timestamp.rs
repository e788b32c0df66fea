//! Times as people type them.

use jiff::{SignedDuration, Timestamp, civil, tz::TimeZone};

use crate::failure::hinted;

/// Parses the value of `flag`: a time, a date, or how long before `now`.
pub(crate) fn timestamp(flag: &str, text: &str, now: Timestamp) -> anyhow::Result<Timestamp> {
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
        let error = anyhow::anyhow!("{flag} {text:?} is no time");
        hinted(error, "write a date (2026-11-01), a time (2026-11-01T08:00:00Z), or how long ago (7d, 12h)")
    })
}

/// Parses the value of `flag`: two times separated by two dots; without the second, it ends `now`.
pub(crate) fn window(flag: &str, text: &str, now: Timestamp) -> anyhow::Result<(Timestamp, Timestamp)> {
    let Some((from, to)) = text.split_once("..") else {
        let error = anyhow::anyhow!("{flag} {text:?} is no window");
        return Err(hinted(
            error,
            "write two times with two dots between: 3h..2h, or 2026-11-01..2026-11-08",
        ));
    };
    let from = timestamp(flag, from, now)?;
    let to = if to.is_empty() { now } else { timestamp(flag, to, now)? };
    if from >= to {
        let error = anyhow::anyhow!("{flag} {text:?} ends before it begins");
        return Err(hinted(error, "write the earlier time first"));
    }
    Ok((from, to))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_is_two_times_in_order_and_may_last_until_now() {
        let now: Timestamp = "2026-11-21T12:00:00Z".parse().unwrap();
        let read = |text: &str| window("--before", text, now).map(|(from, to)| format!("{from} {to}"));
        assert_eq!(read("3h..2h").unwrap(), "2026-11-21T09:00:00Z 2026-11-21T10:00:00Z");
        assert_eq!(read("2026-11-20..").unwrap(), "2026-11-20T00:00:00Z 2026-11-21T12:00:00Z");
        assert!(read("2h..3h").is_err() && read("2h").is_err() && read("soon..1h").is_err());
    }

    #[test]
    fn a_timestamp_is_a_time_a_date_or_how_long_ago() {
        let now: Timestamp = "2026-11-21T12:00:00Z".parse().unwrap();
        let read = |text: &str| timestamp("--since", text, now).unwrap().to_string();
        assert_eq!(read("2026-11-01T08:00:00Z"), "2026-11-01T08:00:00Z");
        assert_eq!(read("2026-11-01"), "2026-11-01T00:00:00Z");
        assert_eq!(read("7d"), "2026-11-14T12:00:00Z");
        assert_eq!(read("12h"), "2026-11-21T00:00:00Z");
        assert!(timestamp("--since", "yesterday", now).is_err());
    }
}
