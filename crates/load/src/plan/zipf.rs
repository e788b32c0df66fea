//! Zipf-distributed ranks in constant time and memory, and a permutation that spreads them over the target.

use super::rng::{StreamRng, mix};

/// Ranks 1 .. `count`, where rank k has a probability proportional to 1 / k^theta, for every theta above 0
/// including 1.
///
/// Rejection-inversion after W. Hörmann and G. Derflinger, "Rejection-inversion to generate variates from
/// monotone discrete distributions", ACM TOMACS 6 (1996): a point under the smooth curve x^-theta is drawn by
/// inverting its integral, rounded to the nearest rank, and accepted if it lies in that rank's column. Few
/// draws are rejected whatever the count and theta, and no table is needed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Zipf {
    count: f64,
    theta: f64,
    /// Integral up to half a rank beyond the first, minus the first column.
    lowest: f64,
    /// Integral up to half a rank beyond the last.
    highest: f64,
    /// A point this close above its rank is always in the column, which usually saves the exact test.
    surely_within: f64,
}

impl Zipf {
    /// `count` at least 1, `theta` above 0.
    pub(super) fn new(count: u64, theta: f64) -> Self {
        let mut zipf = Self { count: count as f64, theta, lowest: 0.0, highest: 0.0, surely_within: 0.0 };
        zipf.lowest = zipf.integral(1.5) - 1.0;
        zipf.highest = zipf.integral(zipf.count + 0.5);
        zipf.surely_within = 2.0 - zipf.integral_inverse(zipf.integral(2.5) - zipf.density(2.0));
        zipf
    }

    /// The next rank, from 0 (the most popular).
    #[inline]
    pub(super) fn draw(&self, rng: &mut StreamRng) -> u64 {
        loop {
            let area = self.highest + rng.fraction() * (self.lowest - self.highest);
            let point = self.integral_inverse(area);
            let rank = point.round().clamp(1.0, self.count);
            if rank - point <= self.surely_within || area >= self.integral(rank + 0.5) - self.density(rank) {
                return to_index(rank);
            }
        }
    }

    /// x^-theta.
    fn density(&self, x: f64) -> f64 {
        (-self.theta * x.ln()).exp()
    }

    /// The integral of the density from 1 to x: (x^(1-theta) - 1) / (1 - theta), and ln x if theta is 1.
    /// Written so that it keeps its precision near there.
    fn integral(&self, x: f64) -> f64 {
        let log = x.ln();
        log * expm1_over(log * (1.0 - self.theta))
    }

    /// The x at which [`Self::integral`] is `area`.
    fn integral_inverse(&self, area: f64) -> f64 {
        // Rounding may put the argument slightly below -1, outside the logarithm's domain.
        let scaled = (area * (1.0 - self.theta)).max(-1.0);
        (area * ln1p_over(scaled)).exp()
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "clamped to 1 .. count by the caller"
)]
fn to_index(rank: f64) -> u64 {
    rank as u64 - 1
}

/// (e^x - 1) / x, and its limit 1 at 0.
fn expm1_over(x: f64) -> f64 {
    if x.abs() > 1e-8 { x.exp_m1() / x } else { 1.0 + x / 2.0 }
}

/// ln(1 + x) / x, and its limit 1 at 0.
fn ln1p_over(x: f64) -> f64 {
    if x.abs() > 1e-8 { x.ln_1p() / x } else { 1.0 - x / 2.0 }
}

/// A pseudo-random permutation of 0 .. `count` without a table.
///
/// Three rounds of "multiply by an odd number, add, fold the upper half onto the lower" on the next power of
/// two, each of which is invertible. A result outside the range is mapped again until it falls inside (cycle
/// walking, Black & Rogaway 2002), which takes fewer than four rounds on average.
#[derive(Clone, Copy, Debug)]
pub(super) struct BlockPermutation {
    count: u64,
    mask: u64,
    shift: u32,
    factors: [u64; 3],
    summands: [u64; 3],
}

impl BlockPermutation {
    /// A permutation of 0 .. `count` (at least 1) for `seed`. If `widest` is at most twice `count`, the map
    /// agrees with that of `widest` except for slots that only the wider one has, so that the block sizes of
    /// a mix share their hot spots.
    pub(super) fn new(count: u64, widest: u64, seed: u64) -> Self {
        let domain = if widest / 2 <= count { widest.max(count) } else { count };
        let bits = u64::BITS - (domain - 1).leading_zeros();
        let mask = if bits == 0 { 0 } else { u64::MAX >> (u64::BITS - bits) };
        let key = |number: u64| mix(seed ^ mix(number));
        Self {
            count,
            mask,
            shift: bits.div_ceil(2).max(1),
            factors: [key(1) | 1, key(2) | 1, key(3) | 1],
            summands: [key(4), key(5), key(6)],
        }
    }

