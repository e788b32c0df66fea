//! Formats numbers for people.

/// Shown in place of a missing number.
pub const NONE: &str = "–";

/// A whole number with thousands separators: `1,234,567`.
pub fn count(value: u64) -> String {
    separate(&value.to_string())
}

/// So many of what `noun` names one of: `1 sample`, `2 samples`. For nouns that take an s.
pub fn counted(value: u64, noun: &str) -> String {
    format!("{value} {noun}{}", if value == 1 { "" } else { "s" })
}

/// A rate or a mean: at least three digits, and whole with separators from 100 on.
pub fn number(value: f64) -> String {
    match value {
        _ if !value.is_finite() => NONE.to_owned(),
        _ if value == 0.0 => "0".to_owned(),
        _ if value.abs() < 9.995 => format!("{value:.2}"),
        _ if value.abs() < 99.95 => format!("{value:.1}"),
        _ => separate(&format!("{value:.0}")),
    }
}

/// A throughput: `353 MiB/s`. It has one unit, however much it is, so that two can be compared at a glance.
pub fn throughput(bytes_per_second: f64) -> String {
    format!("{} MiB/s", number(bytes_per_second / 1_048_576.0))
}

/// A length of time in days, hours and minutes, which is what matters of the age of a backup: `3d 2h`, `5h 10m`, `12m`.
pub fn age(ns: u64) -> String {
    let minutes = ns / 60_000_000_000;
    match minutes {
        0..60 => format!("{minutes}m"),
        60..2_880 => format!("{}h {}m", minutes / 60, minutes % 60),
        _ => format!("{}d {}h", minutes / 1_440, minutes % 1_440 / 60),
    }
}

fn separate(digits: &str) -> String {
    let (sign, digits) = digits.strip_prefix('-').map_or(("", digits), |rest| ("-", rest));
    let mut out = String::from(sign);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_set_apart() {
        let shown = [0, 999, 1_000, 123_456, 1_234_567].map(count);
        assert_eq!(shown, ["0", "999", "1,000", "123,456", "1,234,567"]);
        assert_eq!(number(-1_234.4), "-1,234");
        assert_eq!(number(-123.0), "-123");
    }

    #[test]
    fn a_rate_has_three_digits_at_least_and_what_is_no_number_has_none() {
        let shown = [0.0, 0.5, 9.994, 9.995, 99.94, 99.95, 1_234.5].map(number);
        assert_eq!(shown, ["0", "0.50", "9.99", "10.0", "99.9", "100", "1,234"]);
        assert_eq!((number(f64::NAN), number(f64::INFINITY)), (NONE.to_owned(), NONE.to_owned()));
        assert_eq!((number(-5.0), number(-50.0)), ("-5.00".to_owned(), "-50.0".to_owned()));
    }
}
