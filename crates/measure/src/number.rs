//! Formats numbers for people.

/// Shown in place of a missing number.
pub const NONE: &str = "–";

/// A whole number with thousands separators: `1,234,567`.
pub fn count(value: u64) -> String {
    separate(&value.to_string())
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
