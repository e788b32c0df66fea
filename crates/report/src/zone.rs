//! Times as people read them: in their own zone, which is named. Machines' forms have UTC.

use std::sync::{LazyLock, OnceLock};

use jiff::Timestamp;
use jiff::tz::TimeZone;

/// How the reader's zone is found. The program sets it once; without it times are shown in UTC.
static FIND: OnceLock<fn() -> TimeZone> = OnceLock::new();

/// Found with the first time that is shown: the system's list of zones costs more than many commands that show none.
static ZONE: LazyLock<TimeZone> = LazyLock::new(|| FIND.get().map_or(TimeZone::UTC, |find| find()));

/// Shows times in the zone that `find` returns. To be called before any time is shown.
pub fn show_times_in(find: fn() -> TimeZone) {
    let _ = FIND.set(find);
}

fn zone() -> TimeZone {
    ZONE.clone()
}

/// A time to the second with its zone: `2026-11-20 10:15:00 CET`.
pub fn timestamp(at: Timestamp) -> String {
    local(at, "%Y-%m-%d %H:%M:%S %Z")
}

/// The same for a column whose heading is [`heading`].
pub fn column(at: Timestamp) -> String {
    local(at, "%Y-%m-%d %H:%M:%S")
}

/// `10:15:00`, for a screen that is looked at now.
pub fn time_of_day(at: Timestamp) -> String {
    local(at, "%H:%M:%S")
}

/// The heading of a column of times, with the zone: two rows may lie on either side of a change of the clocks.
pub fn heading(what: &str) -> String {
    let zone = zone();
    let name = zone.iana_name().unwrap_or("local time");
    format!("{what} ({name})")
}

pub(crate) fn local(at: Timestamp, form: &str) -> String {
    in_zone(at, zone(), form)
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
