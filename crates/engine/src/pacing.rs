//! When each request of an open loop is due.
//!
//! The schedule does not depend on the device. A late start shows as the difference between due and actual
//! time, and never moves the starts after it.

use std::collections::VecDeque;

use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::random::exponential;

/// Intended starts, one after the other, at a mean rate that may change.
///
/// Kept as a number of mean gaps since the rate last changed, not as a sum of whole nanoseconds: at 10 million a second
/// a gap is 100 ns, and rounding each would be half a percent. Over a day it is still exact to 1/64 of a nanosecond.
#[derive(Clone, Debug)]
pub struct Schedule {
    start_ns: u64,
    gap_ns_mean: f64,
    base_ns: f64,
    /// Mean gaps from then to the start that is due next.
    gaps_since: f64,
    gaps: Gaps,
    /// Changes to come: when, from `start_ns`, and the mean gap from then on.
    changes: VecDeque<(f64, f64)>,
}

#[derive(Clone, Debug)]
enum Gaps {
    /// Computed from a count, so that errors do not add up.
    Constant,
    /// Independent exponential gaps: a Poisson process.
    Poisson { rng: Xoshiro256PlusPlus },
}

impl Schedule {
    /// Evenly spaced starts, `per_second` of them, the first at `start_ns`.
    ///
    /// # Panics
    /// If the rate is not a positive number.
    pub fn constant(per_second: f64, start_ns: u64) -> Self {
        Self::new(per_second, start_ns, 0.0, Gaps::Constant)
    }

    /// A Poisson process of `per_second` from `start_ns`; the first start is one random gap later. The same
    /// seed gives the same schedule.
    ///
    /// # Panics
    /// If the rate is not a positive number.
    pub fn poisson(per_second: f64, start_ns: u64, seed: u64) -> Self {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let first = exponential(&mut rng);
        Self::new(per_second, start_ns, first, Gaps::Poisson { rng })
    }

    fn new(per_second: f64, start_ns: u64, gaps_since: f64, gaps: Gaps) -> Self {
        let (gap_ns_mean, changes) = (gap_ns(per_second), VecDeque::new());
        Self { start_ns, gap_ns_mean, base_ns: 0.0, gaps_since, gaps, changes }
    }

    /// When the next request is due, on the clock of `start_ns`, rounded down to a nanosecond.
    #[inline]
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "never negative, casts saturate"
    )]
    pub fn next_due_ns(&self) -> u64 {
        self.start_ns.saturating_add(self.elapsed_ns() as u64)
    }

    #[inline]
    pub fn advance(&mut self) {
        self.gaps_since += match &mut self.gaps {
            Gaps::Constant => 1.0,
            Gaps::Poisson { rng } => exponential(rng),
        };
        if !self.changes.is_empty() {
            self.pass_changes();
        }
    }

    /// The rate from `from_ns` on, which must not lie before an earlier change. A gap that has begun goes on with what is left
    /// of it at the new rate. Two copies of a schedule that are told of the same changes stay the same to the bit, whenever
    /// each of them gets there, as long as none has passed `from_ns` before it is told.
    ///
    /// # Panics
    /// When the rate is not a positive number.
    pub fn change_rate(&mut self, per_second: f64, from_ns: u64) {
        self.changes.push_back((from_ns.saturating_sub(self.start_ns) as f64, gap_ns(per_second)));
        self.pass_changes();
    }

    fn elapsed_ns(&self) -> f64 {
        self.base_ns + self.gaps_since * self.gap_ns_mean
    }

    fn pass_changes(&mut self) {
        while let Some((at_ns, gap_ns_mean)) = self.changes.front().copied()
            && self.elapsed_ns() > at_ns
        {
            self.gaps_since -= (at_ns - self.base_ns) / self.gap_ns_mean;
            self.base_ns = at_ns;
            self.gap_ns_mean = gap_ns_mean;
            self.changes.pop_front();
        }
    }
}

fn gap_ns(per_second: f64) -> f64 {
    assert!(per_second.is_finite() && per_second > 0.0, "a rate of {per_second} a second is no rate");
    1e9 / per_second
}

#[cfg(test)]
mod tests {
    use super::*;
    use iostall_measure::Moments;

    const RATES: [f64; 5] = [1.0, 1_000.0, 33_333.3, 1_000_000.0, 10_000_000.0];

    fn due(mut schedule: Schedule, count: u64) -> Vec<u64> {
        (0..count)
            .map(|_| {
                let due_ns = schedule.next_due_ns();
                schedule.advance();
                due_ns
            })
            .collect()
    }

