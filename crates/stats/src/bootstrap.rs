//! The bootstrap: estimates how the ratio of two means would vary between repeats by resampling the
//! measurements (Efron and Tibshirani, "An Introduction to the Bootstrap", 1993; percentile interval).

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::summary::mean;

/// Number of resamples: each end of a 95 % interval then has 50 of them beyond it.
pub const RESAMPLES: usize = 2000;

/// An interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    pub low: f64,
    /// Its upper end.
    pub high: f64,
}

/// 95 % percentile interval of mean(second) / mean(first). The same seed gives the same interval. `None` if a
/// side is empty or the first mean is not positive and finite.
pub fn ratio_interval(first: &[f64], second: &[f64], seed: u64) -> Option<Interval> {
    let sound = |value: f64| value.is_finite() && value > 0.0;
    if !sound(mean(first)?) || !mean(second)?.is_finite() {
        return None;
    }
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut ratios: Vec<f64> = (0..RESAMPLES)
        .map(|_| drawn_mean(second, &mut rng) / drawn_mean(first, &mut rng))
        .filter(|ratio| ratio.is_finite())
        .collect();
    ratios.sort_by(f64::total_cmp);
    let tail = ratios.len() / 40;
    Some(Interval { low: *ratios.get(tail)?, high: *ratios.get(ratios.len().checked_sub(tail + 1)?)? })
}

/// Mean of a resample with replacement.
fn drawn_mean(values: &[f64], rng: &mut impl Rng) -> f64 {
    let count = values.len() as u128;
    let drawn: f64 = (0..values.len())
        .map(|_| {
            // The high half of the product is uniform below `count`.
            let place = usize::try_from((u128::from(rng.next_u64()) * count) >> 64).unwrap_or(0);
            values[place]
        })
        .sum();
    drawn / values.len() as f64
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// About -1 to 1, deterministic.
    pub(crate) fn noise(number: u64) -> f64 {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(number);
        (rng.next_u64() >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    }

    #[test]
    fn the_interval_is_about_as_wide_as_theory_says() {
        let first: Vec<f64> = (0..400).map(|number| 100.0 + 10.0 * noise(number)).collect();
        let second: Vec<f64> = (400..800).map(|number| 100.0 + 10.0 * noise(number)).collect();
        let found = ratio_interval(&first, &second, 3).unwrap();
        // Uniform noise of ±10 has a standard deviation of 10/√3, so the ratio of two means of 400 has one of
        // 0.0041.
        let width = found.high - found.low;
        assert!((0.012..0.021).contains(&width), "{found:?}");
        assert!(found.low < 1.01 && found.high > 0.99);
        assert_eq!(ratio_interval(&first, &second, 3), Some(found));
    }

    #[test]
    fn equal_values_leave_no_doubt_and_nothing_has_no_ratio() {
        assert_eq!(ratio_interval(&[2.0; 5], &[3.0; 5], 1), Some(Interval { low: 1.5, high: 1.5 }));
        assert_eq!(ratio_interval(&[], &[1.0], 1), None);
        assert_eq!(ratio_interval(&[0.0; 4], &[1.0; 4], 1), None);
    }
}
