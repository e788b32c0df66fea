//! Finds where the write speed changed for good.

use iostall_model::paced::{ChangePoint, PacedInterval};
use iostall_stats::permutation::shift;

/// Fewest intervals on each side of a change; fewer are an episode, not a level.
const SIDE_MIN: usize = 3;
/// A change must have a lower p-value than this.
const P_VALUE_MAX: f64 = 0.01;
/// A smaller factor is of no interest, however significant.
const FACTOR_MIN: f64 = 1.25;

/// A beginning is not called fast before it is this many times as fast as what follows: in pieces as short as a beginning is, the
/// speed of writing varies much.
const DECAY_MIN: f64 = 2.0;

/// A fast beginning that is over before it fills [`SIDE_MIN`] intervals, as at a memory limit; `pieces` are the same writing cut finer.
pub(super) fn find_decay(pieces: &[PacedInterval], seed: u64) -> Option<ChangePoint> {
    find_change(pieces, seed)
        .filter(|change| change.before_bytes_per_second >= change.after_bytes_per_second * DECAY_MIN)
}

/// The one change of level that explains the intervals' speed best, if it is clear and large.
///
/// Levels are means of the logarithm of bytes per second of writing time, so that a drop from 4 to 2 GB/s
/// weighs as much as one from 400 to 200 MB/s. `seed` makes the permutation test repeatable.
pub fn find_change(intervals: &[PacedInterval], seed: u64) -> Option<ChangePoint> {
    let logs: Vec<f64> =
        intervals.iter().filter_map(PacedInterval::writing_bytes_per_second).map(f64::ln).collect();
    if logs.len() != intervals.len() {
        return None;
    }
    let found = shift(&logs, SIDE_MIN, FACTOR_MIN.ln(), seed)?;
    (found.p_value <= P_VALUE_MAX).then(|| ChangePoint {
        at_bytes: intervals[found.at - 1].end_bytes,
        before_bytes_per_second: found.before.exp(),
        after_bytes_per_second: found.after.exp(),
        p_value: found.p_value,
    })
}

#[cfg(test)]
mod tests {
    use rand_core::{Rng as _, SeedableRng as _};
    use rand_xoshiro::Xoshiro256PlusPlus;

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

    /// Seeded noise of up to a fifth on each side.
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
    fn a_beginning_that_is_twice_as_fast_is_a_decay_and_noise_is_none() {
        for seed in 0..20 {
            let speeds = noisy(2e9, seed, 8).into_iter().chain(noisy(4.5e8, seed + 100, 110));
            assert_eq!(find_decay(&intervals(speeds), seed).unwrap().at_bytes, 800_000_000, "seed {seed}");
            assert_eq!(find_decay(&intervals(noisy(5e8, seed, 120)), seed), None);
        }
    }

    #[test]
    fn too_few_intervals_say_nothing() {
        assert_eq!(find_change(&intervals([4e9, 4e9, 1e8, 1e8]), 1), None);
        assert_eq!(find_change(&[], 1), None);
    }
}
