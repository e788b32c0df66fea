//! When a job runs: a cron expression in a time zone, limited to what systemd also supports.
//!
//! The next time is computed by the library: a fixed time runs once a day, even when the clock goes back over
//! it; a time skipped by the clock runs at the end of the gap; a job with a `*` in minutes or hours follows
//! elapsed time.

use croner::parser::{CronParser, Seconds, Year};
use croner::{Cron, CronComponent};
use jiff::Timestamp;
use jiff::tz::TimeZone;

/// systemd's weekday names, by cron's numbers.
const WEEKDAYS: [&str; 7] = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];

/// A cron expression with its time zone.
#[derive(Clone, Debug)]
pub struct Calendar {
    expression: String,
    zone_name: String,
    cron: Cron,
    zone: TimeZone,
}

impl PartialEq for Calendar {
    fn eq(&self, other: &Self) -> bool {
        (&self.expression, &self.zone_name) == (&other.expression, &other.zone_name)
    }
}

impl Calendar {
    /// Parses five fields (minute, hour, day of month, month, day of week), six starting with the second, or
    /// a nickname such as `@daily`, in the time zone `zone` (default UTC). The error says what to write.
    pub fn parse(expression: &str, zone: Option<&str>) -> Result<Self, String> {
        let parser = CronParser::builder().seconds(Seconds::Optional).year(Year::Disallowed).build();
        let expression = expression.trim();
        let cron = parser.parse(expression).map_err(|error| {
            format!(
                "calendar {expression:?} cannot be read ({error}): write minute, hour, day of month, month and day of \
                 week, such as \"30 2 * * *\" or \"0 3 * * SUN\""
            )
        })?;
        let pattern = &cron.pattern;
        if pattern.days.has_modifiers() || pattern.days_of_week.has_modifiers() {
            return Err(format!(
                "calendar {expression:?}: L, W and # have no equal in systemd's timers; the first Sunday of a month is \
                 \"0 3 1-7 * +SUN\""
            ));
        }
        let zone_name = zone.unwrap_or("UTC").to_owned();
        let zone = match zone {
            None => TimeZone::UTC,
            Some(name) => TimeZone::get(name).map_err(|error| {
                format!("the time zone {name:?} is not known here ({error}): write UTC, or install tzdata")
            })?,
        };
        let calendar = Self { expression: expression.to_owned(), zone_name, cron, zone };
        match calendar.after(Timestamp::UNIX_EPOCH) {
            Some(_) => Ok(calendar),
            None => Err(format!("calendar {expression:?} never comes: there is no such day")),
        }
    }

    /// The first time after `at`; `None` if there is none.
    pub fn after(&self, at: Timestamp) -> Option<Timestamp> {
        let next = self.cron.find_next_occurrence(&at.to_zoned(self.zone.clone()), false).ok()?.timestamp();
        // A result that is not in the future would run the job twice.
        (next > at).then_some(next)
    }

    /// Values for systemd's `OnCalendar=`. There are two if cron means "this day of the month or that
    /// weekday".
    pub fn on_calendar(&self) -> Vec<String> {
        let pattern = &self.cron.pattern;
        let months = list(&pattern.months, 2);
        let seconds = list(&pattern.seconds, 2);
        let time = format!("{}:{}:{seconds}", list(&pattern.hours, 2), list(&pattern.minutes, 2));
        let days = list(&pattern.days, 2);
        let weekdays = weekdays(&pattern.days_of_week);
        let both = [(weekdays.as_str(), days.as_str())];
        let either = [("", days.as_str()), (weekdays.as_str(), "*")];
        let is_either =
            !pattern.is_dom_wildcard() && !pattern.is_dow_wildcard() && !pattern.matches_dom_and_dow();
        let wanted = if is_either { either.as_slice() } else { both.as_slice() };
        wanted
            .iter()
            .map(|(weekdays, days)| {
                let date = format!("*-{months}-{days} {time} {}", self.zone_name);
                if weekdays.is_empty() { date } else { format!("{weekdays} {date}") }
            })
            .collect()
    }
}

impl std::fmt::Display for Calendar {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.expression, self.zone_name)
    }
}

/// A field in systemd's notation: `*`, or a list with ranges.
fn list(component: &CronComponent, width: usize) -> String {
    let values = component.values();
    if values.len() == usize::from(component.max - component.min) + 1 {
        return "*".to_owned();
    }
    let mut runs: Vec<(u16, u16)> = Vec::new();
    for value in values {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == value => *last = value,
            _ => runs.push((value, value)),
        }
    }
    let text = |(first, last): &(u16, u16)| match last - first {
        0 => format!("{first:0width$}"),
        1 => format!("{first:0width$},{last:0width$}"),
        _ => format!("{first:0width$}..{last:0width$}"),
    };
    runs.iter().map(text).collect::<Vec<_>>().join(",")
}

