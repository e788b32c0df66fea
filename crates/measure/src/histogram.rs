//! A latency histogram with bounded memory and a known error.
//!
//! Values below 256 (usually nanoseconds) have a bucket each; above, every octave is divided into 128 equal
//! buckets, so a bucket is at most 1/128 as wide as its values. A percentile of a [`Histogram`] is never
//! below the true sample and at most 0.79 % above it. Count, minimum, maximum and mean are exact. The layout
//! is the log-linear one known from HdrHistogram; it is our own implementation because recording, merging and
//! clearing are in the I/O path and the stored form must stay stable.

use std::fmt;

use serde::de::{Deserializer, Error as _};
use serde::ser::{SerializeStruct, Serializer};
use serde::{Deserialize, Serialize};

use crate::percentile::Percentile;

/// log2 of the buckets per octave.
const SUB_BITS: u32 = 7;
/// Buckets per octave.
const SUB_BUCKETS: u64 = 1 << SUB_BITS;
/// Buckets for all of `u64`: 58 groups of 128, 58 KiB.
const BUCKETS: usize = 58 * 128;

/// Largest relative error of a percentile from a [`Histogram`]: 1/128.
pub const RELATIVE_ERROR_MAX: f64 = 1.0 / 128.0;

#[derive(Clone, PartialEq)]
pub struct Histogram {
    buckets: Box<[u64]>,
    count: u64,
    sum: u128,
    /// Sum of squares, for the standard deviation. An `f64`: its rounding (2^-53) is far below the noise of
    /// the deviation.
    sum_of_squares: f64,
    min: u64,
    max: u64,
}

#[inline]
#[expect(clippy::cast_possible_truncation, reason = "the result is below BUCKETS, see the module")]
fn index_of(value: u64) -> usize {
    if value < SUB_BUCKETS {
        return value as usize;
    }
    let shift = value.ilog2() - SUB_BITS;
    ((u64::from(shift) << SUB_BITS) + (value >> shift)) as usize
}

fn lower_bound(index: usize) -> u64 {
    let index = index as u64;
    if index < 2 * SUB_BUCKETS {
        return index;
    }
    let shift = (index >> SUB_BITS) - 1;
    ((index & (SUB_BUCKETS - 1)) + SUB_BUCKETS) << shift
}

/// The largest value in bucket `index`.
fn upper_bound(index: usize) -> u64 {
    let index_wide = index as u64;
    if index_wide < 2 * SUB_BUCKETS {
        return index_wide;
    }
    let shift = (index_wide >> SUB_BITS) - 1;
    lower_bound(index) + ((1 << shift) - 1)
}

impl Default for Histogram {
    fn default() -> Self {
        Self::new()
    }
}

impl Histogram {
    /// An empty histogram. Allocates its 58 KiB at once, so that recording never allocates.
    pub fn new() -> Self {
        Self {
            buckets: vec![0; BUCKETS].into_boxed_slice(),
            count: 0,
            sum: 0,
            sum_of_squares: 0.0,
            min: u64::MAX,
            max: 0,
        }
    }

    #[inline]
    pub fn record(&mut self, value: u64) {
        self.buckets[index_of(value)] += 1;
        self.count += 1;
        self.sum += u128::from(value);
        let wide = value as f64;
        self.sum_of_squares += wide * wide;
        self.min = self.min.min(value);
        self.max = self.max.max(value);
    }

    pub fn record_many(&mut self, value: u64, count: u64) {
        if count == 0 {
            return;
        }
        self.buckets[index_of(value)] += count;
        self.count += count;
        self.sum += u128::from(value) * u128::from(count);
        let wide = value as f64;
        self.sum_of_squares += wide * wide * count as f64;
        self.min = self.min.min(value);
        self.max = self.max.max(value);
    }

