//! When a job runs: a cron expression in a time zone, limited to what systemd also supports.
//!
//! A job with one time a day runs once a day, even when the clock goes back over that time, and at the end of the
//! gap when the clock skips it. A job with several times a day follows elapsed time.

use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, TimeZone};
use jiff::{Timestamp, ToSpan as _};

use super::cron::{Cron, Field};

const WEEKDAYS: [&str; 7] = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];

/// No day is further away: a 29 February on a given weekday comes every 40 years at the latest.
const SEARCHED_YEARS: i32 = 50;

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
        let expression = expression.trim();
        let cron = Cron::parse(expression).map_err(|error| {
            format!(
                "calendar {expression:?} cannot be read ({error}): write minute, hour, day of month, month and day of \
                 week, such as \"30 2 * * *\" or \"0 3 * * SUN\""
            )
        })?;
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

    pub fn after(&self, at: Timestamp) -> Option<Timestamp> {
        let last = self.zone.to_datetime(at).date().saturating_add(SEARCHED_YEARS.years());
        let mut from = Timestamp::from_second(at.as_second() + 1).ok()?;
        if self.cron.is_once_a_day() {
            let mut local = self.zone.to_datetime(from);
            loop {
                local = self.cron.next_local(local, last)?;
                match self.first_instant(local)? {
                    // Its second time, after the clock went back.
                    early if early <= at => local = local.checked_add(1.second()).ok()?,
                    next => return Some(next),
                }
            }
        }
        loop {
            // Until the clock changes again, local time is elapsed time.
            let offset = self.zone.to_offset(from);
            let change = self.zone.following(from).next().map(|change| change.timestamp());
            let next = offset.to_timestamp(self.cron.next_local(offset.to_datetime(from), last)?).ok()?;
            match change.filter(|change| *change <= next) {
                Some(change) => from = change,
                None => return Some(next),
            }
        }
    }

    /// When the clock first shows `local`, or the end of the gap that it skips it with.
    fn first_instant(&self, local: DateTime) -> Option<Timestamp> {
        match self.zone.to_ambiguous_timestamp(local).offset() {
            AmbiguousOffset::Unambiguous { offset } | AmbiguousOffset::Fold { before: offset, .. } => {
                offset.to_timestamp(local).ok()
            }
            AmbiguousOffset::Gap { after, .. } => {
                Some(self.zone.following(after.to_timestamp(local).ok()?).next()?.timestamp())
            }
        }
    }

    /// Values for systemd's `OnCalendar=`. There are two if cron means "this day of the month or that
    /// weekday".
    pub fn on_calendar(&self) -> Vec<String> {
        let cron = &self.cron;
        let months = list(cron.months);
        let seconds = list(cron.seconds);
        let time = format!("{}:{}:{seconds}", list(cron.hours), list(cron.minutes));
        let days = list(cron.days);
        let weekdays = weekdays(cron.weekdays);
        let both = [(weekdays.as_str(), days.as_str())];
        let either = [("", days.as_str()), (weekdays.as_str(), "*")];
        let wanted = if cron.is_either() { either.as_slice() } else { both.as_slice() };
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
fn list(field: Field) -> String {
    if field.is_all() {
        return "*".to_owned();
    }
    let mut runs: Vec<(u8, u8)> = Vec::new();
    for value in field.values() {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == value => *last = value,
            _ => runs.push((value, value)),
        }
    }
    let text = |(first, last): &(u8, u8)| match last - first {
        0 => format!("{first:02}"),
        1 => format!("{first:02},{last:02}"),
        _ => format!("{first:02}..{last:02}"),
    };
    runs.iter().map(text).collect::<Vec<_>>().join(",")
}