    #[test]
    fn a_constant_schedule_is_exact_to_the_nanosecond_at_any_rate() {
        for rate in RATES {
            for (index, due_ns) in (0u32..).zip(due(Schedule::constant(rate, 500), 100_000)) {
                let exact = 500.0 + f64::from(index) * 1e9 / rate;
                assert!(
                    (due_ns as f64 - exact).abs() <= 1.0,
                    "{rate}/s, start {index}: {due_ns} for {exact}"
                );
            }
        }
    }

    #[test]
    fn a_poisson_schedule_keeps_its_rate_and_its_gaps_vary_as_exponential_ones_do() {
        for (seed, rate) in (0u64..).zip(RATES) {
            let starts = due(Schedule::poisson(rate, 0, seed), 400_000);
            let mut gaps = Moments::default();
            let mut beyond_mean = 0u32;
            for pair in starts.windows(2) {
                let gap_ns = (pair[1] - pair[0]) as f64;
                gaps.record(gap_ns);
                beyond_mean += u32::from(gap_ns * rate / 1e9 > 1.0);
            }
            let mean_ns = gaps.mean().unwrap();
            assert!((mean_ns * rate / 1e9 - 1.0).abs() < 0.005, "{rate}/s: mean gap {mean_ns} ns");
            let variation = gaps.coefficient_of_variation().unwrap();
            assert!((variation - 1.0).abs() < 0.02, "{rate}/s: coefficient of variation {variation}");
            // P(gap > mean) = 1/e distinguishes exponential gaps from others with the same moments. Rounding
            // to whole nanoseconds shifts it by at most half a nanosecond in a gap of 100.
            let share = f64::from(beyond_mean) / 399_999.0;
            assert!(
                (share - (-1.0f64).exp()).abs() < 0.006,
                "{rate}/s: {share} of the gaps are longer than the mean"
            );
        }
    }

    #[test]
    fn a_schedule_repeats_with_its_seed_and_differs_with_another() {
        let starts = |seed| due(Schedule::poisson(1_000.0, 7, seed), 100);
        assert_eq!(starts(1), starts(1));
        assert_ne!(starts(1), starts(2));
        assert!(starts(1).windows(2).all(|pair| pair[0] <= pair[1]));
    }

    #[test]
    fn a_schedule_does_not_lose_time_over_days() {
        // Two days of gaps at 10 million a second, skipped: the sum still resolves single nanoseconds.
        let mut schedule = Schedule::poisson(10_000_000.0, 0, 3);
        schedule.gaps_since = 2.0 * 86_400e9 / 100.0;
        let before = schedule.elapsed_ns();
        let mut fresh = Schedule { gaps_since: 0.0, ..schedule.clone() };
        for _ in 0..1_000_000 {
            schedule.advance();
            fresh.advance();
        }
        assert!((schedule.elapsed_ns() - before - fresh.elapsed_ns()).abs() < 50.0);
    }

    #[test]
    fn a_rate_that_changes_holds_from_then_on_and_a_gap_that_has_begun_is_not_lost() {
        let mut schedule = Schedule::constant(1000.0, 0);
        schedule.change_rate(4000.0, 2_500_000);
        schedule.change_rate(500.0, 3_500_000);
        // Half a gap was left at 2.5 ms, which is 0.125 ms at the new rate.
        let expected =
            [0, 1_000_000, 2_000_000, 2_625_000, 2_875_000, 3_125_000, 3_375_000, 4_500_000, 6_500_000];
        assert_eq!(due(schedule, 9), expected);
    }

    #[test]
    fn a_copy_that_lags_comes_to_the_same_starts_to_the_bit() {
        for seed in 0..20 {
            let mut ahead = Schedule::poisson(333_333.3, 17, seed);
            let mut later = ahead.clone();
            let mut seen = Vec::new();
            for (turn, rate) in (1_u64..).zip([1000.0, 77_777.7, 5.5e5, 3000.0]) {
                let now_ns = turn * 1_000_000;
                while ahead.next_due_ns() <= now_ns {
                    seen.push(ahead.next_due_ns());
                    ahead.advance();
                }
                ahead.change_rate(rate, now_ns);
                later.change_rate(rate, now_ns);
            }
            assert_eq!(due(later, seen.len() as u64), seen);
        }
    }

    #[test]
    #[should_panic(expected = "is no rate")]
    fn a_rate_of_nothing_is_the_caller_s_mistake() {
        let _ = Schedule::constant(0.0, 0);
    }
}