/// The selected weekdays; empty if all are.
fn weekdays(component: &CronComponent) -> String {
    let values = component.values();
    let is_set = |day: u16| values.contains(&day) || (day == 0 && values.contains(&7));
    let names: Vec<&str> = (0..7).filter(|day| is_set(*day)).map(|day| WEEKDAYS[usize::from(day)]).collect();
    if names.len() == WEEKDAYS.len() { String::new() } else { names.join(",") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn times(expression: &str, zone: &str, from: &str, count: usize) -> Vec<String> {
        let calendar = Calendar::parse(expression, Some(zone)).unwrap();
        let mut at: Timestamp = from.parse().unwrap();
        let mut next = || {
            at = calendar.after(at)?;
            Some(at.to_string())
        };
        (0..count).filter_map(|_| next()).collect()
    }

    #[test]
    fn a_nightly_job_runs_once_a_night_by_the_clock_of_its_zone_whatever_that_clock_does() {
        if TimeZone::get("Europe/Zurich").is_err() {
            return;
        }
        // In Zurich, 02:30 does not exist on 28 March 2027, and exists twice on 31 October.
        assert_eq!(
            times("30 2 * * *", "Europe/Zurich", "2027-03-27T00:00:00Z", 3),
            ["2027-03-27T01:30:00Z", "2027-03-28T01:00:00Z", "2027-03-29T00:30:00Z"]
        );
        assert_eq!(
            times("30 2 * * *", "Europe/Zurich", "2027-10-30T12:00:00Z", 2),
            ["2027-10-31T00:30:00Z", "2027-11-01T01:30:00Z"]
        );
        // Every half hour stays half an hour of elapsed time that night.
        assert_eq!(
            times("0,30 * * * *", "Europe/Zurich", "2027-10-31T00:00:00Z", 4),
            ["2027-10-31T00:30:00Z", "2027-10-31T01:00:00Z", "2027-10-31T01:30:00Z", "2027-10-31T02:00:00Z"]
        );
    }

    #[test]
    fn systemd_gets_the_same_times_in_its_own_words() {
        let lines = |expression: &str| {
            Calendar::parse(expression, Some("Europe/Zurich"))
                .or_else(|_| Calendar::parse(expression, None))
                .unwrap()
                .on_calendar()
                .iter()
                .map(|line| line.rsplit_once(' ').unwrap().0.to_owned())
                .collect::<Vec<_>>()
        };
        assert_eq!(lines("30 2 * * *"), ["*-*-* 02:30:00"]);
        assert_eq!(lines("*/20 8-17 * * MON-FRI"), ["Mon,Tue,Wed,Thu,Fri *-*-* 08..17:00,20,40:00"]);
        assert_eq!(lines("0 3 1-7 * +SUN"), ["Sun *-*-01..07 03:00:00"]);
        assert_eq!(lines("0 4 1 * SUN"), ["*-*-01 04:00:00", "Sun *-*-* 04:00:00"]);
        assert_eq!(lines("@daily"), ["*-*-* 00:00:00"]);
        assert_eq!(lines("*/30 0 2 * * *"), ["*-*-* 02:00:00,30"]);
        assert_eq!(lines("5 0 1,2 JAN,JUL *"), ["*-01,07-01,02 00:05:00"]);
    }

    #[test]
    fn what_cannot_be_is_refused_with_what_to_write() {
        let refused = |expression: &str, zone: Option<&str>| Calendar::parse(expression, zone).unwrap_err();
        assert!(refused("half past two", None).contains("minute, hour, day of month"));
        assert!(refused("0 30 2 * * * 2027", None).contains("minute, hour"));
        assert!(refused("0 3 * * MON#1", None).contains("+SUN"));
        assert!(refused("0 3 30 2 *", None).contains("never comes"));
        assert!(refused("0 3 * * *", Some("Mars/Dome")).contains("time zone"));
    }

    proptest! {
        /// A time returned twice would run a job twice.
        #[test]
        fn times_only_ever_go_forward(
            minute in 0_u8..60, hour in prop::option::of(0_u8..24), start_s in 0_i64..2_000_000_000,
            zone in prop::sample::select(vec!["UTC", "Europe/Zurich", "America/New_York", "Australia/Lord_Howe"]),
        ) {
            let zone = TimeZone::get(zone).map_or("UTC", |_| zone);
            let hour = hour.map_or("*".to_owned(), |hour| hour.to_string());
            let calendar = Calendar::parse(&format!("{minute} {hour} * * *"), Some(zone)).unwrap();
            let mut at = Timestamp::from_second(start_s).unwrap();
            for _ in 0..20 {
                let next = calendar.after(at).unwrap();
                prop_assert!(next > at);
                at = next;
            }
        }
    }
}
