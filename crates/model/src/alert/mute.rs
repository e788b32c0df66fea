//! Hours without notifications.

use jiff::Timestamp;
use jiff::civil::{Time, Weekday};
use jiff::tz::TimeZone;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MuteHours {
    pub from: Time,
    /// End; if at or before `from`, on the next day.
    pub to: Time,
    pub days: Vec<Weekday>,
    pub zone: TimeZone,
}

impl MuteHours {
    pub fn cover(&self, at: Timestamp) -> bool {
        let local = at.to_zoned(self.zone.clone());
        let (time, today) = (local.time(), local.weekday());
        let begin_on = |day: Weekday| self.days.is_empty() || self.days.contains(&day);
        if self.from < self.to {
            return begin_on(today) && self.from <= time && time < self.to;
        }
        begin_on(today) && self.from <= time || begin_on(today.previous()) && time < self.to
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Now {
    /// For people and for mute hours.
    pub utc: Timestamp,
    /// A monotonic clock, nanoseconds.
    pub clock_ns: u64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::civil::time;

    fn is_muted(quiet: &MuteHours, at: &str) -> bool {
        quiet.cover(at.parse().unwrap())
    }

    #[test]
    fn a_night_belongs_to_the_day_it_begins_on() {
        let friday = MuteHours {
            from: time(22, 0, 0, 0),
            to: time(6, 0, 0, 0),
            days: vec![Weekday::Friday],
            zone: TimeZone::UTC,
        };
        assert!(!is_muted(&friday, "2026-11-20T21:59:59Z"), "a Friday");
        assert!(is_muted(&friday, "2026-11-20T22:00:00Z"));
        assert!(is_muted(&friday, "2026-11-21T05:59:59Z"), "the Saturday after it");
        assert!(!is_muted(&friday, "2026-11-21T06:00:00Z"));
        assert!(!is_muted(&friday, "2026-11-20T03:00:00Z"), "the night from Thursday");
    }

    #[test]
    fn hours_that_end_as_they_begin_are_the_whole_day() {
        let noon = time(12, 0, 0, 0);
        let sunday = MuteHours { from: noon, to: noon, days: vec![Weekday::Sunday], zone: TimeZone::UTC };
        assert!(is_muted(&sunday, "2026-11-22T12:00:00Z") && is_muted(&sunday, "2026-11-23T11:59:59Z"));
        assert!(!is_muted(&sunday, "2026-11-22T11:59:59Z") && !is_muted(&sunday, "2026-11-23T12:00:00Z"));
    }

    #[test]
    fn the_wall_is_in_a_zone_and_follows_its_summer_time() {
        let Ok(zone) = TimeZone::get("Europe/Berlin") else { return };
        let night = MuteHours { from: time(22, 0, 0, 0), to: time(6, 0, 0, 0), days: Vec::new(), zone };
        assert!(is_muted(&night, "2026-01-10T21:00:00Z") && !is_muted(&night, "2026-01-10T20:59:59Z"));
        assert!(is_muted(&night, "2026-07-10T20:00:00Z") && !is_muted(&night, "2026-07-10T19:59:59Z"));
    }
}