    pub fn merge(&mut self, other: &Self) {
        if other.count == 0 {
            return;
        }
        for (mine, theirs) in self.buckets.iter_mut().zip(&other.buckets) {
            *mine += theirs;
        }
        self.count += other.count;
        self.sum += other.sum;
        self.sum_of_squares += other.sum_of_squares;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    /// Removes all values and keeps the memory.
    pub fn clear(&mut self) {
        if self.count == 0 {
            return;
        }
        self.buckets[index_of(self.min)..=index_of(self.max)].fill(0);
        self.count = 0;
        self.sum = 0;
        self.sum_of_squares = 0.0;
        self.min = u64::MAX;
        self.max = 0;
    }

    pub fn count(&self) -> u64 {
        self.count
    }

    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub fn sum(&self) -> u128 {
        self.sum
    }

    pub fn sum_of_squares(&self) -> f64 {
        self.sum_of_squares
    }

    /// The smallest value, exact; `None` when empty.
    pub fn min(&self) -> Option<u64> {
        (self.count > 0).then_some(self.min)
    }

    /// The largest value, exact; `None` when empty.
    pub fn max(&self) -> Option<u64> {
        (self.count > 0).then_some(self.max)
    }

    /// Arithmetic mean, exact to `f64` rounding; `None` when empty.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64)
    }

    /// Population standard deviation (divided by N, like DiskSpd); `None` when empty.
    pub fn stdev(&self) -> Option<f64> {
        let mean = self.mean()?;
        let variance = self.sum_of_squares / self.count as f64 - mean * mean;
        Some(variance.max(0.0).sqrt())
    }

    /// The smallest value whose cumulative count reaches `percentile`, never below it and at most 1/128
    /// above. `None` when empty.
    pub fn value_at(&self, percentile: Percentile) -> Option<u64> {
        if self.count == 0 {
            return None;
        }
        let rank = percentile.rank(self.count);
        let mut seen = 0_u64;
        for (index, bucket) in self.buckets.iter().enumerate().skip(index_of(self.min)) {
            seen += bucket;
            if seen >= rank {
                return Some(upper_bound(index).clamp(self.min, self.max));
            }
        }
        Some(self.max)
    }

    /// Non-empty buckets in ascending order: `(smallest value, largest value, count)`.
    pub fn filled(&self) -> impl Iterator<Item = (u64, u64, u64)> + '_ {
        self.buckets
            .iter()
            .enumerate()
            .filter(|(_, count)| **count > 0)
            .map(|(index, count)| (lower_bound(index), upper_bound(index), *count))
    }

    /// Share of values up to `value`, within the error of the buckets; `None` when empty.
    pub fn share_at_most(&self, value: u64) -> Option<f64> {
        if self.count == 0 {
            return None;
        }
        let below: u64 = self.buckets[..=index_of(value)].iter().sum();
        Some(below as f64 / self.count as f64)
    }
}

impl fmt::Debug for Histogram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Histogram")
            .field("count", &self.count)
            .field("min", &self.min())
            .field("mean", &self.mean())
            .field("max", &self.max())
            .finish_non_exhaustive()
    }
}

/// Stored form: exact totals, and `[smallest value of the bucket, count]` for every non-empty bucket.
impl Serialize for Histogram {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut out = serializer.serialize_struct("Histogram", 6)?;
        out.serialize_field("count", &self.count)?;
        out.serialize_field("sum", &(self.sum as f64))?;
        out.serialize_field("sum_of_squares", &self.sum_of_squares)?;
        out.serialize_field("min", &self.min())?;
        out.serialize_field("max", &self.max())?;
        let buckets: Vec<(u64, u64)> = self.filled().map(|(low, _, count)| (low, count)).collect();
        out.serialize_field("buckets", &buckets)?;
        out.end()
    }
}

#[derive(Deserialize)]
struct Stored {
    count: u64,
    sum: f64,
    sum_of_squares: f64,
    min: Option<u64>,
    max: Option<u64>,
    buckets: Vec<(u64, u64)>,
}