    /// The slot for `index`, which must be below `count`.
    #[inline]
    pub(super) fn at(&self, index: u64) -> u64 {
        let mut slot = index;
        loop {
            for (factor, summand) in self.factors.iter().zip(self.summands) {
                slot = slot.wrapping_mul(*factor).wrapping_add(summand) & self.mask;
                slot ^= slot >> self.shift;
            }
            if slot < self.count {
                return slot;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pearson's statistic of `draws` draws against the exact probabilities, with ranks beyond the 50th in
    /// one cell.
    fn chi_square(count: u64, theta: f64, draws: u32) -> (f64, f64) {
        let cells = usize::try_from(count.min(51)).unwrap();
        let weights: Vec<f64> = (1..=count).map(|rank| (rank as f64).powf(-theta)).collect();
        let total: f64 = weights.iter().sum();
        let mut seen = vec![0.0; cells];
        let mut rng = StreamRng::new(11, count);
        let zipf = Zipf::new(count, theta);
        for _ in 0..draws {
            let rank = zipf.draw(&mut rng);
            assert!(rank < count);
            seen[usize::try_from(rank).unwrap().min(cells - 1)] += 1.0;
        }
        let expected = |cell: usize| {
            let share = if cell == cells - 1 { weights[cell..].iter().sum() } else { weights[cell] };
            share / total * f64::from(draws)
        };
        // Cells with too few expected draws for the approximation are left out.
        let used: Vec<usize> = (0..cells).filter(|&cell| expected(cell) >= 5.0).collect();
        let sum = used.iter().map(|&cell| (seen[cell] - expected(cell)).powi(2) / expected(cell)).sum();
        (sum, (used.len() - 1) as f64)
    }

    #[test]
    fn frequencies_are_the_exact_probabilities() {
        for theta in [0.2, 0.5, 0.99, 1.0, 1.000_000_001, 1.2, 2.0, 5.0] {
            for count in [1, 2, 3, 10, 50, 1000, 100_000] {
                let (sum, freedom) = chi_square(count, theta, 200_000);
                // Mean plus five standard deviations of the chi-square distribution.
                let limit = freedom + 5.0 * (2.0 * freedom).sqrt() + 1e-9;
                assert!(sum <= limit, "theta {theta}, count {count}: {sum} > {limit}");
            }
        }
    }

    #[test]
    fn the_largest_devices_stay_in_range() {
        for theta in [0.01, 0.99, 1.0, 3.0, 50.0] {
            let count = 1 << 50;
            let (zipf, mut rng) = (Zipf::new(count, theta), StreamRng::new(1, 2));
            assert!((0..10_000).all(|_| zipf.draw(&mut rng) < count));
        }
    }

    #[test]
    fn every_slot_is_hit_exactly_once_whatever_the_count() {
        for count in (1..200).chain([255, 256, 257, 1000, 4095, 4096, 4097]) {
            for seed in 0..3 {
                let permutation = BlockPermutation::new(count, count, seed);
                let mut slots: Vec<u64> = (0..count).map(|index| permutation.at(index)).collect();
                slots.sort_unstable();
                assert!(slots.iter().copied().eq(0..count), "count {count}, seed {seed}");
            }
        }
    }

    #[test]
    fn neighbours_do_not_stay_neighbours() {
        let permutation = BlockPermutation::new(1 << 20, 1 << 20, 7);
        let close =
            (0..1000).filter(|&rank| permutation.at(rank).abs_diff(permutation.at(rank + 1)) < 1000).count();
        assert!(close < 10, "{close} of 1000 neighbouring ranks stayed close");
    }

    #[test]
    fn block_sizes_of_a_mix_share_their_hot_spots() {
        let (small, large) =
            (BlockPermutation::new(100_000, 100_000, 3), BlockPermutation::new(99_969, 100_000, 3));
        let moved = (0..1000).filter(|&rank| small.at(rank) != large.at(rank)).count();
        assert!(moved <= 5, "{moved} of the 1000 hottest ranks differ");
    }
}
