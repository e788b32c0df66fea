//! Distributions in buckets whose bounds grow by a factor, as OpenTelemetry has them.
//!
//! With the scale `s`, bucket `i` holds what is above `base^i` and not above `base^(i + 1)`, where `base` is 2 to the power of `2^-s`.

use iostall_measure::Histogram;

/// Finer than the buckets of a histogram, which are 1/128 of their values wide, would only make gaps.
const SCALE_MAX: u32 = 6;
/// Receivers keep so many buckets by default.
const BUCKETS_MAX: i64 = 160;
const NS_PER_S: f64 = 1e9;

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Distribution {
    pub(super) count: u64,
    pub(super) sum_s: f64,
    pub(super) min_s: f64,
    pub(super) max_s: f64,
    pub(super) scale: u32,
    /// Values of zero, which are in no bucket.
    pub(super) zero_count: u64,
    pub(super) offset: i64,
    pub(super) counts: Vec<u64>,
}

impl Distribution {
    /// Of latencies in nanoseconds; `None` if there are none. A value counts as the largest of its bucket there, as in our percentiles.
    pub(super) fn of(latencies_ns: &Histogram) -> Option<Self> {
        let (min, max) = latencies_ns.min().zip(latencies_ns.max())?;
        let mut zero_count = 0;
        let mut filled = Vec::new();
        for (_, largest, count) in latencies_ns.filled() {
            match largest.min(max) {
                0 => zero_count += count,
                value => filled.push((bucket(value as f64 / NS_PER_S), count)),
            }
        }
        let ends = filled.first().zip(filled.last()).map_or((0, 0), |(first, last)| (first.0, last.0));
        let mut coarser = 0;
        while (ends.1 >> coarser) - (ends.0 >> coarser) >= BUCKETS_MAX && coarser < SCALE_MAX {
            coarser += 1;
        }
        let offset = ends.0 >> coarser;
        let mut counts = Vec::new();
        for (bucket, count) in filled {
            let place = usize::try_from((bucket >> coarser) - offset).unwrap_or(0);
            counts.resize(counts.len().max(place + 1), 0);
            counts[place] += count;
        }
        Some(Self {
            count: latencies_ns.count(),
            sum_s: latencies_ns.sum() as f64 / NS_PER_S,
            min_s: min as f64 / NS_PER_S,
            max_s: max as f64 / NS_PER_S,
            scale: SCALE_MAX - coarser,
            zero_count,
            offset,
            counts,
        })
    }
}

#[expect(clippy::cast_possible_truncation, reason = "the logarithm of any number is small")]
fn bucket(value: f64) -> i64 {
    (value.log2() * f64::from(1 << SCALE_MAX)).ceil() as i64 - 1
}

#[cfg(test)]
mod tests {
    use iostall_measure::Percentile;
    use proptest::prelude::*;

    use super::*;

    /// The bounds of the bucket that holds a percentile.
    fn bounds_at(found: &Distribution, percentile: Percentile) -> (f64, f64) {
        let mut left = percentile.rank(found.count);
        if left <= found.zero_count {
            return (0.0, 0.0);
        }
        left -= found.zero_count;
        let base = 2_f64.powf(2_f64.powi(-i32::try_from(found.scale).unwrap()));
        for (place, count) in found.counts.iter().enumerate() {
            if left <= *count {
                let index = found.offset as f64 + place as f64;
                return (base.powf(index), base.powf(index + 1.0));
            }
            left -= count;
        }
        panic!("{found:?}");
    }

    #[test]
    fn a_power_of_two_is_the_upper_bound_of_its_bucket_as_the_specification_says() {
        for scale in 0..=SCALE_MAX {
            let index = |value: f64| bucket(value) >> (SCALE_MAX - scale);
            assert_eq!((index(1.0), index(2.0), index(0.5)), (-1, (1 << scale) - 1, -(1 << scale) - 1));
            assert_eq!(index(1.001), 0);
        }
    }

    #[test]
    fn nothing_has_no_distribution_and_zero_is_apart() {
        assert_eq!(Distribution::of(&Histogram::new()), None);
        let mut zeros = Histogram::new();
        zeros.record_many(0, 7);
        let found = Distribution::of(&zeros).unwrap();
        assert_eq!((found.count, found.zero_count, found.counts.len()), (7, 7, 0));
    }

    proptest! {
        #[test]
        fn every_percentile_is_in_the_bucket_that_holds_it(
            values in prop::collection::vec(prop_oneof![0_u64..300, 1_000_u64..100_000_000, 0_u64..10_000_000_000_000], 1..200),
        ) {
            let mut latencies = Histogram::new();
            for value in &values {
                latencies.record(*value);
            }
            let found = Distribution::of(&latencies).unwrap();
            prop_assert_eq!(found.count, found.zero_count + found.counts.iter().sum::<u64>());
            prop_assert!(found.counts.len() <= 160 || found.scale == 0);
            prop_assert!(found.counts.first() != Some(&0) && found.counts.last() != Some(&0));
            for (percentile, _) in Percentile::LEVELS {
                let value = latencies.value_at(percentile).unwrap() as f64 / 1e9;
                let (low, high) = bounds_at(&found, percentile);
                prop_assert!(low * 0.999_999 <= value && value <= high * 1.000_001, "{} {} {}", low, value, high);
            }
        }
    }
}
