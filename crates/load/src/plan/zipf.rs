//! Zipf-distributed ranks in constant time and memory.

use super::rng::StreamRng;

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
}
