//! The universal scalability law (Gunther): throughput with N requests in flight is
//! `X(N) = g N / (1 + a (N - 1) + b N (N - 1))`, where g is the throughput of one request, a the serial share
//! (contention) and b the cost of coordination (coherence).

pub const POINTS_MIN: usize = 6;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UslFit {
    /// Contention, 0 or more.
    pub contention: f64,
    /// Coherence, 0 or more.
    pub coherence: f64,
    pub throughput_of_one: f64,
    /// Standard deviation of the residuals (three degrees of freedom used).
    pub residual: f64,
}

impl UslFit {
    pub fn throughput(&self, in_flight: f64) -> f64 {
        self.throughput_of_one * shape(in_flight, self.contention, self.coherence)
    }

    /// Requests in flight at the highest throughput; `None` if throughput rises without limit.
    pub fn peak(&self) -> Option<f64> {
        (self.coherence > 0.0 && self.contention < 1.0)
            .then(|| ((1.0 - self.contention) / self.coherence).sqrt())
    }

    /// Throughput limit by contention alone; `None` without contention.
    pub fn limit(&self) -> Option<f64> {
        (self.contention > 0.0).then(|| self.throughput_of_one / self.contention)
    }

    /// Requests in flight at which linear scaling from one request would reach [`UslFit::limit`].
    pub fn optimum(&self) -> Option<f64> {
        (self.contention > 0.0).then(|| 1.0 / self.contention)
    }
}

fn shape(n: f64, contention: f64, coherence: f64) -> f64 {
    n / (1.0 + contention * (n - 1.0) + coherence * n * (n - 1.0))
}

/// Fits the law to `(in flight, throughput)` by least squares on throughput, with both coefficients kept at 0
/// or more. `None` for fewer than [`POINTS_MIN`] points, or if some are not positive and finite.
pub fn fit(points: &[(f64, f64)]) -> Option<UslFit> {
    let sound = |value: f64| value.is_finite() && value > 0.0;
    if points.len() < POINTS_MIN || !points.iter().all(|(n, x)| sound(*n) && sound(*x)) {
        return None;
    }
    let starts = [1e-3, 1e-2, 1e-1, 0.5].into_iter().flat_map(|a| [0.0, 1e-6, 1e-4, 1e-2].map(|b| (a, b)));
    let descended = starts.map(|start| descend(points, start));
    let best = descended.min_by(|left, right| left.squares.total_cmp(&right.squares))?;
    Some(UslFit {
        contention: best.at.0,
        coherence: best.at.1,
        throughput_of_one: best.scale,
        residual: (best.squares / (points.len() as f64 - 3.0)).sqrt(),
    })
}

/// A pair of coefficients, the best throughput of one request for them, and the remaining sum of squares.
#[derive(Clone, Copy)]
struct Trial {
    at: (f64, f64),
    scale: f64,
    squares: f64,
}

impl Trial {
    /// For given coefficients the law is linear in g, which has a closed form: only two unknowns must be
    /// searched.
    fn new(points: &[(f64, f64)], at: (f64, f64)) -> Self {
        let (mut cross, mut square) = (0.0, 0.0);
        for (n, x) in points {
            let h = shape(*n, at.0, at.1);
            cross += h * x;
            square += h * h;
        }
        let scale = cross / square;
        let squares = points.iter().map(|(n, x)| (x - scale * shape(*n, at.0, at.1)).powi(2)).sum();
        Self { at, scale, squares }
    }

    fn residuals(&self, points: &[(f64, f64)]) -> Vec<f64> {
        points.iter().map(|(n, x)| x - self.scale * shape(*n, self.at.0, self.at.1)).collect()
    }
}

/// Levenberg–Marquardt from `start`, with steps cut off at the bounds.
fn descend(points: &[(f64, f64)], start: (f64, f64)) -> Trial {
    const ROUNDS: usize = 300;
    let mut here = Trial::new(points, start);
    let mut damping = 1e-3;
    for _ in 0..ROUNDS {
        let step = step(points, &here, damping);
        let there = Trial::new(points, ((here.at.0 + step.0).max(0.0), (here.at.1 + step.1).max(0.0)));
        if there.squares < here.squares {
            let gain = (here.squares - there.squares) / here.squares;
            (here, damping) = (there, damping / 4.0);
            if gain < 1e-14 {
                break;
            }
        } else {
            damping *= 5.0;
            if damping > 1e12 {
                break;
            }
        }
    }
    here
}

