//! An hour or a day of one subject: sums, maxima and a distribution. Never averages, so that roll-ups can be
//! rolled up.

use std::collections::BTreeMap;

use jiff::{Timestamp, ToSpan};
use serde::{Deserialize, Serialize};

use crate::counter::Counter;
use crate::totals::Totals;

/// The calendar period of a roll-up, in UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[repr(u8)]
pub enum Tier {
    Hour = 1,
    Day = 2,
}

impl Tier {
    pub fn seconds(self) -> i64 {
        match self {
            Self::Hour => 3_600,
            Self::Day => 86_400,
        }
    }

    /// Start of the hour or day that contains `at`.
    pub fn floor(self, at: Timestamp) -> Timestamp {
        let second = at.as_second().div_euclid(self.seconds()) * self.seconds();
        Timestamp::from_second(second).unwrap_or(at)
    }

    /// Divides `totals`, whose interval ended at `end`, among the hours or days it overlaps; each part comes
    /// with the start of its hour or day. The parts add up to `totals`.
    pub fn spread(self, end: Timestamp, totals: &Totals) -> Vec<(Timestamp, Totals)> {
        let length = i64::try_from(totals.covered_ns).unwrap_or(i64::MAX).nanoseconds();
        let start = end.checked_sub(length).unwrap_or(Timestamp::MIN);
        let mut beginnings = vec![self.floor(start)];
        let mut offsets_ns = Vec::new();
        let step = self.seconds().seconds();
        while let Some(next) = beginnings.last().and_then(|last| last.checked_add(step).ok()) {
            if next >= end {
                break;
            }
            let offset = next.duration_since(start).as_nanos();
            offsets_ns.push(u64::try_from(offset).unwrap_or(0).min(totals.covered_ns));
            beginnings.push(next);
        }
        beginnings.into_iter().zip(totals.cut(&offsets_ns)).collect()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Peak {
    Reads,
    Writes,
    ReadBytes,
    WriteBytes,
    ReadStall,
    WriteStall,
    /// Queue depth by Little's law.
    QueueDepth,
}

impl Peak {
    pub const ALL: [Self; 7] = [
        Self::Reads,
        Self::Writes,
        Self::ReadBytes,
        Self::WriteBytes,
        Self::ReadStall,
        Self::WriteStall,
        Self::QueueDepth,
    ];

    pub fn of(self, totals: &Totals) -> Option<f64> {
        match self {
            Self::Reads => totals.per_second(Counter::Reads),
            Self::Writes => totals.per_second(Counter::Writes),
            Self::ReadBytes => totals.per_second(Counter::ReadBytes),
            Self::WriteBytes => totals.per_second(Counter::WriteBytes),
            Self::ReadStall => totals.read_stall_ns_mean(),
            Self::WriteStall => totals.write_stall_ns_mean(),
            Self::QueueDepth => totals.queue_depth_mean(),
        }
    }
}

/// Operations by the mean stall of their interval: a distribution of interval averages, which is *not* the
/// distribution of single operations. Four buckets per octave, so a bucket is at most a quarter wide.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StallHistogram {
    buckets: BTreeMap<u8, u64>,
}

impl StallHistogram {
    /// Counts `ops` operations of an interval with a stall per operation of `stall_ns`.
    pub fn record(&mut self, stall_ns: u64, ops: u64) {
        if ops > 0 {
            let bucket = self.buckets.entry(bucket_of(stall_ns)).or_default();
            *bucket = bucket.saturating_add(ops);
        }
    }

    pub fn merge(&mut self, other: &Self) {
        for (bucket, ops) in &other.buckets {
            let mine = self.buckets.entry(*bucket).or_default();
            *mine = mine.saturating_add(*ops);
        }
    }

    pub fn ops(&self) -> u64 {
        self.buckets.values().fold(0, |sum, ops| sum.saturating_add(*ops))
    }

    /// Non-empty buckets in ascending order: number and operations.
    pub fn buckets(&self) -> impl ExactSizeIterator<Item = (u8, u64)> + '_ {
        self.buckets.iter().map(|(bucket, ops)| (*bucket, *ops))
    }

    pub fn from_buckets(buckets: impl IntoIterator<Item = (u8, u64)>) -> Self {
        Self { buckets: buckets.into_iter().collect() }
    }

    pub fn stall_ns_max(bucket: u8) -> u64 {
        bucket_end(bucket)
    }

    /// The interval stall that `share` (0 to 1) of the operations did not exceed, nanoseconds, to the width
    /// of a bucket: never too low, at most a quarter too high. `None` without operations.
    pub fn stall_ns_at(&self, share: f64) -> Option<u64> {
        let all = self.ops();
        let wanted = (share.clamp(0.0, 1.0) * all as f64).ceil().max(1.0);
        let mut seen = 0_u64;
        self.buckets.iter().find_map(|(bucket, ops)| {
            seen = seen.saturating_add(*ops);
            (seen as f64 >= wanted).then(|| bucket_end(*bucket))
        })
    }
}