/// The selected weekdays; empty if all are.
fn weekdays(field: Field) -> String {
    if field.is_all() {
        return String::new();
    }
    field.values().map(|day| WEEKDAYS[usize::from(day)]).collect::<Vec<_>>().join(",")
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
        assert_eq!(lines("0 3 ? * sat-sun"), ["Sun,Sat *-*-* 03:00:00"]);
        assert_eq!(lines("10-40/15 0 * * 0-7"), ["*-*-* 00:10,25,40:00"]);
    }

    #[test]
    fn what_cannot_be_is_refused_with_what_to_write() {
        let refused = |expression: &str, zone: Option<&str>| Calendar::parse(expression, zone).unwrap_err();
        assert!(refused("half past two", None).contains("minute, hour, day of month"));
        assert!(refused("0 30 2 * * * 2027", None).contains("minute, hour"));
        assert!(refused("0 3 * * MON#1", None).contains("+SUN"));
        assert!(refused("0 3 30 2 *", None).contains("never comes"));
        for (expression, why) in [
            ("61 * * * *", "minute \"61\" is not one of 0 to 59"),
            ("0 24 * * *", "hour \"24\""),
            ("0 3 0 * *", "day of month \"0\""),
            ("0 3 * 13 *", "month \"13\""),
            ("0 3 * * 8", "day of week \"8\""),
            ("0 3 * * MOON", "day of week \"MOON\""),
            ("+5 * * * *", "minute \"+5\""),
            ("1,,2 * * * *", "minute \"\""),
            ("5,* * * * *", "minute \"*\""),
            ("5/10 * * * *", "step without a range"),
            ("*/0 * * * *", "step in the minute"),
            ("*/+5 * * * *", "step in the minute"),
            ("30-10 * * * *", "goes backwards"),
            ("0 3 L * *", "+SUN"),
            ("0 3 15W * *", "+SUN"),
            ("0 3 * * FRIL", "+SUN"),
            ("@reboot", "1 fields"),
        ] {
            assert!(refused(expression, None).contains(why), "{}", refused(expression, None));
        }
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

        /// The oracle looks at every minute in turn.
        #[test]
        fn the_next_time_is_that_of_walking_minute_by_minute(
            minutes in field(0, 59), hours in field(0, 23), days in field(1, 31), weekdays in field(0, 7),
            is_both in any::<bool>(), hour in 0_i64..200, second in 0_i64..3_600,
            (zone, change) in prop::sample::select(vec![
                ("UTC", "2027-02-27T00:00:00Z"),
                ("Europe/Zurich", "2027-03-28T01:00:00Z"),
                ("Europe/Zurich", "2027-10-31T01:00:00Z"),
                ("America/New_York", "2027-11-07T06:00:00Z"),
                ("Australia/Lord_Howe", "2027-04-03T15:00:00Z"),
                ("Australia/Lord_Howe", "2027-10-02T15:30:00Z"),
                ("America/Santiago", "2027-09-05T04:00:00Z"),
            ]),
        ) {
            const WALKED_MINUTES: i64 = 5 * 24 * 60;
            let Ok(known) = TimeZone::get(zone) else { return Ok(()) };
            let both = if is_both { "+" } else { "" };
            let text = format!("{} {} {} * {both}{}", minutes.0, hours.0, days.0, weekdays.0);
            let change: Timestamp = change.parse().unwrap();
            let at = change + jiff::SignedDuration::from_secs((hour - 100) * 3_600 + second);
            let is_day = |local: DateTime| {
                let weekday = local.weekday().to_sunday_zero_offset();
                let is_weekday = weekdays.1.iter().any(|one| *one % 7 == weekday);
                let is_day = days.1.contains(&local.day());
                let is_one_enough = !is_both && days.0 != "*" && weekdays.0 != "*";
                if is_one_enough { is_day || is_weekday } else { is_day && is_weekday }
            };
            let is_due = |local: DateTime| {
                minutes.1.contains(&local.minute()) && hours.1.contains(&local.hour()) && is_day(local)
            };
            let is_once = minutes.1.len() == 1 && hours.1.len() == 1;
            let minute = |number: i64| Timestamp::from_second(number * 60).unwrap();
            let first = at.as_second() / 60 + 1;
            let walked = (first..first + WALKED_MINUTES).map(minute).find(|now| {
                let local = known.to_datetime(*now);
                if !is_once {
                    return is_due(local);
                }
                // Every local minute from the one before until now: one minute, a gap, or none that is new.
                let before = known.to_datetime(*now - 1.minute());
                let is_first = known.to_ambiguous_timestamp(local).earlier().unwrap() == *now;
                let mut skipped = std::iter::successors(Some(before + 1.minute()), |one| Some(*one + 1.minute()))
                    .take_while(|one| *one < local);
                is_first && (is_due(local) || skipped.any(is_due))
            });
            let found = Calendar::parse(&text, Some(zone)).ok().and_then(|calendar| calendar.after(at));
            match walked {
                Some(_) => prop_assert_eq!(found, walked, "{} in {} after {}", text, zone, at),
                None => prop_assert!(found.is_none_or(|found| found >= minute(first + WALKED_MINUTES))),
            }
        }
    }

    /// A field of an expression and its values.
    fn field(min: i8, max: i8) -> impl Strategy<Value = (String, Vec<i8>)> {
        let number = min..=max;
        let range = (min..=max, min..=max, 1_usize..20).prop_map(|(one, other, step)| {
            let (first, last) = (one.min(other), one.max(other));
            (format!("{first}-{last}/{step}"), (first..=last).step_by(step).collect())
        });
        let item = prop_oneof![
            number.prop_map(|value| (value.to_string(), vec![value])),
            range,
            (1_usize..20).prop_map(move |step| (format!("*/{step}"), (min..=max).step_by(step).collect())),
        ];
        let list = prop::collection::vec(item, 1..4).prop_map(|items| {
            let text: Vec<String> = items.iter().map(|(text, _)| text.clone()).collect();
            let mut values: Vec<i8> = items.into_iter().flat_map(|(_, values)| values).collect();
            values.sort_unstable();
            values.dedup();
            (text.join(","), values)
        });
        let one = (min..=max).prop_map(|value| (value.to_string(), vec![value]));
        prop_oneof![Just(("*".to_owned(), (min..=max).collect())), one, list]
    }
}