/// The damped Gauss–Newton step; a coefficient at 0 with a negative step stays at 0.
fn step(points: &[(f64, f64)], here: &Trial, damping: f64) -> (f64, f64) {
    let residuals = here.residuals(points);
    let slope = |nudge: (f64, f64), by: f64| -> Vec<f64> {
        let there = Trial::new(points, (here.at.0 + nudge.0, here.at.1 + nudge.1)).residuals(points);
        there.iter().zip(&residuals).map(|(there, here)| (there - here) / by).collect()
    };
    let (by_a, by_b) = ((here.at.0 * 1e-6).max(1e-9), (here.at.1 * 1e-6).max(1e-12));
    let (by_contention, by_coherence) = (slope((by_a, 0.0), by_a), slope((0.0, by_b), by_b));
    let dot = |left: &[f64], right: &[f64]| left.iter().zip(right).map(|(l, r)| l * r).sum::<f64>();
    let (aa, ab, bb) = (
        dot(&by_contention, &by_contention) * (1.0 + damping),
        dot(&by_contention, &by_coherence),
        dot(&by_coherence, &by_coherence) * (1.0 + damping),
    );
    let (down_a, down_b) = (-dot(&by_contention, &residuals), -dot(&by_coherence, &residuals));
    let held_a = here.at.0 <= 0.0 && down_a < 0.0;
    let held_b = here.at.1 <= 0.0 && down_b < 0.0;
    match (held_a, held_b) {
        (true, true) => (0.0, 0.0),
        (true, false) => (0.0, down_b / bb),
        (false, true) => (down_a / aa, 0.0),
        (false, false) => {
            let determinant = aa * bb - ab * ab;
            ((bb * down_a - ab * down_b) / determinant, (aa * down_b - ab * down_a) / determinant)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn near(value: f64, expected: f64, share: f64) {
        assert!((value - expected).abs() <= expected.abs() * share, "{value}, expected {expected}");
    }

    fn zip(ns: &[f64], xs: &[f64]) -> Vec<(f64, f64)> {
        ns.iter().copied().zip(xs.iter().copied()).collect()
    }

    #[test]
    fn the_published_multi_user_benchmark_is_fitted_as_published() {
        let points = zip(
            &[1.0, 18.0, 36.0, 72.0, 108.0, 144.0, 216.0],
            &[64.9, 995.9, 1652.4, 1853.2, 1828.9, 1775.0, 1702.2],
        );
        let fit = fit(&points).unwrap();
        near(fit.contention, 0.02773, 1e-3);
        near(fit.coherence, 1.0437e-4, 1e-3);
        near(fit.throughput_of_one, 90.00, 1e-3);
        near(fit.peak().unwrap(), 96.52, 1e-3);
        near(fit.throughput(fit.peak().unwrap()), 1884.0, 1e-3);
        near(fit.limit().unwrap(), 3246.0, 1e-3);
        near(fit.optimum().unwrap(), 36.06, 1e-3);
        near(fit.throughput(fit.optimum().unwrap()), 1542.0, 1e-3);
        near(fit.residual, 82.85, 1e-3);
    }

    #[test]
    fn points_of_a_law_give_the_law_back() {
        let points = zip(&[1.0, 2.0, 4.0, 6.0, 8.0, 10.0], &[1.0, 1.8868, 3.0769, 3.5294, 3.5398, 3.3557]);
        let fit = fit(&points).unwrap();
        near(fit.contention, 0.02, 1e-2);
        near(fit.coherence, 0.02, 1e-2);
        near(fit.throughput_of_one, 1.0, 1e-2);
        near(fit.peak().unwrap(), 7.0, 1e-2);
    }

    #[test]
    fn a_curve_that_never_turns_down_has_no_peak() {
        let points = zip(
            &[1.0, 4.0, 8.0, 12.0, 16.0, 20.0, 24.0, 28.0, 32.0, 48.0, 64.0],
            &[20.0, 78.0, 130.0, 170.0, 190.0, 200.0, 210.0, 230.0, 260.0, 280.0, 310.0],
        );
        let fit = fit(&points).unwrap();
        near(fit.contention, 0.05777, 1e-3);
        near(fit.throughput_of_one, 21.85, 1e-3);
        assert!(fit.coherence.abs() < 1e-9, "{fit:?}");
        assert_eq!(fit.peak(), None);
    }

    /// Small caches make the first steps more than proportional; the law knows no such thing, so contention stays at 0.
    #[test]
    fn more_than_proportional_growth_is_fitted_without_contention_and_has_no_limit() {
        let grid = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0];
        let law = UslFit { contention: -5e-3, coherence: 1e-4, throughput_of_one: 100.0, residual: 0.0 };
        let points: Vec<(f64, f64)> = grid.into_iter().map(|n| (n, law.throughput(n))).collect();
        let found = fit(&points).unwrap();
        assert!(found.contention.abs() < 1e-12 && found.coherence > 0.0, "{found:?}");
        assert_eq!((found.limit(), found.optimum()), (None, None));
        let squares = |coherence: f64| Trial::new(&points, (0.0, coherence)).squares;
        let best = squares(found.coherence);
        assert!(best <= squares(found.coherence * 1.0001) && best <= squares(found.coherence * 0.9999));
    }

    #[test]
    fn too_few_or_senseless_points_are_not_fitted() {
        assert_eq!(fit(&zip(&[1.0, 2.0, 4.0, 8.0, 16.0], &[1.0, 2.0, 3.0, 4.0, 5.0])), None);
        assert_eq!(fit(&zip(&[1.0, 2.0, 4.0, 8.0, 16.0, 32.0], &[1.0, 2.0, 3.0, 4.0, 0.0, 5.0])), None);
    }

    proptest! {
        #[test]
        fn any_law_is_found_again_from_its_own_points(
            contention in 1e-4_f64..0.3,
            coherence in 1e-6_f64..1e-3,
            one in 10.0_f64..1e5,
        ) {
            let law = UslFit { contention, coherence, throughput_of_one: one, residual: 0.0 };
            let points: Vec<(f64, f64)> =
                (0..9).map(|power| f64::from(1 << power)).map(|n| (n, law.throughput(n))).collect();
            let found = fit(&points).unwrap();
            for (n, x) in &points {
                prop_assert!((found.throughput(*n) - x).abs() < x * 1e-3, "{:?}", found);
            }
        }
    }
}
