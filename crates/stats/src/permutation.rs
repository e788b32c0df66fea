//! Detects a change of level by a permutation test, which makes no assumption about the noise.

use rand_core::{Rng as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::summary::mean;

/// Random permutations that the change is compared with.
const ORDERS: u32 = 999;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shift {
    /// Index of the first value of the new level.
    pub at: usize,
    pub before: f64,
    pub after: f64,
    /// p-value: how often a random order of the values shows a change at least as clear, above 0 to 1.
    pub p_value: f64,
}

/// The change of level in `series` that reduces the squared deviation most (Hinkley, Biometrika 57(1), 1970),
/// with at least `side_min` values on each side, and its p-value. `None` for too few values, and for levels
/// less than `difference_min` apart, however significant. `seed` makes the permutations repeatable.
pub fn shift(series: &[f64], side_min: usize, difference_min: f64, seed: u64) -> Option<Shift> {
    let (at, gain) = best_split(series, side_min)?;
    let (before, after) = (mean(&series[..at])?, mean(&series[at..])?);
    if (before - after).abs() < difference_min {
        return None;
    }
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut shuffled = series.to_vec();
    let mut as_clear = 0;
    for _ in 0..ORDERS {
        shuffle(&mut shuffled, &mut random);
        as_clear += u32::from(best_split(&shuffled, side_min).is_some_and(|(_, other)| other >= gain));
    }
    // The observed order counts as one of them, so that the p-value is never zero.
    let p_value = f64::from(as_clear + 1) / f64::from(ORDERS + 1);
    Some(Shift { at, before, after, p_value })
}

/// The split that reduces the squared deviation most, and by how much.
fn best_split(values: &[f64], side_min: usize) -> Option<(usize, f64)> {
    let side_min = side_min.max(1);
    let total: f64 = values.iter().sum();
    let count = values.len() as f64;
    let mut left = values.iter().take(side_min - 1).sum::<f64>();
    let mut best: Option<(usize, f64)> = None;
    for at in side_min..=values.len().checked_sub(side_min)? {
        left += values[at - 1];
        let at_count = at as f64;
        let difference = left / at_count - (total - left) / (count - at_count);
        let gain = at_count * (count - at_count) / count * difference * difference;
        if best.is_none_or(|(_, least)| gain > least) {
            best = Some((at, gain));
        }
    }
    best
}

/// Fisher and Yates.
fn shuffle(values: &mut [f64], random: &mut Xoshiro256PlusPlus) {
    for last in (1..values.len()).rev() {
        // The bias of a 64-bit remainder over a few thousand values is below 10^-15.
        let other = usize::try_from(random.next_u64() % (last as u64 + 1)).unwrap_or(0);
        values.swap(last, other);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::noise;

    fn noisy(level: f64, from: u64, count: u64) -> impl Iterator<Item = f64> {
        (from..from + count).map(move |number| level + 0.2 * noise(number))
    }

    #[test]
    fn a_step_is_found_where_it_is_with_both_levels() {
        let series: Vec<f64> = noisy(4.0, 0, 12).chain(noisy(2.0, 100, 30)).collect();
        let found = shift(&series, 3, 0.2, 7).unwrap();
        assert_eq!(found.at, 12);
        assert!((found.before - 4.0).abs() < 0.2 && (found.after - 2.0).abs() < 0.2, "{found:?}");
        // None of the 999 orders is as clear, so the observed one is the only one of 1000.
        assert!((found.p_value - 0.001).abs() < 1e-12, "{found:?}");
        assert_eq!(shift(&series, 3, 0.2, 7), Some(found), "the same seed gives the same orders");
        assert_eq!(shift(&series, 3, 2.5, 7), None, "too small a change");
    }

    #[test]
    fn noise_has_a_large_probability_and_too_few_values_none() {
        let series: Vec<f64> = noisy(1.0, 0, 40).collect();
        assert!(shift(&series, 3, 0.0, 1).unwrap().p_value > 0.05);
        assert_eq!(shift(&[4.0, 4.0, 1.0, 1.0, 1.0], 3, 0.0, 1), None);
        assert_eq!(shift(&[], 3, 0.0, 1), None);
    }
}
