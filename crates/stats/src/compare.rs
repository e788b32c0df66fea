//! Whether two sets of measurements differ, by how much, and how certain that is.

use crate::autocorrelation::{block_length, block_means};
use crate::bootstrap::{Interval, ratio_interval};
use crate::rank::rank_test;
use crate::summary::mean;

/// A difference with a p-value below this is called significant.
pub const ALPHA: f64 = 0.05;
/// Fewest repeats, or blocks of a series, per side for a verdict: with three against three, even the most
/// extreme ranks occur by chance one time in ten.
pub const SAMPLES_MIN: usize = 4;

/// How the samples are related.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Samples {
    /// One value per run, independent of each other.
    Runs,
    /// Seconds of one run: neighbours are correlated, so they are grouped into blocks.
    Seconds,
}

/// The difference between two sides.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Difference {
    pub first: f64,
    pub second: f64,
    /// 95 % confidence interval of second / first.
    pub ratio: Interval,
    /// Two-sided p-value of the rank test.
    pub p_value: f64,
    /// Values, or blocks of seconds, per side.
    pub counts: (usize, usize),
}

impl Difference {
    /// Second minus first.
    pub fn difference(&self) -> f64 {
        self.second - self.first
    }

    /// Second divided by first.
    pub fn ratio(&self) -> f64 {
        self.second / self.first
    }

    /// Whether both the interval and the rank test show a difference.
    pub fn is_significant(&self) -> bool {
        self.p_value < ALPHA && !(self.ratio.low <= 1.0 && 1.0 <= self.ratio.high)
    }
}

/// Compares two sides with a bootstrap interval of the ratio of their means and the Mann–Whitney rank test.
/// Seconds are first grouped into blocks as long as their correlation lasts; the blocks are then resampled
/// and ranked. `None` for fewer than [`SAMPLES_MIN`] values or blocks on a side, or if the first mean is not
/// positive.
pub fn compare(first: &[f64], second: &[f64], samples: Samples, seed: u64) -> Option<Difference> {
    let units = |values: &[f64]| match samples {
        Samples::Runs => values.to_vec(),
        Samples::Seconds => block_means(values, block_length(values)),
    };
    let (left, right) = (units(first), units(second));
    if left.len() < SAMPLES_MIN || right.len() < SAMPLES_MIN {
        return None;
    }
    let ratio = ratio_interval(&left, &right, seed)?;
    let ranks = rank_test(&left, &right)?;
    Some(Difference {
        first: mean(first)?,
        second: mean(second)?,
        ratio,
        p_value: ranks.p_value,
        counts: (left.len(), right.len()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bootstrap::tests::noise;
    use proptest::prelude::*;

    #[test]
    fn sides_that_plainly_differ_do_so_significantly_and_by_as_much() {
        let first = [100.0, 101.0, 99.0, 100.5, 99.5];
        let second = first.map(|value| value * 1.2);
        let found = compare(&first, &second, Samples::Runs, 1).unwrap();
        assert!(found.is_significant());
        assert!((found.ratio() - 1.2).abs() < 1e-9 && (found.difference() - 20.0).abs() < 1e-9);
        assert!(found.ratio.low < 1.2 && 1.2 < found.ratio.high);
    }

    #[test]
    fn a_difference_needs_a_p_value_below_five_percent_and_an_interval_without_one() {
        let found = |p_value: f64, low: f64, high: f64| {
            let ratio = Interval { low, high };
            Difference { first: 1.0, second: 1.0, ratio, p_value, counts: (9, 9) }.is_significant()
        };
        assert!(found(0.049, 1.01, 1.2) && found(0.049, 0.8, 0.99));
        assert!(!found(ALPHA, 1.01, 1.2), "five percent is what chance gives");
        assert!(!found(0.001, 1.0, 1.2) && !found(0.001, 0.8, 1.0) && !found(0.001, 0.9, 1.1));
    }

    #[test]
    fn three_runs_a_side_are_too_few_for_any_verdict() {
        assert_eq!(compare(&[1.0, 1.1, 1.2], &[9.0, 9.1, 9.2, 9.3], Samples::Runs, 1), None);
    }

    #[test]
    fn a_wave_of_many_seconds_is_no_difference_though_each_second_alone_would_look_like_one() {
        // Two halves of one slow wave: they differ as independent seconds, but as a series they are the same
        // storage.
        let wave = |second: usize| 1000.0 + 100.0 * (second as f64 / 15.0).sin() + noise(second as u64);
        let series: Vec<f64> = (0..120).map(wave).collect();
        let (first, second) = series.split_at(60);
        let as_seconds = compare(first, second, Samples::Seconds, 1);
        assert!(as_seconds.is_none_or(|found| !found.is_significant()), "{as_seconds:?}");
        assert!(compare(first, second, Samples::Runs, 1).unwrap().is_significant());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn the_other_way_round_the_same_is_found(
            first in prop::collection::vec(50.0_f64..150.0, 4..12),
            second in prop::collection::vec(50.0_f64..150.0, 4..12),
        ) {
            let there = compare(&first, &second, Samples::Runs, 7).unwrap();
            let back = compare(&second, &first, Samples::Runs, 7).unwrap();
            prop_assert!((there.p_value - back.p_value).abs() < 1e-9);
            prop_assert!((there.ratio() * back.ratio() - 1.0).abs() < 1e-9);
        }
    }
}
