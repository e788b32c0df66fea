//! Confidence interval of a mean of a few repeats.

use crate::distribution::student_above;
use crate::summary::mean;

pub const LEVEL: f64 = 0.95;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    pub mean: f64,
    /// Half the width of the interval, in the unit of the mean.
    pub half_width: f64,
}

impl Estimate {
    /// The half width relative to the mean; infinite for a mean of 0.
    pub fn relative(self) -> f64 {
        if self.mean.abs() > 0.0 { self.half_width / self.mean.abs() } else { f64::INFINITY }
    }
}

/// Mean of `values` with its confidence interval at `level` (such as 0.95) by Student's t, which fits means
/// of independent, roughly normal repeats. `None` for fewer than two values or a level outside 0 to 1.
pub fn estimate(values: &[f64], level: f64) -> Option<Estimate> {
    let count = values.len() as f64;
    if values.len() < 2 || !(level > 0.0 && level < 1.0) {
        return None;
    }
    let mean = mean(values)?;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0);
    let t = student_above((1.0 - level) / 2.0, count - 1.0);
    Some(Estimate { mean, half_width: t * (variance / count).sqrt() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_half_width_is_that_of_the_printed_t_table() {
        // t for 95 %, two-sided: 12.706 with 1 degree of freedom, 2.776 with 4.
        let two = estimate(&[9.0, 11.0], 0.95).unwrap();
        assert!((two.mean - 10.0).abs() < 1e-12);
        assert!((two.half_width - 12.706).abs() < 1e-2, "{two:?}");
        let five = estimate(&[8.0, 9.0, 10.0, 11.0, 12.0], 0.95).unwrap();
        assert!((five.half_width - 2.776 * (2.5_f64 / 5.0).sqrt()).abs() < 1e-3, "{five:?}");
        assert!((five.relative() - five.half_width / 10.0).abs() < 1e-12);
    }

    #[test]
    fn one_value_says_nothing_about_its_spread_and_equal_ones_say_everything() {
        assert_eq!(estimate(&[5.0], 0.95), None);
        assert_eq!(estimate(&[5.0, 6.0], 1.0), None);
        assert!(estimate(&[5.0, 5.0, 5.0], 0.95).unwrap().half_width.abs() < 1e-12);
        assert!(estimate(&[0.0, 0.0], 0.95).unwrap().relative().is_infinite());
    }
}
