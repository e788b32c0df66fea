//! Interval statistics (`-D`).

use iostall_measure::Moments;

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct IntervalBucket {
    pub count: u64,
    /// Sum of their latencies, nanoseconds.
    pub latency_ns_sum: f64,
    /// Sum of squares, if it was kept.
    pub latency_ns_sum_of_squares: Option<f64>,
    /// `None` without requests, or if it was not kept.
    pub latency_ns_min: Option<u64>,
    /// `None` without requests.
    pub latency_ns_max: Option<u64>,
}

/// Adds two series interval by interval; a shorter one is extended with empty intervals. An interval without
/// requests has no minimum, so it cannot pull the other's down to 0.
pub(super) fn merge(one: &[IntervalBucket], other: &[IntervalBucket]) -> Vec<IntervalBucket> {
    let at = |series: &[IntervalBucket], place| series.get(place).copied().unwrap_or_default();
    (0..one.len().max(other.len())).map(|place| merge_bucket(at(one, place), at(other, place))).collect()
}

fn merge_bucket(one: IntervalBucket, other: IntervalBucket) -> IntervalBucket {
    if one.count == 0 || other.count == 0 {
        return if one.count == 0 { other } else { one };
    }
    let both = |one: Option<u64>, other: Option<u64>, pick: fn(u64, u64) -> u64| Some(pick(one?, other?));
    let squares = one.latency_ns_sum_of_squares.zip(other.latency_ns_sum_of_squares);
    IntervalBucket {
        count: one.count + other.count,
        latency_ns_sum: one.latency_ns_sum + other.latency_ns_sum,
        latency_ns_sum_of_squares: squares.map(|(one, other)| one + other),
        latency_ns_min: both(one.latency_ns_min, other.latency_ns_min, u64::min),
        latency_ns_max: both(one.latency_ns_max, other.latency_ns_max, u64::max),
    }
}

/// Requests per second in an interval of `bucket_ms`.
pub(super) fn rate(count: u64, bucket_ms: u32) -> f64 {
    count as f64 * 1000.0 / f64::from(bucket_ms.max(1))
}

/// Population standard deviation of the rates of the intervals; `None` without any.
pub(super) fn stdev(buckets: &[IntervalBucket], bucket_ms: u32) -> Option<f64> {
    let mut moments = Moments::default();
    moments.extend(buckets.iter().map(|bucket| rate(bucket.count, bucket_ms)));
    moments.stdev()
}

impl IntervalBucket {
    /// Mean latency, nanoseconds; `None` without requests.
    pub fn latency_ns_mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.latency_ns_sum / self.count as f64)
    }

    /// Population standard deviation of the latency, nanoseconds.
    pub fn latency_ns_stdev(&self) -> Option<f64> {
        let mean = self.latency_ns_mean()?;
        Some((self.latency_ns_sum_of_squares? / self.count as f64 - mean * mean).max(0.0).sqrt())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bucket(count: u64, min: u64, max: u64) -> IntervalBucket {
        IntervalBucket {
            count,
            latency_ns_sum: 100.0,
            latency_ns_sum_of_squares: Some(1e4),
            latency_ns_min: Some(min),
            latency_ns_max: Some(max),
        }
    }

    #[test]
    fn the_deviation_is_of_rates_and_not_of_counts() {
        let series = [bucket(10, 1, 2), bucket(20, 1, 2)];
        assert!((stdev(&series, 1000).unwrap() - 5.0).abs() < 1e-9);
        assert!((stdev(&series, 250).unwrap() - 20.0).abs() < 1e-9);
        assert_eq!(stdev(&[], 1000), None);
    }

    /// DiskSpd's minimum includes the 0 of an empty interval.
    #[test]
    fn an_empty_interval_does_not_pull_the_minimum_to_zero() {
        let merged = merge(&[bucket(1, 50, 60)], &[IntervalBucket::default(), bucket(2, 5, 6)]);
        assert_eq!((merged[0].latency_ns_min, merged[0].count), (Some(50), 1));
        assert_eq!((merged[1].latency_ns_min, merged[1].count), (Some(5), 2));
    }
}
