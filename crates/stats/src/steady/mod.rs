//! When a series has become steady: the five-round criterion for storage devices, and checks for what it overlooks.

mod criterion;
mod limits;
#[cfg(test)]
mod tests;
mod truncation;

use limits::{at_most, range};

pub use criterion::{Determination, WINDOW, first_window};
pub use truncation::{Truncation, truncation};

/// A value of a window may differ from the average by this share of it.
const DEVIATION_MAX: f64 = 0.10;
/// The averages of two windows that confirm each other differ by this share of the first at most.
const AGREEMENT_MAX: f64 = 0.10;
/// The range of 99th percentiles in a window, as a share of their average.
const TAIL_RANGE_MAX: f64 = 0.50;
/// The worst maximum of a window over the median maximum.
const TAIL_WORST_MAX: f64 = 10.0;

/// Whether no value of the window is further from the average than a tenth of it. The criterion alone passes a window with one low
/// value and one that swings between two levels.
pub fn is_even(values: &[f64]) -> bool {
    let Some(found) = Determination::of(1, values) else { return false };
    deviation(values, found.average).is_some_and(|share| at_most(share, DEVIATION_MAX))
}

/// The largest distance of a value from `average`, as a share of it; `None` if that is not above 0.
pub fn deviation(values: &[f64], average: f64) -> Option<f64> {
    let largest = values.iter().map(|value| (value - average).abs()).fold(0.0, f64::max);
    (average > 0.0).then(|| largest / average)
}

/// Whether a later window confirms the `first`: it meets the criterion too, and its average is within a tenth.
pub fn confirms(first: &Determination, second: &Determination) -> bool {
    let apart = (second.average - first.average).abs();
    second.is_met() && at_most(apart, AGREEMENT_MAX * first.average)
}

/// How far the slow requests of a window's rounds are apart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tail {
    /// Largest minus smallest 99th percentile, as a share of their average.
    pub p99_range: f64,
    /// The largest maximum over the median one.
    pub worst: f64,
}

impl Tail {
    /// From the 99th percentiles and the maxima of the rounds, in any unit of time; `None` without values, or if they are 0.
    pub fn of(p99: &[f64], max: &[f64]) -> Option<Self> {
        let average = crate::summary::mean(p99).filter(|average| *average > 0.0)?;
        let median = crate::summary::median(max).filter(|median| *median > 0.0)?;
        let (low, high) = range(p99);
        Some(Self { p99_range: (high - low) / average, worst: range(max).1 / median })
    }

    pub fn is_stable(&self) -> bool {
        at_most(self.p99_range, TAIL_RANGE_MAX) && at_most(self.worst, TAIL_WORST_MAX)
    }
}
