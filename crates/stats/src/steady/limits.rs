//! Ranges, and limits that rounding does not decide.

pub(super) fn range(values: &[f64]) -> (f64, f64) {
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    (low, high)
}

/// `value <= limit`, where rounding of the last digits does not decide.
pub(super) fn at_most(value: f64, limit: f64) -> bool {
    const EPSILON: f64 = 1e-9;
    value <= limit + EPSILON * limit.abs()
}
