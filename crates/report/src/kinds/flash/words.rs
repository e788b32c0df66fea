//! How its numbers are written.

use iostall_model::kinds::Between;

/// As warranties count.
pub(super) const DAYS_PER_YEAR: f64 = 365.0;

/// Two decimals below ten, as papers have them.
pub(super) fn ratio(value: f64) -> String {
    if value < 9.995 { format!("{value:.2}") } else { format!("{value:.1}") }
}

pub(super) fn interval(between: &Between) -> String {
    format!("{:.3} to {:.3}", between.low, between.high)
}
