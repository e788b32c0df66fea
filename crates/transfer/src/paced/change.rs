//! Finding where writing changed its speed for good.

use iostall_model::paced::{ChangePoint, PacedInterval};
use rand_core::{Rng as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Intervals on each side of a change: fewer are an episode, not a level.
const SIDE_MIN: usize = 3;
/// Random orders that the change is held against.
const ORDERS: u32 = 999;
/// A change that chance alone shows more often than this is none.
const CHANCE_MAX: f64 = 0.01;
/// A change of less than this factor is of no interest, however certain.
const FACTOR_MIN: f64 = 1.25;

/// The one change of level that explains the intervals' speed best, if it is clear and large.
///
/// Levels are means of the logarithm of bytes a second of writing time, so that a fall from 4 to 2 GB/s weighs
/// as much as one from 400 to 200 MB/s. The place is where the squared deviation from two levels is least
/// (Hinkley, Biometrika 57(1), 1970); whether it is a change at all is asked by a permutation test, which
/// needs no law for the noise. `seed` makes the orders repeatable.
pub fn find_change(intervals: &[PacedInterval], seed: u64) -> Option<ChangePoint> {
    let logs: Vec<f64> =
        intervals.iter().filter_map(PacedInterval::writing_bytes_per_second).map(f64::ln).collect();
    if logs.len() != intervals.len() {
        return None;
    }
    let (at, gain) = best_split(&logs)?;
    let (before, after) = (mean(&logs[..at]), mean(&logs[at..]));
    if (before - after).abs() < FACTOR_MIN.ln() {
        return None;
    }
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut shuffled = logs.clone();
    let mut as_clear = 0;
    for _ in 0..ORDERS {
        shuffle(&mut shuffled, &mut random);
        as_clear += u32::from(best_split(&shuffled).is_some_and(|(_, other)| other >= gain));
    }
    // The order that was seen counts among them, so that the chance is never zero.
    let chance = f64::from(as_clear + 1) / f64::from(ORDERS + 1);
    (chance <= CHANCE_MAX).then(|| ChangePoint {
        at_bytes: intervals[at - 1].end_bytes,
        before_bytes_per_second: before.exp(),
        after_bytes_per_second: after.exp(),
        chance,
    })
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The split that takes most from the squared deviation, and how much.
fn best_split(values: &[f64]) -> Option<(usize, f64)> {
    let total: f64 = values.iter().sum();
    let count = values.len() as f64;
    let mut left = values.iter().take(SIDE_MIN - 1).sum::<f64>();
    let mut best: Option<(usize, f64)> = None;
    for at in SIDE_MIN..=values.len().checked_sub(SIDE_MIN)? {
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
        // The bias of a remainder of 64 bits over a few thousand values is below 10^-15.
        let other = usize::try_from(random.next_u64() % (last as u64 + 1)).unwrap_or(0);
        values.swap(last, other);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn intervals(speeds: impl IntoIterator<Item = f64>) -> Vec<PacedInterval> {
        (1u32..)
            .zip(speeds)
            .map(|(number, bytes_per_second)| PacedInterval {
                end_bytes: u64::from(number) * 100_000_000,
                bytes: 100_000_000,
                #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a test")]
                writing_ns: (1e17 / bytes_per_second) as u64,
                ..PacedInterval::default()
            })
            .collect()
    }

    /// Noise of up to a fifth on each side, from a seed.
    fn noisy(level: f64, seed: u64, count: usize) -> Vec<f64> {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        (0..count).map(|_| level * (0.8 + 0.4 * (random.next_u64() % 1000) as f64 / 1000.0)).collect()
    }

    #[test]
    fn a_fall_is_found_where_it_is() {
        for seed in 0..20 {
            let speeds = noisy(4e9, seed, 12).into_iter().chain(noisy(4e8, seed + 100, 30));
            let change = find_change(&intervals(speeds), seed).unwrap();
            assert_eq!(change.at_bytes, 1_200_000_000, "seed {seed}");
            assert!(change.before_bytes_per_second > 3e9 && change.after_bytes_per_second < 6e8);
        }
    }

    #[test]
    fn a_flat_line_with_noise_has_no_change() {
        let found = (0..50).filter(|seed| find_change(&intervals(noisy(1.7e9, *seed, 40)), *seed).is_some());
        assert_eq!(found.count(), 0);
    }

    #[test]
    fn one_bad_interval_is_an_episode_and_not_a_change() {
        let mut speeds = noisy(1e9, 1, 40);
        speeds[20] = 1e7;
        assert_eq!(find_change(&intervals(speeds), 1), None);
    }

    #[test]
    fn too_few_intervals_say_nothing() {
        assert_eq!(find_change(&intervals([4e9, 4e9, 1e8, 1e8]), 1), None);
        assert_eq!(find_change(&[], 1), None);
    }
}
