//! Amounts over a length of time, and the rates derived from them.
//!
//! The same arithmetic serves an interval, an hour, a window and a volume: always the quotient of two sums,
//! never an average of averages.

use crate::counter::{Counter, Counters};

/// Amounts in some time: operations, bytes, and nanoseconds of stall.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// The length of that time, nanoseconds.
    pub covered_ns: u64,
    /// Operations, bytes and nanoseconds. An absent one was not reported.
    pub amounts: Counters,
}

impl Totals {
    /// Adds amounts of the same subject from another time.
    pub fn then(&mut self, later: &Self) {
        self.covered_ns = self.covered_ns.saturating_add(later.covered_ns);
        self.amounts.add(&later.amounts);
    }

    /// Adds amounts of another subject in the same time: the covered time becomes the longer of the two.
    pub fn beside(&mut self, other: &Self) {
        self.covered_ns = self.covered_ns.max(other.covered_ns);
        self.amounts.add(&other.amounts);
    }

    pub fn covered_s(&self) -> f64 {
        self.covered_ns as f64 / 1e9
    }

    /// Amount per second; `None` if it was not reported or the time is zero.
    pub fn per_second(&self, counter: Counter) -> Option<f64> {
        let amount = self.amounts.get(counter)?;
        (self.covered_ns > 0).then(|| amount as f64 / self.covered_s())
    }

    /// Sum of two amounts; a missing one is left out, `None` if both are.
    fn sum(&self, a: Counter, b: Counter) -> Option<u64> {
        match (self.amounts.get(a), self.amounts.get(b)) {
            (None, None) => None,
            (a, b) => Some(a.unwrap_or(0).saturating_add(b.unwrap_or(0))),
        }
    }

    pub fn iops(&self) -> Option<f64> {
        let ops = self.sum(Counter::Reads, Counter::Writes)?;
        (self.covered_ns > 0).then(|| ops as f64 / self.covered_s())
    }

    pub fn bytes_per_second(&self) -> Option<f64> {
        let bytes = self.sum(Counter::ReadBytes, Counter::WriteBytes)?;
        (self.covered_ns > 0).then(|| bytes as f64 / self.covered_s())
    }

    /// Stall and count of the reads whose stall was reported; `None` if there were none, or reads were not
    /// reported.
    fn timed_reads(&self) -> Option<(u64, u64)> {
        self.timed(Counter::Reads, Counter::ReadStall, Counter::UntimedReads)
    }

    fn timed_writes(&self) -> Option<(u64, u64)> {
        self.timed(Counter::Writes, Counter::WriteStall, Counter::UntimedWrites)
    }

    fn timed(&self, ops: Counter, stall: Counter, untimed: Counter) -> Option<(u64, u64)> {
        let ops = self.amounts.get(ops)?.saturating_sub(self.amounts.or_zero(untimed));
        Some((self.amounts.get(stall)?, ops))
    }

    /// Stall and count of the reads and writes whose stall was reported. A direction with only a count or
    /// only a time is left out.
    fn timed_io(&self) -> Option<(u64, u64)> {
        match (self.timed_reads(), self.timed_writes()) {
            (Some(a), Some(b)) => Some((a.0.saturating_add(b.0), a.1.saturating_add(b.1))),
            (a, b) => a.or(b),
        }
    }

    pub fn timed_ops(&self) -> u64 {
        self.timed_io().map_or(0, |(_, ops)| ops)
    }

    /// Stall per read, nanoseconds; `None` without reads whose stall was reported.
    pub fn read_stall_ns_mean(&self) -> Option<f64> {
        self.timed_reads().and_then(mean)
    }

    /// Stall per write, nanoseconds; `None` without writes whose stall was reported.
    pub fn write_stall_ns_mean(&self) -> Option<f64> {
        self.timed_writes().and_then(mean)
    }

    /// Stall per read or write, nanoseconds; `None` without any whose stall was reported.
    pub fn io_stall_ns_mean(&self) -> Option<f64> {
        self.timed_io().and_then(mean)
    }

    /// Stall of all reads, writes and syncs as far as it was told, nanoseconds; `None` where nothing was. It needs no counts: PostgreSQL
    /// says how long a database waited for writes, and not how many there were.
    pub fn stall_ns(&self) -> Option<u64> {
        let stalls = [Counter::ReadStall, Counter::WriteStall, Counter::SyncStall];
        stalls.into_iter().filter_map(|counter| self.amounts.get(counter)).reduce(u64::saturating_add)
    }

    /// Time waited for reads, writes and syncs, by time passed: seconds a second.
    pub fn stall_per_second(&self) -> Option<f64> {
        quotient(self.stall_ns(), Some(self.covered_ns))
    }

    /// Stall per sync or flush, nanoseconds; `None` without any, or where it was not told.
    pub fn sync_stall_ns_mean(&self) -> Option<f64> {
        quotient(self.amounts.get(Counter::SyncStall), self.amounts.get(Counter::Syncs))
    }

