//! Whether two sets of measurements differ, by how much, and how certain that is.

#[cfg(test)]
mod false_alarms;

use crate::autocorrelation::level_of_series;
use crate::welch::{Interval, Level, welch};

/// A difference whose probability under chance alone is below this is called one.
pub const ALPHA: f64 = 0.05;
/// Fewest runs a side that "significant" rests on: how much runs of one and the same setting differ is not known from fewer.
pub const RUNS_MIN: usize = 4;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Difference {
    pub first: f64,
    pub second: f64,
    /// 95 % confidence interval of second / first.
    pub ratio: Interval,
    /// Probability of means this far apart if both sides were alike, two-sided.
    pub p_value: f64,
}

impl Difference {
    /// Second minus first.
    pub fn difference(&self) -> f64 {
        self.second - self.first
    }

    pub fn ratio(&self) -> f64 {
        self.second / self.first
    }

    fn of(first: &Level, second: &Level) -> Option<Self> {
        let found = welch(first, second)?;
        Some(Self { first: first.mean, second: second.mean, ratio: found.interval, p_value: found.p_value })
    }
}

/// Compares sides of independent runs, one value a run: Welch's t test. What it finds holds for runs that were not made, too.
/// `None` for fewer than [`RUNS_MIN`] runs on a side, or a side whose mean is not above 0.
pub fn compare_runs(first: &[f64], second: &[f64]) -> Option<Difference> {
    if first.len().min(second.len()) < RUNS_MIN {
        return None;
    }
    Difference::of(&Level::of_independent(first)?, &Level::of_independent(second)?)
}

/// Compares these very runs by the seconds of each, taking into account that seconds of one run resemble each other. What it
/// finds holds for these runs alone: the next run of the same setting may lie elsewhere. `None` where a run has too few
/// independent seconds, or a side's mean is not above 0.
pub fn compare_seconds(first: &[Vec<f64>], second: &[Vec<f64>]) -> Option<Difference> {
    let level = |runs: &[Vec<f64>]| -> Option<Level> {
        let levels: Option<Vec<Level>> = runs.iter().map(|seconds| level_of_series(seconds)).collect();
        Level::mean_of(&levels?)
    };
    Difference::of(&level(first)?, &level(second)?)
}

/// Holm's correction for many comparisons at once: with the p-values it returns, the chance that even one of all the
/// comparisons is called a difference without there being any stays below [`ALPHA`], however they depend on each other
/// (Scandinavian Journal of Statistics 6(2), 1979). What has no p-value keeps none and costs the others nothing.
pub fn correct_for_many(p_values: &[Option<f64>]) -> Vec<Option<f64>> {
    let mut order: Vec<(usize, f64)> =
        p_values.iter().enumerate().filter_map(|(index, p_value)| Some((index, (*p_value)?))).collect();
    order.sort_by(|left, right| left.1.total_cmp(&right.1));
    let mut corrected = vec![None; p_values.len()];
    let mut largest = 0.0_f64;
    for (done, (index, p_value)) in order.iter().enumerate() {
        largest = largest.max((p_value * (order.len() - done) as f64).min(1.0));
        corrected[*index] = Some(largest);
    }
    corrected
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::noise;
    use proptest::prelude::*;

    #[test]
    fn sides_that_plainly_differ_do_so_and_by_as_much() {
        let first = [100.0, 101.0, 99.0, 100.5, 99.5];
        let second = first.map(|value| value * 1.2);
        let found = compare_runs(&first, &second).unwrap();
        assert!(found.p_value < 1e-6, "{found:?}");
        assert!((found.ratio() - 1.2).abs() < 1e-9 && (found.difference() - 20.0).abs() < 1e-9);
        assert!(found.ratio.low < 1.2 && 1.2 < found.ratio.high);
    }

    #[test]
    fn three_runs_a_side_are_too_few_for_any_verdict() {
        assert_eq!(compare_runs(&[1.0, 1.1, 1.2], &[9.0, 9.1, 9.2, 9.3]), None);
    }

    #[test]
    fn two_halves_of_one_slow_wave_are_no_difference() {
        let wave = |second: usize| 1000.0 + 100.0 * (second as f64 / 15.0).sin() + noise(second as u64);
        let series: Vec<f64> = (0..120).map(wave).collect();
        let (first, second) = series.split_at(60);
        assert_eq!(compare_seconds(&[first.to_vec()], &[second.to_vec()]), None);
    }

    #[test]
    fn of_many_comparisons_only_what_stands_out_of_all_of_them_remains() {
        let corrected = correct_for_many(&[Some(0.03), None, Some(0.001), Some(0.04), Some(0.9)]);
        let expected = [Some(0.09), None, Some(0.004), Some(0.09), Some(0.9)];
        for (found, expected) in corrected.iter().zip(expected) {
            assert_eq!(found.is_some(), expected.is_some());
            assert!((found.unwrap_or(0.0) - expected.unwrap_or(0.0)).abs() < 1e-12, "{corrected:?}");
        }
        assert_eq!(correct_for_many(&[]), []);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn the_other_way_round_the_same_is_found(
            first in prop::collection::vec(50.0_f64..150.0, 4..12),
            second in prop::collection::vec(50.0_f64..150.0, 4..12),
        ) {
            let there = compare_runs(&first, &second).unwrap();
            let back = compare_runs(&second, &first).unwrap();
            prop_assert!((there.p_value - back.p_value).abs() < 1e-9);
            prop_assert!((there.ratio() * back.ratio() - 1.0).abs() < 1e-9);
            prop_assert!((there.ratio.low * back.ratio.high - 1.0).abs() < 1e-9);
            prop_assert_eq!(there.p_value < ALPHA, !(there.ratio.low <= 1.0 && 1.0 <= there.ratio.high));
        }
    }
}
