//! Welch's t test of two levels, on the ratio of the second to the first: p-value and interval come from one distribution, so
//! that they never contradict each other (Welch, Biometrika 34, 1947; the degrees of freedom are Satterthwaite's, 1946).

use crate::confidence::LEVEL;
use crate::distribution::{student_above, student_tail};
use crate::summary::mean;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    pub low: f64,
    pub high: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Level {
    pub mean: f64,
    /// How far the mean would vary from one try to the next, squared.
    pub variance_of_mean: f64,
    /// Degrees of freedom of that variance, above 0.
    pub freedom: f64,
}

impl Level {
    /// The level of independent values. `None` for fewer than two.
    pub fn of_independent(values: &[f64]) -> Option<Self> {
        let mean = mean(values)?;
        let count = values.len() as f64;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let freedom = count - 1.0;
        (freedom > 0.0).then(|| Self { mean, variance_of_mean: squares / freedom / count, freedom })
    }

    /// The mean of several levels, each as sure as it is. `None` of none.
    pub fn mean_of(levels: &[Self]) -> Option<Self> {
        let count = levels.len() as f64;
        let means: Vec<f64> = levels.iter().map(|level| level.mean).collect();
        let shares = levels.iter().map(|level| (level.variance_of_mean / (count * count), level.freedom));
        let (variance_of_mean, freedom) = added(shares);
        Some(Self { mean: mean(&means)?, variance_of_mean, freedom })
    }

    /// The variance of its logarithm, to first order.
    fn relative_variance(&self) -> f64 {
        self.variance_of_mean / (self.mean * self.mean)
    }
}

fn added(parts: impl Iterator<Item = (f64, f64)>) -> (f64, f64) {
    let (mut variance, mut over, mut least) = (0.0, 0.0, f64::INFINITY);
    for (part, freedom) in parts {
        variance += part;
        over += part * part / freedom;
        least = least.min(freedom);
    }
    (variance, if over > 0.0 { variance * variance / over } else { least })
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ratio {
    /// 95 % confidence interval of second / first.
    pub interval: Interval,
    /// Probability of levels this far apart if both were alike, two-sided.
    pub p_value: f64,
}

/// Compares two levels on the scale of their logarithm, on which the ratio there and the ratio back are alike. `None` where one
/// of them is not above 0.
pub fn welch(first: &Level, second: &Level) -> Option<Ratio> {
    let is_sound =
        |level: &Level| level.mean > 0.0 && level.mean.is_finite() && level.variance_of_mean.is_finite();
    if !is_sound(first) || !is_sound(second) {
        return None;
    }
    let (variance, freedom) =
        added([first, second].map(|side| (side.relative_variance(), side.freedom)).into_iter());
    let (distance, error) = ((second.mean / first.mean).ln(), variance.sqrt());
    if freedom.is_nan() || freedom <= 0.0 {
        return None;
    }
    let p_value = if error > 0.0 {
        (2.0 * student_tail(distance.abs() / error, freedom)).min(1.0)
    } else if distance.abs() > 0.0 {
        0.0
    } else {
        1.0
    };
    let half_width = student_above((1.0 - LEVEL) / 2.0, freedom) * error;
    let interval = Interval { low: (distance - half_width).exp(), high: (distance + half_width).exp() };
    Some(Ratio { interval, p_value })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_textbook_sides_have_the_p_value_of_the_printed_table() {
        // Sides of 100 ± 1 and 102 ± 1, five each, by hand: t = 2 / √(2 × 2.5/5) = 2 with 8 degrees of freedom, p = 0.0805.
        let first = Level::of_independent(&[98.0, 99.0, 100.0, 101.0, 102.0]).unwrap();
        let second = Level::of_independent(&[100.0, 101.0, 102.0, 103.0, 104.0]).unwrap();
        let found = welch(&first, &second).unwrap();
        assert!((found.p_value - 0.0805).abs() < 0.001, "{found:?}");
        assert!(found.interval.low < 1.0 && 1.02 < found.interval.high, "{found:?}");
    }

    #[test]
    fn a_side_that_scatters_less_lends_its_freedom_to_nobody() {
        // A side of two values that happen to be alike must not make the other look sure.
        let narrow = Level::of_independent(&[100.0, 100.001]).unwrap();
        let wide = Level::of_independent(&[90.0, 110.0]).unwrap();
        let found = welch(&narrow, &wide).unwrap();
        assert!(found.interval.low < 0.4 && found.interval.high > 2.5, "{found:?}");
    }

    #[test]
    fn levels_without_scatter_differ_or_do_not_and_nothing_has_no_ratio() {
        let level = |value: f64| Level::of_independent(&[value; 4]).unwrap();
        assert!((welch(&level(2.0), &level(2.0)).unwrap().p_value - 1.0).abs() < f64::EPSILON);
        let apart = welch(&level(2.0), &level(3.0)).unwrap();
        assert!(apart.p_value < 1e-12 && (apart.interval.low - 1.5).abs() < 1e-12, "{apart:?}");
        assert_eq!(welch(&level(0.0), &level(1.0)), None);
        assert_eq!(Level::of_independent(&[1.0]), None);
    }

    #[test]
    fn a_mean_of_levels_is_as_sure_as_all_of_them() {
        let one = Level { mean: 10.0, variance_of_mean: 4.0, freedom: 5.0 };
        let two = Level { mean: 20.0, variance_of_mean: 4.0, freedom: 5.0 };
        let both = Level::mean_of(&[one, two]).unwrap();
        assert!((both.mean - 15.0).abs() < 1e-12 && (both.variance_of_mean - 2.0).abs() < 1e-12);
        assert!((both.freedom - 10.0).abs() < 1e-9, "{both:?}");
        assert_eq!(Level::mean_of(&[]), None);
    }
}