    /// Part of the stall per read or write that the resource governor added, nanoseconds.
    pub fn queued_stall_ns_mean(&self) -> Option<f64> {
        let queued_ns = self.sum(Counter::QueuedReadStall, Counter::QueuedWriteStall);
        quotient(queued_ns, Some(self.timed_ops()))
    }

    pub fn read_size_bytes_mean(&self) -> Option<f64> {
        quotient(self.amounts.get(Counter::ReadBytes), self.amounts.get(Counter::Reads))
    }

    pub fn write_size_bytes_mean(&self) -> Option<f64> {
        quotient(self.amounts.get(Counter::WriteBytes), self.amounts.get(Counter::Writes))
    }

    pub fn io_size_bytes_mean(&self) -> Option<f64> {
        quotient(self.sum(Counter::ReadBytes, Counter::WriteBytes), self.sum(Counter::Reads, Counter::Writes))
    }

    /// Mean number of reads and writes in flight, by Little's law: total stall over time. `None` if the stall
    /// of some was not reported, because they were in flight too.
    pub fn queue_depth_mean(&self) -> Option<f64> {
        let untimed = self.sum(Counter::UntimedReads, Counter::UntimedWrites).unwrap_or(0);
        let stall_ns = self.sum(Counter::ReadStall, Counter::WriteStall).filter(|_| untimed == 0);
        quotient(stall_ns, Some(self.covered_ns))
    }

    /// Share of the time with a request in flight, 0 to 1; only devices report it.
    pub fn busy_share(&self) -> Option<f64> {
        quotient(self.amounts.get(Counter::Busy), Some(self.covered_ns)).map(|share| share.min(1.0))
    }

    /// Cuts this at `offsets_ns` from its start (ascending, each inside the covered time), assuming an even
    /// load, because two readings say no more. The parts add up to the whole, unit by unit.
    pub fn cut(&self, offsets_ns: &[u64]) -> Vec<Self> {
        let mut parts = Vec::with_capacity(offsets_ns.len() + 1);
        let mut start_ns = 0;
        for end_ns in offsets_ns.iter().copied().chain([self.covered_ns]) {
            let mut amounts = Counters::new();
            for (counter, amount) in self.amounts.iter() {
                let until = |ns| share(amount, ns, self.covered_ns);
                amounts.set(counter, until(end_ns) - until(start_ns));
            }
            parts.push(Self { covered_ns: end_ns - start_ns, amounts });
            start_ns = end_ns;
        }
        parts
    }
}

/// `amount * part / whole`, rounded down; all of it if `whole` is zero.
fn share(amount: u64, part: u64, whole: u64) -> u64 {
    let product = u128::from(amount) * u128::from(part);
    product.checked_div(u128::from(whole)).and_then(|share| u64::try_from(share).ok()).unwrap_or(amount)
}

/// Mean wait of `ops` operations with a total stall; `None` if there were none.
fn mean((stall_ns, ops): (u64, u64)) -> Option<f64> {
    quotient(Some(stall_ns), Some(ops))
}

