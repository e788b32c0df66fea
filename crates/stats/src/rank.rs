//! The Mann–Whitney test (Wilcoxon's rank sum): whether one side tends to be larger, whatever the shape of
//! the distributions.

use statrs::distribution::{ContinuousCDF, Normal};

/// Up to this many pairs, and without ties, the distribution is computed exactly.
const EXACT_PAIRS_MAX: usize = 400;

/// Result of the rank test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RankTest {
    /// Pairs in which the second side is larger; ties count half.
    pub larger_pairs: f64,
    /// Two-sided p-value.
    pub p_value: f64,
    /// Whether the p-value is exact; otherwise it is the normal approximation, corrected for ties and
    /// continuity.
    pub exact: bool,
}

/// Ranks `first` and `second` together. `None` if a side is empty.
pub fn rank_test(first: &[f64], second: &[f64]) -> Option<RankTest> {
    let pairs = first.len() * second.len();
    if pairs == 0 {
        return None;
    }
    let (mut doubled, mut ties) = (0_usize, false);
    for left in first {
        for right in second {
            match right.total_cmp(left) {
                std::cmp::Ordering::Greater => doubled += 2,
                std::cmp::Ordering::Equal => {
                    doubled += 1;
                    ties = true;
                }
                std::cmp::Ordering::Less => {}
            }
        }
    }
    let mut all: Vec<f64> = first.iter().chain(second).copied().collect();
    all.sort_by(f64::total_cmp);
    ties |= all.windows(2).any(|pair| pair[0].total_cmp(&pair[1]).is_eq());
    let exact = !ties && pairs <= EXACT_PAIRS_MAX;
    let p_value = if exact {
        exact_p(first.len(), second.len(), doubled / 2)
    } else {
        normal_p(first.len() as f64, second.len() as f64, doubled as f64 / 2.0, &all)
    };
    Some(RankTest { larger_pairs: doubled as f64 / 2.0, p_value, exact })
}

/// Twice the share of all orders of `m` and `n` values whose count of larger pairs is at least as extreme as
/// `count`.
fn exact_p(m: usize, n: usize, count: usize) -> f64 {
    let counts = orders(m, n);
    let total: f64 = counts.iter().sum();
    let out: f64 = counts[..=count.min(m * n - count)].iter().sum();
    (2.0 * out / total).min(1.0)
}

/// How many orders of `m` and `n` values have each count of larger pairs: the coefficients of the Gaussian binomial
/// `(m + n over m)`, built factor by factor.
fn orders(m: usize, n: usize) -> Vec<f64> {
    let mut counts = vec![0.0; m * n + 1];
    counts[0] = 1.0;
    for factor in 1..=m {
        // Multiplies by (1 - q^(n + factor)), from the top so that each coefficient is used before it
        // changes.
        for power in (n + factor..counts.len()).rev() {
            counts[power] -= counts[power - n - factor];
        }
        // Divides by (1 - q^factor), from the bottom.
        for power in factor..counts.len() {
            counts[power] += counts[power - factor];
        }
    }
    counts
}

fn normal_p(m: f64, n: f64, count: f64, sorted: &[f64]) -> f64 {
    let all = m + n;
    let tied: f64 = sorted
        .chunk_by(|left, right| left.total_cmp(right).is_eq())
        .map(|group| {
            let size = group.len() as f64;
            size.powi(3) - size
        })
        .sum();
    let variance = m * n / 12.0 * (all + 1.0 - tied / (all * (all - 1.0)));
    let distance = ((count - m * n / 2.0).abs() - 0.5).max(0.0);
    match Normal::new(0.0, 1.0) {
        Ok(normal) if variance > 0.0 => (2.0 * normal.sf(distance / variance.sqrt())).min(1.0),
        _ => 1.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn small_samples_have_the_probabilities_of_the_printed_tables() {
        let p = |first: &[f64], second: &[f64]| rank_test(first, second).unwrap().p_value;
        // Complete separation: 2 / C(m + n, m).
        assert!((p(&[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0]) - 0.1).abs() < 1e-12);
        assert!((p(&[5.0, 6.0, 7.0, 8.0], &[1.0, 2.0, 3.0, 4.0]) - 2.0 / 70.0).abs() < 1e-12);
        // The critical value of U for 5 and 5 at 5 % is 2: p = 2 × 4 / 252.
        assert!((p(&[1.0, 2.0, 3.0, 4.0, 7.0], &[5.0, 6.0, 8.0, 9.0, 10.0]) - 8.0 / 252.0).abs() < 1e-12);
    }

    #[test]
    fn equal_sides_are_no_difference_and_ties_are_approximated() {
        let same = rank_test(&[1.0; 6], &[1.0; 6]).unwrap();
        assert!(!same.exact && (same.p_value - 1.0).abs() < 1e-9, "{same:?}");
        let apart = rank_test(&[1.0; 6], &[2.0; 6]).unwrap();
        assert!(apart.p_value < 0.01 && (apart.larger_pairs - 36.0).abs() < 1e-9, "{apart:?}");
        assert_eq!(rank_test(&[], &[1.0]), None);
    }

    proptest! {
        #[test]
        fn the_exact_probability_is_that_of_trying_every_order(m in 1_usize..5, n in 1_usize..5, mask in any::<u16>()) {
            // Every choice of the ranks of the first side out of m + n.
            let larger = |chosen: u32| {
                let second = (0..m + n).filter(|rank| chosen >> rank & 1 == 0);
                second.map(|rank| (0..rank).filter(|below| chosen >> below & 1 == 1).count()).sum::<usize>()
            };
            let ways: Vec<u32> = (0..1_u32 << (m + n)).filter(|way| way.count_ones() as usize == m).collect();
            let way = ways[mask as usize % ways.len()];
            let count = larger(way);
            let out = count.min(m * n - count);
            let at_most = ways.iter().filter(|way| larger(**way) <= out).count();
            let expected = (2.0 * at_most as f64 / ways.len() as f64).min(1.0);
            let side = |bit: u32| -> Vec<f64> {
                (0..m + n).filter(|rank| way >> rank & 1 == bit).map(|rank| rank as f64).collect()
            };
            let found = rank_test(&side(1), &side(0)).unwrap();
            prop_assert!((found.p_value - expected).abs() < 1e-9, "{} {}", found.p_value, expected);
        }

        #[test]
        fn the_approximation_is_near_the_exact_probability(
            first in prop::collection::vec(0.0_f64..1.0, 12..16),
            second in prop::collection::vec(0.0_f64..1.0, 12..16),
        ) {
            let found = rank_test(&first, &second).unwrap();
            let mut all: Vec<f64> = first.iter().chain(&second).copied().collect();
            all.sort_by(f64::total_cmp);
            let near = normal_p(first.len() as f64, second.len() as f64, found.larger_pairs, &all);
            prop_assert!((found.p_value - near).abs() < 0.03, "{} {}", found.p_value, near);
        }
    }
}
