//! Amounts over a length of time, and the rates that follow from them.
//!
//! The same arithmetic serves one interval, an hour, a window and a volume: always the quotient of two sums,
//! never an average of averages.

use crate::counter::{Counter, Counters};

/// What was done in some time: operations, bytes, and nanoseconds of stall.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// The time these amounts were counted in, nanoseconds.
    pub covered_ns: u64,
    /// The amounts, in operations, bytes and nanoseconds. An absent one was not told.
    pub amounts: Counters,
}

impl Totals {
    /// Adds what was done in some other time by the same thing.
    pub fn then(&mut self, later: &Self) {
        self.covered_ns = self.covered_ns.saturating_add(later.covered_ns);
        self.amounts.add(&later.amounts);
    }

    /// Adds what another thing did in the same time: the covered time stays, the longer of the two.
    pub fn beside(&mut self, other: &Self) {
        self.covered_ns = self.covered_ns.max(other.covered_ns);
        self.amounts.add(&other.amounts);
    }

    /// The covered time in seconds.
    pub fn covered_s(&self) -> f64 {
        self.covered_ns as f64 / 1e9
    }

    /// Amount per second; `None` when it was not told or no time is covered.
    pub fn per_second(&self, counter: Counter) -> Option<f64> {
        let amount = self.amounts.get(counter)?;
        (self.covered_ns > 0).then(|| amount as f64 / self.covered_s())
    }

    /// Sum of two amounts; a missing one is left out, `None` when both are.
    fn sum(&self, a: Counter, b: Counter) -> Option<u64> {
        match (self.amounts.get(a), self.amounts.get(b)) {
            (None, None) => None,
            (a, b) => Some(a.unwrap_or(0).saturating_add(b.unwrap_or(0))),
        }
    }

    /// Reads and writes per second.
    pub fn iops(&self) -> Option<f64> {
        let ops = self.sum(Counter::Reads, Counter::Writes)?;
        (self.covered_ns > 0).then(|| ops as f64 / self.covered_s())
    }

    /// Bytes read and written per second.
    pub fn bytes_per_second(&self) -> Option<f64> {
        let bytes = self.sum(Counter::ReadBytes, Counter::WriteBytes)?;
        (self.covered_ns > 0).then(|| bytes as f64 / self.covered_s())
    }

    /// Stall and count of the reads whose stall was told; `None` where none was, or reads were not.
    fn timed_reads(&self) -> Option<(u64, u64)> {
        self.timed(Counter::Reads, Counter::ReadStall, Counter::UntimedReads)
    }

    /// The same of writes.
    fn timed_writes(&self) -> Option<(u64, u64)> {
        self.timed(Counter::Writes, Counter::WriteStall, Counter::UntimedWrites)
    }

    fn timed(&self, ops: Counter, stall: Counter, untimed: Counter) -> Option<(u64, u64)> {
        let ops = self.amounts.get(ops)?.saturating_sub(self.amounts.or_zero(untimed));
        Some((self.amounts.get(stall)?, ops))
    }

    /// Stall and count of the reads and writes whose stall was told. A direction that is counted and not timed, or
    /// timed and not counted, has no part in it.
    fn timed_io(&self) -> Option<(u64, u64)> {
        match (self.timed_reads(), self.timed_writes()) {
            (Some(a), Some(b)) => Some((a.0.saturating_add(b.0), a.1.saturating_add(b.1))),
            (a, b) => a.or(b),
        }
    }

    /// How many reads and writes have their stall told.
    pub fn timed_ops(&self) -> u64 {
        self.timed_io().map_or(0, |(_, ops)| ops)
    }

    /// Stall per read, nanoseconds; `None` without reads whose stall was told.
    pub fn read_stall_ns_mean(&self) -> Option<f64> {
        self.timed_reads().and_then(mean)
    }

    /// Stall per write, nanoseconds; `None` without writes whose stall was told.
    pub fn write_stall_ns_mean(&self) -> Option<f64> {
        self.timed_writes().and_then(mean)
    }

    /// Stall per read or write, nanoseconds; `None` without either, or where the stall of none was told.
    pub fn io_stall_ns_mean(&self) -> Option<f64> {
        self.timed_io().and_then(mean)
    }

    /// Mean size of a read, bytes.
    pub fn read_size_bytes_mean(&self) -> Option<f64> {
        quotient(self.amounts.get(Counter::ReadBytes), self.amounts.get(Counter::Reads))
    }

    /// Mean size of a write, bytes.
    pub fn write_size_bytes_mean(&self) -> Option<f64> {
        quotient(self.amounts.get(Counter::WriteBytes), self.amounts.get(Counter::Writes))
    }

    /// Mean size of a read or write, bytes.
    pub fn io_size_bytes_mean(&self) -> Option<f64> {
        quotient(self.sum(Counter::ReadBytes, Counter::WriteBytes), self.sum(Counter::Reads, Counter::Writes))
    }

    /// Mean number of reads and writes in flight, by Little's law: summed stall over time. `None` where the stall of
    /// some was not told: they were in flight, too.
    pub fn queue_depth_mean(&self) -> Option<f64> {
        let untimed = self.sum(Counter::UntimedReads, Counter::UntimedWrites).unwrap_or(0);
        let stall_ns = self.sum(Counter::ReadStall, Counter::WriteStall).filter(|_| untimed == 0);
        quotient(stall_ns, Some(self.covered_ns))
    }

    /// Share of the time with a request in flight, 0 to 1; only devices tell.
    pub fn busy_share(&self) -> Option<f64> {
        quotient(self.amounts.get(Counter::Busy), Some(self.covered_ns)).map(|share| share.min(1.0))
    }

    /// Cuts this at `offsets_ns` from its beginning (rising, each inside the covered time) as if the work had
    /// been even, which is all that two readings tell. The parts add up to the whole, unit by unit.
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

/// `amount * part / whole`, cut down; the whole of it when there is no whole.
fn share(amount: u64, part: u64, whole: u64) -> u64 {
    let product = u128::from(amount) * u128::from(part);
    product.checked_div(u128::from(whole)).and_then(|share| u64::try_from(share).ok()).unwrap_or(amount)
}

/// What one of `ops` operations waited, of a stall of all; `None` where there were none.
fn mean((stall_ns, ops): (u64, u64)) -> Option<f64> {
    quotient(Some(stall_ns), Some(ops))
}

/// `a / b`, where both are told and `b` is not zero.
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

    /// Timing was switched on in the midst of a window, and the stall since then was divided by all its reads.
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

    /// PostgreSQL tells of a database how long its backends waited for writes, and not how many there were: reads
    /// looked as if they had waited for both.
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