/// Two bits below the leading one select the bucket.
fn bucket_of(stall_ns: u64) -> u8 {
    let value = stall_ns.max(1);
    let octave = value.ilog2();
    let quarter = if octave >= 2 { (value >> (octave - 2)) & 3 } else { (value << (2 - octave)) & 3 };
    u8::try_from(u64::from(octave) * 4 + quarter).unwrap_or(u8::MAX)
}

fn bucket_end(bucket: u8) -> u64 {
    // Below four, a bucket holds one value, and some are empty.
    let (octave, quarter) = (u32::from(bucket) / 4, u128::from(bucket) % 4);
    let end = ((5 + quarter) << octave).div_ceil(4);
    u64::try_from(end - 1).unwrap_or(u64::MAX)
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rollup {
    pub totals: Totals,
    /// Number of intervals, or parts of intervals.
    pub intervals: u64,
    /// The largest value of each [`Peak`] in any one interval.
    pub peaks: [Option<f64>; Peak::ALL.len()],
    pub reads_by_stall: StallHistogram,
    pub writes_by_stall: StallHistogram,
}

impl Rollup {
    /// Adds `part` of an interval. Rates and stall are those of the whole interval, because a part has no
    /// others.
    pub fn absorb(&mut self, whole: &Totals, part: &Totals) {
        self.totals.then(part);
        self.intervals += 1;
        for (mine, peak) in self.peaks.iter_mut().zip(Peak::ALL) {
            *mine = larger(*mine, peak.of(whole));
        }
        let read_stall = mean_ns(whole, Counter::ReadStall, Counter::Reads);
        if let Some(stall_ns) = read_stall {
            self.reads_by_stall.record(stall_ns, part.amounts.or_zero(Counter::Reads));
        }
        let write_stall = mean_ns(whole, Counter::WriteStall, Counter::Writes);
        if let Some(stall_ns) = write_stall {
            self.writes_by_stall.record(stall_ns, part.amounts.or_zero(Counter::Writes));
        }
    }

    pub fn merge(&mut self, other: &Self) {
        self.totals.then(&other.totals);
        self.intervals += other.intervals;
        for (mine, theirs) in self.peaks.iter_mut().zip(other.peaks) {
            *mine = larger(*mine, theirs);
        }
        self.reads_by_stall.merge(&other.reads_by_stall);
        self.writes_by_stall.merge(&other.writes_by_stall);
    }

    pub fn peak(&self, peak: Peak) -> Option<f64> {
        self.peaks[peak as usize]
    }
}

fn mean_ns(totals: &Totals, stall: Counter, ops: Counter) -> Option<u64> {
    totals.amounts.get(stall)?.checked_div(totals.amounts.get(ops)?)
}

fn larger(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.max(b)),
        (a, b) => a.or(b),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counter::Counters;
    use proptest::prelude::*;

    fn interval(ns: u64, reads: u64, stall: u64) -> Totals {
        let amounts = Counters::new()
            .with(Counter::Reads, reads)
            .with(Counter::ReadBytes, reads.saturating_mul(8192))
            .with(Counter::ReadStall, stall);
        Totals { covered_ns: ns, amounts }
    }

    #[test]
    fn stall_buckets_join_without_gap_over_all_of_u64() {
        let mut previous_end = 0;
        for bucket in (0..=u8::MAX).filter(|bucket| bucket_of(bucket_end(*bucket)) == *bucket) {
            let end = bucket_end(bucket);
            assert_eq!(bucket_of(previous_end + 1), bucket, "bucket {bucket}");
            previous_end = end;
        }
        assert_eq!(previous_end, u64::MAX);
        assert_eq!(bucket_of(0), bucket_of(1));
    }

    /// An hour whose mean is harmless may have had its worst minute at another rate than its busiest.
    #[test]
    fn a_period_keeps_the_largest_of_each_rate_and_who_waited_how_long() {
        let amounts = Counters::new()
            .with(Counter::Writes, 20)
            .with(Counter::WriteBytes, 40_960)
            .with(Counter::WriteStall, 8_000_000);
        let writing = Totals { covered_ns: 2_000_000_000, amounts };
        let (busy, slow) =
            (interval(1_000_000_000, 300, 300_000_000), interval(1_000_000_000, 10, 500_000_000));
        let mut hour = Rollup::default();
        hour.absorb(&busy, &busy);
        hour.absorb(&writing, &writing);
        let mut later = Rollup::default();
        later.absorb(&slow, &slow);
        hour.merge(&later);
        assert_eq!(hour.intervals, 3);
        let peaks = Peak::ALL.map(|peak| hour.peak(peak).unwrap());
        // 300 reads a second and their bytes, 50 ms of stall a read; the depth is the largest of any interval.
        let wanted = [300.0, 10.0, 300.0 * 8192.0, 20_480.0, 5e7, 4e5, 0.5];
        for ((peak, found), wanted) in Peak::ALL.into_iter().zip(peaks).zip(wanted) {
            assert!((found - wanted).abs() < wanted * 1e-9, "{peak:?}: {found}, wanted {wanted}");
        }
        assert_eq!((hour.reads_by_stall.ops(), hour.writes_by_stall.ops()), (310, 20));
        assert!(hour.reads_by_stall.stall_ns_at(0.5).is_some_and(|ns| (1_000_000..1_250_000).contains(&ns)));
        assert!(hour.reads_by_stall.stall_ns_at(1.0).is_some_and(|ns| ns >= 50_000_000));
        assert_eq!(StallHistogram::default().stall_ns_at(0.5), None);
    }

    #[test]
    fn an_interval_over_midnight_is_shared_by_both_days() {
        let end: Timestamp = "2026-03-01T00:00:15Z".parse().unwrap();
        let parts = Tier::Day.spread(end, &interval(60_000_000_000, 400, 0));
        let shares: Vec<_> =
            parts.iter().map(|(day, part)| (day.to_string(), part.amounts.or_zero(Counter::Reads))).collect();
        assert_eq!(
            shares,
            [("2026-02-28T00:00:00Z".to_owned(), 300), ("2026-03-01T00:00:00Z".to_owned(), 100)]
        );
    }

    #[test]
    fn an_interval_that_ends_on_the_hour_belongs_to_the_hour_before() {
        let end: Timestamp = "2026-03-01T05:00:00Z".parse().unwrap();
        let parts = Tier::Hour.spread(end, &interval(60_000_000_000, 7, 0));
        assert_eq!(parts.len(), 1);
        assert_eq!(parts[0].0.to_string(), "2026-03-01T04:00:00Z");
    }

    proptest! {
        #[test]
        fn hours_and_days_equal_the_sums_of_the_intervals_they_cover(
            steps in prop::collection::vec((1_u64..200_000_000_000_000, 0_u64..1 << 40, 0_u64..1 << 50), 1..40),
        ) {
            let mut end: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
            let (mut hours, mut days) = (BTreeMap::<Timestamp, Rollup>::new(), BTreeMap::<Timestamp, Rollup>::new());
            let (mut sum, mut reads_weighed, mut highest) = (Totals::default(), 0, None);
            for (ns, reads, stall) in steps {
                end = end.checked_add(i64::try_from(ns).unwrap().nanoseconds()).unwrap();
                let whole = interval(ns, reads, stall);
                sum.then(&whole);
                reads_weighed += reads;
                highest = larger(highest, Peak::Reads.of(&whole));
                for (tier, into) in [(Tier::Hour, &mut hours), (Tier::Day, &mut days)] {
                    for (beginning, part) in tier.spread(end, &whole) {
                        into.entry(beginning).or_default().absorb(&whole, &part);
                    }
                }
            }
            let mut from_hours = BTreeMap::<Timestamp, Rollup>::new();
            for (hour, rollup) in &hours {
                prop_assert!(rollup.totals.covered_ns <= 3_600_000_000_000);
                from_hours.entry(Tier::Day.floor(*hour)).or_default().merge(rollup);
            }
            for tier in [&hours, &days] {
                let mut all = Rollup::default();
                for rollup in tier.values() { all.merge(rollup); }
                prop_assert_eq!(all.totals, sum);
                prop_assert_eq!(all.reads_by_stall.ops(), reads_weighed);
                prop_assert_eq!(all.peak(Peak::Reads), highest);
            }
            for (day, rollup) in &days {
                let covered = from_hours.get(day).map(|rollup| rollup.totals.covered_ns);
                prop_assert_eq!(covered, Some(rollup.totals.covered_ns));
            }
        }

        #[test]
        fn a_stall_percentile_is_never_below_the_truth_and_at_most_a_quarter_above(
            mut stalls in prop::collection::vec(1_u64..u64::MAX / 2, 1..50), share in 0.0_f64..=1.0,
        ) {
            let mut histogram = StallHistogram::default();
            for stall in &stalls { histogram.record(*stall, 1); }
            stalls.sort_unstable();
            let rank = (0..stalls.len()).find(|rank| (rank + 1) as f64 >= (share * stalls.len() as f64).ceil().max(1.0)).unwrap();
            let answer = histogram.stall_ns_at(share).unwrap();
            prop_assert!(answer >= stalls[rank]);
            prop_assert!((answer - stalls[rank]) as f64 <= stalls[rank] as f64 * 0.25);
        }
    }
}
