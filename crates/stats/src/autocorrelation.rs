//! Seconds of one run are not independent: caches, credits and flushes last longer than a second. How many independent seconds
//! they are worth says how sure the run's own mean is.

use crate::summary::mean;
use crate::welch::Level;

/// Seconds that are worth fewer independent ones than this say nothing sure about their own mean.
pub const INDEPENDENT_MIN: f64 = 4.0;
/// Neighbours that resemble each other more than this are taken for this: the mean of such a series is not known at all.
const RESEMBLANCE_MAX: f64 = 0.99;

/// The level of one run from its seconds. `None` where they are worth fewer than [`INDEPENDENT_MIN`] independent ones: their
/// correlation reaches a quarter of the run, and what looks like a level may be a part of a wave.
pub fn level_of_series(series: &[f64]) -> Option<Level> {
    let mean = mean(series)?;
    let count = series.len() as f64;
    let deviations: Vec<f64> = series.iter().map(|value| value - mean).collect();
    let squares = deviations.iter().map(|value| value * value).sum::<f64>();
    let lasting = if squares > 0.0 { correlation_time(&deviations, squares) } else { 1.0 };
    let independent = count / lasting;
    if independent < INDEPENDENT_MIN {
        return None;
    }
    // A mean that is taken from the same dependent values follows them, so they scatter too little around it.
    let variance_of_mean = squares / count * lasting / (count - lasting);
    Some(Level { mean, variance_of_mean, freedom: independent - 1.0 })
}

/// How many values in a row are worth one independent value, at least 1. The larger of two estimates: what neighbours say
/// about a series that forgets evenly, corrected for the bias of short series (Marriott and Pope, Biometrika 41, 1954), and
/// the sum of all correlations up to the first below 0, which also sees waves (Geyer's initial positive sequence, single lags).
fn correlation_time(deviations: &[f64], squares: f64) -> f64 {
    let count = deviations.len();
    let correlation = |lag: usize| {
        deviations.iter().zip(&deviations[lag..]).map(|(now, later)| now * later).sum::<f64>() / squares
    };
    if count < 2 {
        return 1.0;
    }
    let found = correlation(1);
    let neighbours = (found + (1.0 + 4.0 * found) / count as f64).clamp(0.0, RESEMBLANCE_MAX);
    let forgetting = (1.0 + neighbours) / (1.0 - neighbours);
    let lasting: f64 = (1..count).map(correlation).take_while(|found| *found > 0.0).sum();
    forgetting.max(1.0 + 2.0 * lasting)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::noise;

    #[test]
    fn independent_seconds_are_worth_nearly_as_many_and_slow_ones_few() {
        let independent: Vec<f64> = (0..200).map(noise).collect();
        let found = level_of_series(&independent).unwrap();
        assert!(found.freedom > 60.0, "{found:?}");
        let mut level = 0.0;
        let slow: Vec<f64> = (0..1000)
            .map(|second| {
                level = level * 0.9 + noise(second);
                100.0 + level
            })
            .collect();
        // An autoregression of 0.9 has an integrated time of (1 + 0.9) / (1 - 0.9) = 19.
        let found = level_of_series(&slow).unwrap();
        assert!((20.0..90.0).contains(&found.freedom), "{found:?}");
    }

    #[test]
    fn a_wave_as_long_as_the_run_has_no_level() {
        let wave: Vec<f64> = (0..60).map(|second| 100.0 + (f64::from(second) / 15.0).sin()).collect();
        assert_eq!(level_of_series(&wave), None);
    }

    #[test]
    fn constant_series_are_sure_of_themselves_and_short_ones_are_none() {
        let constant = level_of_series(&[5.0; 30]).unwrap();
        assert!(constant.variance_of_mean.abs() < 1e-12 && (constant.freedom - 29.0).abs() < 1e-12);
        assert_eq!(level_of_series(&[]), None);
        assert_eq!(level_of_series(&[1.0, 2.0, 3.0]), None);
    }
}
