//! Bytes and times as data sheets have them: powers of 1000, and years.

use crate::format::NONE;

const YEAR_DAYS: f64 = 365.0;

/// `3.62 TB`.
pub(super) fn bytes(bytes: Option<f64>) -> String {
    let Some(bytes) = bytes.filter(|bytes| bytes.is_finite()) else { return NONE.to_owned() };
    let units = [(1e15, "PB"), (1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")];
    match units.into_iter().find(|(unit, _)| bytes >= unit * 0.9995) {
        Some((unit, name)) => format!("{} {name}", digits(bytes / unit)),
        None => format!("{bytes:.0} B"),
    }
}

/// `21.0 GB/day`.
pub(super) fn rate(per_day: Option<f64>) -> String {
    per_day.map_or_else(|| NONE.to_owned(), |rate| format!("{}/day", bytes(Some(rate))))
}

/// `2.3 years`, `45 days`, `3 hours`.
pub(super) fn time(days: Option<f64>) -> String {
    match days.filter(|days| days.is_finite()) {
        None => NONE.to_owned(),
        Some(days) if days > 1_000.0 * YEAR_DAYS => "over 1,000 years".to_owned(),
        Some(days) if days >= 2.0 * YEAR_DAYS => format!("{:.1} years", days / YEAR_DAYS),
        Some(days) if days >= 2.0 => format!("{days:.0} days"),
        Some(days) if days > 0.0 => format!("{:.0} hours", days * 24.0),
        Some(_) => "nothing".to_owned(),
    }
}

fn digits(value: f64) -> String {
    match value {
        _ if value < 9.995 => format!("{value:.2}"),
        _ if value < 99.95 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}
