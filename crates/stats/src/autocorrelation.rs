//! Consecutive seconds of a run are not independent: caches, burst credits and flushes last longer than a
//! second. They are therefore grouped into blocks about as long as their correlation lasts.

/// Number of values after which two blocks are nearly independent: twice the integrated autocorrelation time,
/// summed up to the first lag with a negative correlation (Geyer's initial positive sequence, single lags).
/// At least 1; at most a quarter of the series, so that there are four blocks.
pub fn block_length(series: &[f64]) -> usize {
    let count = series.len();
    let mean = series.iter().sum::<f64>() / count.max(1) as f64;
    let deviations: Vec<f64> = series.iter().map(|value| value - mean).collect();
    let variance = deviations.iter().map(|value| value * value).sum::<f64>();
    if variance <= 0.0 || !variance.is_finite() {
        return 1;
    }
    let correlation = |lag: usize| {
        deviations.iter().zip(&deviations[lag..]).map(|(now, later)| now * later).sum::<f64>() / variance
    };
    let lasting: f64 = (1..count).map(correlation).take_while(|found| *found > 0.0).sum();
    let limit = (count / 4).max(1);
    // A block of 1 + 2 × lasting values holds one independent value; noise around zero correlation rounds to
    // 1.
    let wanted = 1.0 + 2.0 * lasting;
    (1..=limit).find(|length| *length as f64 + 0.5 >= wanted).unwrap_or(limit)
}

/// Means of consecutive blocks of `length` values; an incomplete last block is left out.
pub fn block_means(series: &[f64], length: usize) -> Vec<f64> {
    series.chunks_exact(length.max(1)).map(|block| block.iter().sum::<f64>() / block.len() as f64).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bootstrap::tests::noise;

    #[test]
    fn independent_seconds_stay_short_blocks_and_slow_ones_become_long() {
        let independent: Vec<f64> = (0..200).map(noise).collect();
        assert!(block_length(&independent) <= 2, "{}", block_length(&independent));
        let mut level = 0.0;
        let slow: Vec<f64> = (0..400)
            .map(|second| {
                level = level * 0.9 + noise(second);
                level
            })
            .collect();
        // An autoregression of 0.9 has an integrated time of (1 + 0.9) / (1 - 0.9) = 19.
        assert!((8..=40).contains(&block_length(&slow)), "{}", block_length(&slow));
    }

    #[test]
    fn constant_and_short_series_have_blocks_of_one() {
        assert_eq!(block_length(&[5.0; 30]), 1);
        assert_eq!(block_length(&[]), 1);
        assert_eq!(block_length(&[1.0, 2.0, 3.0]), 1);
    }

    #[test]
    fn a_rest_that_fills_no_block_is_left_out() {
        assert_eq!(block_means(&[1.0, 3.0, 5.0, 7.0, 100.0], 2), [2.0, 6.0]);
    }
}
