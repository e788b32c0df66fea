//! Times as people type them.

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, Zoned, civil};

use crate::failure::hinted;

/// Parses the value of `flag`: a time, a date, a time of day, or a duration before `now`. Without a zone,
/// this machine's is used.
pub(crate) fn timestamp(flag: &str, text: &str, now: Timestamp) -> anyhow::Result<Timestamp> {
    in_zone(text, now, &TimeZone::system()).ok_or_else(|| {
        let error = anyhow::anyhow!("{flag} {text:?} is not a time");
        hinted(
            error,
            "write a date (2026-11-01), a time of this machine's zone (2026-11-01T08:00, or 08:00 for the last time that \
             it was eight), of another (2026-11-01T08:00Z, 2026-11-01T08:00+01:00), today, yesterday, or how long ago (7d, 12h)",
        )
    })
}

/// Parses `text` in `zone`; `None` if it is not a time.
fn in_zone(text: &str, now: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
    let text = text.trim();
    if let Some(at) = text.parse().ok().or_else(|| Some(text.parse::<Zoned>().ok()?.timestamp())) {
        return Some(at);
    }
    let midnight = |date: civil::Date| Some(date.to_zoned(zone.clone()).ok()?.timestamp());
    let today = zone.to_datetime(now).date();
    match text.to_ascii_lowercase().as_str() {
        "now" => return Some(now),
        "today" => return midnight(today),
        "yesterday" => return midnight(today.yesterday().ok()?),
        _ => {}
    }
    let there = |time: civil::DateTime| Some(time.to_zoned(zone.clone()).ok()?.timestamp());
    // A date parser would accept a longer text and drop its time of day.
    if text.contains(['T', 't', ' ', ':']) {
        return text.parse().ok().and_then(there).or_else(|| last_time(text, now, zone));
    }
    if let Ok(date) = text.parse::<civil::Date>() {
        return midnight(date);
    }
    let ago = match text.strip_suffix('d') {
        Some(days) => {
            days.parse().ok().and_then(|days: f64| SignedDuration::try_from_secs_f64(days * 86_400.0).ok())
        }
        None => text.parse().ok(),
    };
    now.checked_sub(ago?).ok()
}

/// The last time that the clocks of `zone` showed the time of day `text`.
fn last_time(text: &str, now: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
    let time: civil::Time = text.trim_start_matches(['T', 't']).parse().ok()?;
    let today = zone.to_datetime(now).date();
    let on = |date: civil::Date| Some(date.to_datetime(time).to_zoned(zone.clone()).ok()?.timestamp());
    on(today).filter(|at| *at <= now).or_else(|| on(today.yesterday().ok()?))
}

/// Parses the value of `flag`: two times separated by two dots; without the second, it ends `now`.
pub(crate) fn window(flag: &str, text: &str, now: Timestamp) -> anyhow::Result<(Timestamp, Timestamp)> {
    let Some((from, to)) = text.split_once("..") else {
        let error = anyhow::anyhow!("{flag} {text:?} is not a window");
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
        assert_eq!(read("2026-11-20T00:00Z..").unwrap(), "2026-11-20T00:00:00Z 2026-11-21T12:00:00Z");
        assert!(read("2h..3h").is_err() && read("2h").is_err() && read("soon..1h").is_err());
    }

    const NOW: &str = "2026-11-21T12:00:00Z";

    fn read(text: &str, zone: &TimeZone) -> Option<String> {
        in_zone(text, NOW.parse().unwrap(), zone).map(|at| at.to_string())
    }

    fn in_utc(text: &str) -> Option<String> {
        read(text, &TimeZone::UTC)
    }

    #[test]
    fn a_timestamp_is_a_time_a_date_or_how_long_ago() {
        for (text, wanted) in [
            ("2026-11-01T08:00:00Z", "2026-11-01T08:00:00Z"),
            ("2026-11-01", "2026-11-01T00:00:00Z"),
            ("7d", "2026-11-14T12:00:00Z"),
            ("0.5d", "2026-11-21T00:00:00Z"),
            ("12h", "2026-11-21T00:00:00Z"),
            ("1.5h", "2026-11-21T10:30:00Z"),
        ] {
            assert_eq!(in_utc(text).as_deref(), Some(wanted), "{text}");
        }
        for text in
            ["tomorrow", "2026-11-01T25:00", "2026-11-01T", "2026-13-01", "", "d", "nand", "infd", "12:61"]
        {
            assert_eq!(in_utc(text), None, "{text}");
        }
    }

    /// `--since 2026-11-21T23:45` silently meant midnight of that day.
    #[test]
    fn a_time_without_a_zone_is_what_the_readers_clock_showed() {
        let zone = TimeZone::fixed(jiff::tz::offset(1));
        for (text, wanted) in [
            ("2026-11-20T23:45", "2026-11-20T22:45:00Z"),
            ("2026-11-20 23:45", "2026-11-20T22:45:00Z"),
            ("2026-11-20T23:45:10.25", "2026-11-20T22:45:10.25Z"),
            ("2026-11-20T23:45Z", "2026-11-20T23:45:00Z"),
            ("2026-11-20T23:45:10.25Z", "2026-11-20T23:45:10.25Z"),
            ("2026-11-20T23:45-05:00", "2026-11-21T04:45:00Z"),
            ("2026-11-20T23:45[UTC]", "2026-11-20T23:45:00Z"),
            ("2026-11-20", "2026-11-19T23:00:00Z"),
            ("yesterday", "2026-11-19T23:00:00Z"),
            ("Today", "2026-11-20T23:00:00Z"),
            ("now", NOW),
        ] {
            assert_eq!(read(text, &zone).as_deref(), Some(wanted), "{text}");
        }
    }

    #[test]
    fn a_time_of_the_day_is_the_last_one() {
        let zone = TimeZone::fixed(jiff::tz::offset(1));
        for (text, wanted) in [
            ("T23:45", "2026-11-20T22:45:00Z"),
            ("23:45", "2026-11-20T22:45:00Z"),
            ("13:00", "2026-11-21T12:00:00Z"),
            ("13:00:01", "2026-11-20T12:00:01Z"),
            ("08:30", "2026-11-21T07:30:00Z"),
        ] {
            assert_eq!(read(text, &zone).as_deref(), Some(wanted), "{text}");
        }
    }
}