/// `a / b`, if both are known and `b` is not zero.
fn quotient(a: Option<u64>, b: Option<u64>) -> Option<f64> {
    let (a, b) = (a?, b?);
    (b > 0).then(|| a as f64 / b as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn totals(amounts: &[(Counter, u64)]) -> Totals {
        let mut counters = Counters::new();
        for (counter, value) in amounts {
            counters.set(*counter, *value);
        }
        Totals { covered_ns: 2_000_000_000, amounts: counters }
    }

    fn is_near(value: Option<f64>, wanted: f64) -> bool {
        value.is_some_and(|value| (value - wanted).abs() <= wanted.abs() * 1e-12)
    }

    #[test]
    fn stall_per_io_is_absent_when_there_was_no_io() {
        let idle = totals(&[(Counter::Reads, 0), (Counter::ReadStall, 0), (Counter::ReadBytes, 0)]);
        assert_eq!(idle.read_stall_ns_mean(), None);
        assert_eq!(idle.io_stall_ns_mean(), None);
        assert_eq!(idle.read_size_bytes_mean(), None);
        assert!(is_near(idle.per_second(Counter::Reads), 0.0));
    }

    #[test]
    fn write_stall_does_not_need_reads() {
        let log = totals(&[(Counter::Reads, 0), (Counter::Writes, 4), (Counter::WriteStall, 2_000_000)]);
        assert!(is_near(log.write_stall_ns_mean(), 500_000.0), "half a millisecond is kept");
    }

    /// Timing was switched on in the middle of a window, and the stall since then was divided by all its
    /// reads.
    #[test]
    fn a_stall_is_of_the_operations_whose_stall_was_told() {
        let before = totals(&[(Counter::Reads, 900), (Counter::UntimedReads, 900)]);
        let mut all = totals(&[(Counter::Reads, 100), (Counter::ReadStall, 500_000_000)]);
        all.then(&before);
        assert!(is_near(all.read_stall_ns_mean(), 5e6), "5 ms, not half of one");
        assert!(is_near(all.io_stall_ns_mean(), 5e6) && all.timed_ops() == 100);
        assert_eq!(all.queue_depth_mean(), None, "nobody knows of the others");
        assert!(is_near(all.iops(), 250.0), "they are counted all the same");
    }

    /// PostgreSQL reports for a database how long its backends waited for writes, but not how many there
    /// were: reads appeared to have waited for both.
    #[test]
    fn a_direction_that_is_not_counted_does_not_slow_the_other_down() {
        let database = totals(&[
            (Counter::Reads, 1_000),
            (Counter::ReadStall, 2_000_000_000),
            (Counter::WriteStall, 90_000_000_000),
        ]);
        assert!(is_near(database.io_stall_ns_mean(), 2e6), "{:?}", database.io_stall_ns_mean());
        let uncounted = totals(&[(Counter::Reads, 5), (Counter::Writes, 5), (Counter::WriteStall, 10)]);
        assert!(is_near(uncounted.io_stall_ns_mean(), 2.0), "reads are not timed");
    }

    /// The story: commits waited for the log's syncs, and the log came sixth; a database waited for its writes, which are not counted, and came
    /// last.
    #[test]
    fn time_waited_is_that_of_reads_writes_and_syncs_whether_they_are_counted_or_not() {
        let log = totals(&[(Counter::Writes, 4), (Counter::WriteStall, 6), (Counter::SyncStall, 973)]);
        assert_eq!(log.stall_ns(), Some(979));
        let database = totals(&[(Counter::Reads, 1), (Counter::ReadStall, 2), (Counter::WriteStall, 90)]);
        assert_eq!(database.stall_ns(), Some(92));
        let untold = totals(&[(Counter::Reads, 1), (Counter::UntimedReads, 1)]);
        assert_eq!((untold.stall_ns(), untold.stall_per_second()), (None, None), "not measured is not 0");
    }

    #[test]
    fn less_than_one_io_a_second_is_not_zero() {
        assert!(is_near(totals(&[(Counter::Reads, 1)]).iops(), 0.5));
    }

    #[test]
    fn queue_depth_is_stall_over_time() {
        let deep = totals(&[(Counter::ReadStall, 12_000_000_000), (Counter::WriteStall, 4_000_000_000)]);
        assert!(is_near(deep.queue_depth_mean(), 8.0));
    }

    proptest! {
        /// Whichever parts of a window and of a group are summed first, a figure is that of all of them; and no stall is in one figure and
        /// missing in another.
        #[test]
        fn a_figure_of_a_sum_is_that_of_its_parts_and_no_stall_is_left_out_of_it(
            parts in prop::collection::vec(prop::collection::vec(prop::option::of(0_u64..1 << 40), 6), 1..6),
        ) {
            const COUNTERS: [Counter; 6] = [
                Counter::Reads, Counter::ReadStall, Counter::Writes, Counter::WriteStall, Counter::Syncs,
                Counter::SyncStall,
            ];
            let of = |part: &Vec<Option<u64>>| {
                let known = COUNTERS.iter().zip(part).filter_map(|(counter, amount)| Some((*counter, (*amount)?)));
                totals(&known.collect::<Vec<_>>())
            };
            let mut sum = Totals::default();
            for part in &parts { sum.then(&of(part)); }
            let oracle = |places: &[usize]| {
                let known = parts.iter().flat_map(|part| places.iter().filter_map(|place| part[*place]));
                known.fold(None, |sum: Option<u64>, amount| Some(sum.unwrap_or(0) + amount))
            };
            prop_assert_eq!(sum.stall_ns(), oracle(&[1, 3, 5]));
            let whole = sum.stall_per_second().unwrap_or(0.0);
            let per_op = [
                (sum.read_stall_ns_mean(), Counter::Reads), (sum.write_stall_ns_mean(), Counter::Writes),
                (sum.sync_stall_ns_mean(), Counter::Syncs),
            ];
            let by_ops: f64 = per_op
                .into_iter()
                .filter_map(|(mean, counter)| Some(mean? / 1e9 * sum.per_second(counter)?))
                .sum();
            prop_assert!(by_ops <= whole * (1.0 + 1e-9), "{} of {}", by_ops, whole);
            prop_assert!(sum.queue_depth_mean().is_none_or(|queue| queue <= whole * (1.0 + 1e-9)));
        }

        #[test]
        fn the_parts_of_a_cut_add_up_to_the_whole(
            amounts in prop::collection::vec(any::<u64>(), 3),
            covered_ns in 1_u64..u64::MAX,
            mut cuts in prop::collection::vec(any::<u64>(), 0..6),
        ) {
            for cut in &mut cuts { *cut %= covered_ns; }
            cuts.sort_unstable();
            let whole = Totals {
                covered_ns,
                amounts: Counters::new()
                    .with(Counter::Reads, amounts[0])
                    .with(Counter::ReadBytes, amounts[1])
                    .with(Counter::WriteStall, amounts[2]),
            };
            let mut sum = Totals::default();
            for part in whole.cut(&cuts) { sum.then(&part); }
            prop_assert_eq!(sum, whole);
        }
    }
}
