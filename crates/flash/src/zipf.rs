//! Zipf-distributed ranks in constant time and memory.

use crate::random::Stream;

/// Ranks 1 .. `count`, rank k with a probability proportional to 1 / k^theta.
///
/// By rejection-inversion (Hörmann and Derflinger, ACM TOMACS 6, 1996): a point under the curve x^-theta is drawn by
/// inverting the curve's integral, and its nearest rank is taken if the point lies in that rank's column.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Zipf {
    count: f64,
    theta: f64,
    /// Area up to half a rank beyond the first, without the first column.
    area_first: f64,
    /// Area up to half a rank beyond the last.
    area_last: f64,
}

impl Zipf {
    /// `count` at least 1, `theta` above 0.
    pub(crate) fn new(count: u32, theta: f64) -> Self {
        let mut zipf = Self { count: f64::from(count), theta, area_first: 0.0, area_last: 0.0 };
        zipf.area_first = zipf.area(1.5) - 1.0;
        zipf.area_last = zipf.area(zipf.count + 0.5);
        zipf
    }

    /// The next rank, from 0, the most popular.
    #[inline]
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to 1 .. count")]
    pub(crate) fn draw(&self, rng: &mut Stream) -> u32 {
        loop {
            let area = self.area_last + rng.fraction() * (self.area_first - self.area_last);
            let rank = self.inverse(area).round().clamp(1.0, self.count);
            if area >= self.area(rank + 0.5) - (-self.theta * rank.ln()).exp() {
                return rank as u32 - 1;
            }
        }
    }

    /// Integral of x^-theta from 1 to `x`; exact near theta = 1, where it is ln x.
    fn area(&self, x: f64) -> f64 {
        let log = x.ln();
        let power = log * (1.0 - self.theta);
        if power.abs() > 1e-8 { log * power.exp_m1() / power } else { log * (1.0 + power / 2.0) }
    }

    /// The x at which [`Self::area`] is `area`.
    fn inverse(&self, area: f64) -> f64 {
        // Rounding may put it a little below -1, where there is no logarithm.
        let scaled = (area * (1.0 - self.theta)).max(-1.0);
        if scaled.abs() > 1e-8 {
            (area * scaled.ln_1p() / scaled).exp()
        } else {
            (area * (1.0 - scaled / 2.0)).exp()
        }
    }
}

/// The share of all draws that go to ranks 1 .. `ranks` of `count`.
pub(crate) fn share_of_first(ranks: f64, count: f64, theta: f64) -> f64 {
    harmonic(ranks, theta) / harmonic(count, theta)
}

/// Sum of k^-theta for k = 1 .. n: exact for the first hundred, and then the integral with its first corrections.
fn harmonic(n: f64, theta: f64) -> f64 {
    const EXACT: u32 = 100;
    let exact = |most: u32| (1..=most).map(|k| f64::from(k).powf(-theta)).sum::<f64>();
    if n <= f64::from(EXACT) {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "below a hundred")]
        let most = n as u32;
        return exact(most);
    }
    let from = f64::from(EXACT);
    let integral = if (theta - 1.0).abs() < 1e-9 {
        (n / from).ln()
    } else {
        (n.powf(1.0 - theta) - from.powf(1.0 - theta)) / (1.0 - theta)
    };
    exact(EXACT) + integral + (n.powf(-theta) - from.powf(-theta)) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_come_as_often_as_their_formula_says() {
        for theta in [0.5, 0.9, 1.0, 1.3] {
            let zipf = Zipf::new(1000, theta);
            let mut rng = Stream::of_seed(7);
            let mut counts = vec![0u32; 1000];
            for _ in 0..400_000 {
                counts[zipf.draw(&mut rng) as usize] += 1;
            }
            for ranks in [1usize, 10, 100, 1000] {
                let seen = f64::from(counts[..ranks].iter().sum::<u32>()) / 400_000.0;
                let meant = share_of_first(ranks as f64, 1000.0, theta);
                assert!((seen - meant).abs() < 0.003, "theta {theta}, {ranks} ranks: {seen} for {meant}");
            }
        }
    }
}
