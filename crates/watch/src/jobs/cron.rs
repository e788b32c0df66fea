//! A cron expression: the values of its fields, and which local times they name.
//!
//! The grammar is that of crontab(5) with a field of seconds, and with `+` before the weekdays for days that meet both day fields.

use std::str::FromStr;

use jiff::civil::{Date, DateTime, Time};

const WEEKDAYS: [&str; 7] = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];
const MONTHS: [&str; 12] =
    ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"];

const NICKNAMES: [(&str, &str); 6] = [
    ("@YEARLY", "0 0 1 1 *"),
    ("@ANNUALLY", "0 0 1 1 *"),
    ("@MONTHLY", "0 0 1 * *"),
    ("@WEEKLY", "0 0 * * SUN"),
    ("@DAILY", "0 0 * * *"),
    ("@HOURLY", "0 * * * *"),
];

#[derive(Clone, Copy, Debug)]
pub(super) struct Field {
    bits: u64,
    min: u8,
    max: u8,
    /// Whether it is `*`, so that the other day field decides alone.
    pub is_star: bool,
}

impl Field {
    pub(super) fn has(self, value: i8) -> bool {
        u32::try_from(value).is_ok_and(|value| self.bits.checked_shr(value).unwrap_or(0) & 1 == 1)
    }

    pub(super) fn is_all(self) -> bool {
        (self.min..=self.max).all(|value| self.bits >> value & 1 == 1)
    }

    pub(super) fn values(self) -> impl DoubleEndedIterator<Item = u8> {
        (self.min..=self.max).filter(move |value| self.bits >> value & 1 == 1)
    }

    fn from(self, least: i8) -> impl Iterator<Item = i8> {
        (least..64).filter(move |value| self.has(*value))
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Cron {
    pub seconds: Field,
    pub minutes: Field,
    pub hours: Field,
    pub days: Field,
    pub months: Field,
    pub weekdays: Field,
    /// Whether a day must meet both day fields. Otherwise one of them is enough, unless the other is `*`.
    pub is_both: bool,
}

impl Cron {
    pub(super) fn parse(expression: &str) -> Result<Self, String> {
        let text = expression.to_uppercase();
        let known = NICKNAMES.iter().find(|(name, _)| *name == text);
        let mut parts: Vec<&str> =
            known.map_or(text.as_str(), |(_, fields)| fields).split_whitespace().collect();
        if parts.len() == 5 {
            parts.insert(0, "0");
        }
        let &[seconds, minutes, hours, days, months, weekdays] = parts.as_slice() else {
            return Err(format!("it has {} fields, not 5 or 6", parts.len()));
        };
        let (is_both, weekdays) = weekdays.strip_prefix('+').map_or((false, weekdays), |rest| (true, rest));
        let ends_with_last = |field: &str| field.split(',').any(|item| item.ends_with('L'));
        if days.contains('W') || weekdays.contains('#') || [days, weekdays].into_iter().any(ends_with_last) {
            return Err("L, W and # have no equal in systemd's timers; the first Sunday of a month is \
                        \"0 3 1-7 * +SUN\""
                .to_owned());
        }
        let any_day = |field: &str| field.replace('?', "*");
        let mut weekdays = field("day of week", &any_day(weekdays), 0, 7, &WEEKDAYS)?;
        // Sunday is 0 and 7.
        weekdays.bits |= weekdays.bits >> 7;
        Ok(Self {
            seconds: field("second", seconds, 0, 59, &[])?,
            minutes: field("minute", minutes, 0, 59, &[])?,
            hours: field("hour", hours, 0, 23, &[])?,
            days: field("day of month", &any_day(days), 1, 31, &[])?,
            months: field("month", months, 1, 12, &MONTHS)?,
            weekdays: Field { max: 6, ..weekdays },
            is_both,
        })
    }

    pub(super) fn is_once_a_day(&self) -> bool {
        [self.seconds, self.minutes, self.hours].iter().all(|field| field.bits.is_power_of_two())
    }

    pub(super) fn is_either(&self) -> bool {
        !self.is_both && !self.days.is_star && !self.weekdays.is_star
    }

    /// The first local time that it names from `from` on, until the end of `last`.
    pub(super) fn next_local(&self, from: DateTime, last: Date) -> Option<DateTime> {
        let later = std::iter::successors(from.date().tomorrow().ok(), |date| date.tomorrow().ok());
        std::iter::once((from.date(), from.time()))
            .chain(later.map(|date| (date, Time::midnight())))
            .take_while(|(date, _)| *date <= last)
            .filter(|(date, _)| self.is_on(*date))
            .find_map(|(date, time)| Some(date.to_datetime(self.next_time(time)?)))
    }

    fn is_on(&self, date: Date) -> bool {
        let is_day = self.days.has(date.day());
        let is_weekday = self.weekdays.has(date.weekday().to_sunday_zero_offset());
        let is_meant = if self.is_either() { is_day || is_weekday } else { is_day && is_weekday };
        self.months.has(date.month()) && is_meant
    }

    fn next_time(&self, from: Time) -> Option<Time> {
        self.hours.from(from.hour()).find_map(|hour| {
            let in_hour = if hour == from.hour() { from } else { Time::midnight() };
            self.minutes.from(in_hour.minute()).find_map(|minute| {
                let second = if minute == in_hour.minute() { in_hour.second() } else { 0 };
                Time::new(hour, minute, self.seconds.from(second).next()?, 0).ok()
            })
        })
    }
}

/// Parses the field `name`: `*`, or a list of values, of ranges, and of ranges or `*` with a step. `names` may stand for values
/// from `min` on.
fn field(name: &str, text: &str, min: u8, max: u8, names: &[&str]) -> Result<Field, String> {
    let value = |text: &str| -> Result<u8, String> {
        let by_name = (min..).zip(names).find(|(_, one)| **one == text).map(|(value, _)| value);
        by_name
            .or_else(|| number(text).filter(|value| (min..=max).contains(value)))
            .ok_or_else(|| format!("the {name} {text:?} is not one of {min} to {max}"))
    };
    let mut bits = 0;
    for item in text.split(',') {
        let (range, step) = item.split_once('/').map_or((item, None), |(range, step)| (range, Some(step)));
        let (first, last) = match (range, range.split_once('-')) {
            ("*", _) if step.is_some() || text == "*" => (min, max),
            // A range may end with the Sunday of the week that it began in.
            (_, Some((first, "SUN"))) if max == 7 => (value(first)?, 7),
            (_, Some((first, last))) => (value(first)?, value(last)?),
            _ if step.is_some() => {
                return Err(format!("the {name} {item:?} has a step without a range: write */5 or 10-40/5"));
            }
            _ => (value(range)?, value(range)?),
        };
        let step = step.map_or(Some(1), number::<u16>).filter(|step| *step > 0);
        let step = step.ok_or_else(|| format!("the step in the {name} {item:?} is not a number above 0"))?;
        if first > last {
            return Err(format!("the range of the {name} {item:?} goes backwards"));
        }
        for value in (first..=last).step_by(usize::from(step)) {
            bits |= 1 << value;
        }
    }
    Ok(Field { bits, min, max, is_star: text == "*" })
}

/// A number of digits alone: `parse` takes a sign too.
fn number<T: FromStr>(text: &str) -> Option<T> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}