impl<'de> Deserialize<'de> for Histogram {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the stored sum is a non-negative float of at most 2^128; a float cast saturates"
    )]
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let stored = Stored::deserialize(deserializer)?;
        let mut histogram = Self::new();
        let mut count = 0_u64;
        for (low, bucket_count) in stored.buckets {
            let bucket = &mut histogram.buckets[index_of(low)];
            *bucket = bucket.checked_add(bucket_count).ok_or_else(|| D::Error::custom("bucket overflow"))?;
            count = count.checked_add(bucket_count).ok_or_else(|| D::Error::custom("count overflow"))?;
        }
        if count != stored.count {
            return Err(D::Error::custom(format!(
                "{count} values in the buckets, count says {}",
                stored.count
            )));
        }
        histogram.count = count;
        histogram.sum = stored.sum as u128;
        histogram.sum_of_squares = stored.sum_of_squares;
        histogram.min = stored.min.unwrap_or(u64::MAX);
        histogram.max = stored.max.unwrap_or(0);
        Ok(histogram)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn buckets_join_without_gap_or_overlap_over_all_of_u64() {
        for index in 1..BUCKETS {
            assert_eq!(lower_bound(index), upper_bound(index - 1) + 1, "bucket {index}");
            assert_eq!(index_of(lower_bound(index)), index);
            assert_eq!(index_of(upper_bound(index)), index);
        }
        assert_eq!(upper_bound(BUCKETS - 1), u64::MAX);
    }

    #[test]
    fn an_empty_histogram_answers_nothing_rather_than_zero() {
        let histogram = Histogram::new();
        assert_eq!(histogram.min(), None);
        assert_eq!(histogram.mean(), None);
        assert_eq!(histogram.value_at(Percentile::P99), None);
        assert_eq!((histogram.stdev(), histogram.share_at_most(5)), (None, None));
    }

    /// For the latencies 2, 4, 4, 4, 5, 5, 7 and 9 the mean is 5 and the standard deviation 2.
    #[test]
    fn mean_deviation_and_shares_are_those_of_the_values() {
        let mut histogram = Histogram::new();
        for value in [2, 4, 4, 4, 5, 5, 7, 9] {
            histogram.record(value);
        }
        assert_eq!((histogram.sum(), histogram.count(), histogram.is_empty()), (40, 8, false));
        assert!((histogram.sum_of_squares() - 232.0).abs() < 1e-9);
        assert_eq!((histogram.mean(), histogram.stdev()), (Some(5.0), Some(2.0)));
        assert_eq!(
            (histogram.share_at_most(1), histogram.share_at_most(4), histogram.share_at_most(9)),
            (Some(0.0), Some(0.5), Some(1.0))
        );
        let filled: Vec<(u64, u64, u64)> = histogram.filled().collect();
        assert_eq!(filled, [(2, 2, 1), (4, 4, 3), (5, 5, 2), (7, 7, 1), (9, 9, 1)]);
        assert!(format!("{histogram:?}").contains("count: 8"));
        histogram.clear();
        assert_eq!(histogram, Histogram::new(), "nothing of it stays");
    }

    fn values() -> impl Strategy<Value = Vec<u64>> {
        let value = prop_oneof![0_u64..300, 0_u64..1_000_000, 0..u64::MAX];
        prop::collection::vec(value, 1..400)
    }

    proptest! {
        #[test]
        fn a_percentile_is_never_below_the_sorted_sample_and_at_most_a_128th_above(
            mut values in values(),
            thousandths in 0_u32..=1000,
        ) {
            let mut histogram = Histogram::new();
            for value in &values { histogram.record(*value); }
            values.sort_unstable();
            let percentile = Percentile::new(f64::from(thousandths) / 10.0).unwrap();
            let rank = usize::try_from(percentile.rank(values.len() as u64)).unwrap();
            let truth = values[rank - 1];
            let answer = histogram.value_at(percentile).unwrap();
            prop_assert!(answer >= truth);
            prop_assert!((answer - truth) as f64 <= truth as f64 * RELATIVE_ERROR_MAX);
        }

        #[test]
        fn merging_equals_recording_everything_in_one(left in values(), right in values()) {
            let (mut a, mut b, mut both) = (Histogram::new(), Histogram::new(), Histogram::new());
            for value in &left { a.record(*value); both.record(*value); }
            for value in &right { b.record(*value); both.record(*value); }
            a.merge(&b);
            prop_assert_eq!(a.count(), both.count());
            prop_assert_eq!(a.sum(), both.sum());
            prop_assert_eq!(&a.buckets, &both.buckets);
            a.clear();
            prop_assert!(a.buckets.iter().all(|count| *count == 0));
        }

        #[test]
        fn the_stored_form_reads_back(values in prop::collection::vec(0_u64..1_000_000_000, 0..200)) {
            let mut histogram = Histogram::new();
            for value in &values { histogram.record(*value); }
            let text = serde_json::to_string(&histogram).unwrap();
            let back: Histogram = serde_json::from_str(&text).unwrap();
            prop_assert_eq!(back, histogram);
        }
    }

    #[test]
    fn a_stored_form_whose_count_lies_is_refused() {
        let text = r#"{"count":3,"sum":1.0,"sum_of_squares":1.0,"min":1,"max":1,"buckets":[[1,1]]}"#;
        assert!(serde_json::from_str::<Histogram>(text).is_err());
    }
}
