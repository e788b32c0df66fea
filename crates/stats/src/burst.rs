//! What storage gave for a while and then no longer, and how much that was: burst credits, or a cache that filled.

use crate::change::{Change, change};

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Burst {
    /// Index of the first interval of the new level, and both levels, per second.
    pub change: Change,
    /// How long the first level lasted, seconds.
    pub lasted_s: f64,
    /// What the first level gave beyond the later one: the size of a bucket that was full and refills at the later rate. Negative for a
    /// rise.
    pub beyond: f64,
}

impl Burst {
    /// How long a bucket that refills at the later rate takes from empty to full, seconds; `None` for a rise, and if it never
    /// refills.
    pub fn refill_s(&self) -> Option<f64> {
        (self.beyond > 0.0 && self.change.after > 0.0).then(|| self.beyond / self.change.after)
    }
}

/// The lasting change of level in `counts`, which were taken over intervals of `length_s` seconds each, if there is one by
/// [`change`]'s rules.
///
/// A bucket of `size` that is emptied at `fast` and refilled at `slow` lasts `size / (fast - slow)` seconds. What exceeds the later level
/// is added up, so that the interval in which it ran out counts as far as it was fast.
pub fn burst(counts: &[u64], length_s: f64, side_min: usize, share_min: f64) -> Option<Burst> {
    let rates: Vec<f64> = counts.iter().map(|count| *count as f64 / length_s).collect();
    let found = change(&rates, side_min, share_min)?;
    // The interval in which the level changed is one of the two at the split, and in neither mean.
    let before = mean(&rates[..found.at - 1])?;
    let after = mean(&rates[found.at + 1..])?;
    let beyond = rates[..=found.at].iter().map(|rate| (rate - after) * length_s).sum();
    Some(Burst {
        change: Change { at: found.at, before, after },
        lasted_s: beyond / (before - after),
        beyond,
    })
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Requests in each second under a load that takes all it gets.
    fn bucket(size: f64, fast: f64, slow: f64, seconds: u32) -> Vec<f64> {
        let lasts_s = size / (fast - slow);
        let given = |until_s: f64| fast * until_s.min(lasts_s) + slow * (until_s - lasts_s).max(0.0);
        (0..seconds).map(|second| given(f64::from(second + 1)) - given(f64::from(second))).collect()
    }

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small and positive")]
    fn counted(rates: &[f64]) -> Vec<u64> {
        rates.iter().map(|rate| rate.round() as u64).collect()
    }

    #[test]
    fn the_bucket_of_a_published_example_is_found() {
        // A volume of 100 GB that earns 300 I/Os a second, spends 3,000 and holds 5.4 million (the gp2 volumes of Amazon's EBS).
        let found = burst(&counted(&bucket(5.4e6, 3000.0, 300.0, 2500)), 1.0, 5, 0.2).unwrap();
        assert!((found.beyond / 5.4e6 - 1.0).abs() < 0.001, "{found:?}");
        assert!((found.lasted_s - 2000.0).abs() < 1.0 && found.change.at == 2000, "{found:?}");
        assert!((found.refill_s().unwrap() - 18_000.0).abs() < 10.0, "{found:?}");
    }

    #[test]
    fn a_rise_has_no_bucket() {
        let mut counts = counted(&bucket(40_000.0, 3000.0, 300.0, 60));
        counts.reverse();
        let found = burst(&counts, 1.0, 5, 0.2).unwrap();
        assert!(found.beyond < 0.0 && found.refill_s().is_none(), "{found:?}");
    }

    #[test]
    fn intervals_of_another_length_give_the_same_bucket() {
        let halves: Vec<u64> = counted(&bucket(40_000.0, 3000.0, 300.0, 60))
            .into_iter()
            .flat_map(|count| [count / 2, count - count / 2])
            .collect();
        let found = burst(&halves, 0.5, 5, 0.2).unwrap();
        assert!((found.beyond / 40_000.0 - 1.0).abs() < 0.01, "{found:?}");
        assert!((found.change.before / 3000.0 - 1.0).abs() < 0.01, "{found:?}");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        #[test]
        fn size_and_both_rates_are_found_within_ten_per_cent_of_a_noisy_volume(
            slow in 100.0..1000.0_f64,
            factor in 1.5..10.0_f64,
            lasts_s in 10.0..50.0_f64,
            noise in prop::collection::vec(-0.05..0.05_f64, 120),
        ) {
            let (fast, size) = (slow * factor, slow * (factor - 1.0) * lasts_s);
            let rates: Vec<f64> = bucket(size, fast, slow, 120)
                .iter()
                .zip(noise)
                .map(|(rate, noise)| rate * (1.0 + noise))
                .collect();
            let found = burst(&counted(&rates), 1.0, 5, 0.2).unwrap();
            prop_assert!((found.beyond / size - 1.0).abs() < 0.1, "{found:?}");
            prop_assert!((found.change.before / fast - 1.0).abs() < 0.1, "{found:?}");
            prop_assert!((found.change.after / slow - 1.0).abs() < 0.1, "{found:?}");
        }

        #[test]
        fn a_disk_with_noise_alone_has_none(counts in prop::collection::vec(700_u64..1300, 30..120)) {
            prop_assert_eq!(burst(&counts, 1.0, 5, 0.2), None);
        }
    }
}
