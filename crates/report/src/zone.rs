//! Times as people read them: in their own zone, which is named. Machines' forms have UTC.

use std::sync::OnceLock;

use jiff::Timestamp;
use jiff::tz::TimeZone;

/// The reader's zone. The program sets it once; a library that nobody told has UTC.
static ZONE: OnceLock<TimeZone> = OnceLock::new();

/// Shows times in `zone` from now on; a second call changes nothing.
pub fn show_times_in(zone: TimeZone) {
    let _ = ZONE.set(zone);
}

fn zone() -> TimeZone {
    ZONE.get().cloned().unwrap_or(TimeZone::UTC)
}

/// A time to the second with its zone: `2026-11-20 10:15:00 CET`.
pub fn timestamp(at: Timestamp) -> String {
    in_zone(at, zone(), "%Y-%m-%d %H:%M:%S %Z")
}

/// The same for a column whose heading is [`heading`].
pub fn column(at: Timestamp) -> String {
    in_zone(at, zone(), "%Y-%m-%d %H:%M:%S")
}

/// `10:15:00`, for a screen that is looked at now.
pub fn time_of_day(at: Timestamp) -> String {
    in_zone(at, zone(), "%H:%M:%S")
}

/// The heading of a column of times, with the zone: two rows may lie on either side of a change of the clocks.
pub fn heading(what: &str) -> String {
    let zone = zone();
    let name = zone.iana_name().unwrap_or("local time");
    format!("{what} ({name})")
}

fn in_zone(at: Timestamp, zone: TimeZone, form: &str) -> String {
    at.to_zoned(zone).strftime(form).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_shown_in_its_zone_and_names_it() {
        let at: Timestamp = "2026-07-20T22:15:00Z".parse().unwrap();
        let zone = TimeZone::fixed(jiff::tz::offset(2));
        assert_eq!(in_zone(at, zone, "%Y-%m-%d %H:%M:%S %Z"), "2026-07-21 00:15:00 +02");
        assert_eq!(timestamp(at), "2026-07-20 22:15:00 UTC");
        assert_eq!(heading("started"), "started (UTC)");
    }
}
