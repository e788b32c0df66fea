//! When each request of an open loop is due.
//!
//! The schedule does not depend on the device. A late start shows as the difference between due and actual
//! time, and
//! never moves the starts after it.

use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::random::exponential;

/// Intended start times at a mean rate.
///
/// Kept as a sum in `f64` nanoseconds: at 10 million a second a gap is 100 ns, and rounding each to whole
/// nanoseconds
/// would be an error of half a percent. Over a day the sum is still accurate to 1/64 of a nanosecond.
#[derive(Clone, Debug)]
pub struct Schedule {
    start_ns: u64,
    gap_ns_mean: f64,
    /// Of the next start, from `start_ns`.
    elapsed_ns: f64,
    gaps: Gaps,
}

#[derive(Clone, Debug)]
enum Gaps {
    /// Computed from a count, so that errors do not add up.
    Constant { count: u64 },
    /// Independent exponential gaps: a Poisson process.
    Poisson { rng: Xoshiro256PlusPlus },
}

impl Schedule {
    /// Evenly spaced starts, `per_second` of them, the first at `start_ns`.
    ///
    /// # Panics
    /// If the rate is not a positive number.
    pub fn constant(per_second: f64, start_ns: u64) -> Self {
        let gap_ns_mean = gap_ns(per_second);
        Self { start_ns, gap_ns_mean, elapsed_ns: 0.0, gaps: Gaps::Constant { count: 0 } }
    }

    /// A Poisson process of `per_second` from `start_ns`; the first start is one random gap later. The same
    /// seed gives
    /// the same schedule.
    ///
    /// # Panics
    /// If the rate is not a positive number.
    pub fn poisson(per_second: f64, start_ns: u64, seed: u64) -> Self {
        let gap_ns_mean = gap_ns(per_second);
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let elapsed_ns = exponential(&mut rng) * gap_ns_mean;
        Self { start_ns, gap_ns_mean, elapsed_ns, gaps: Gaps::Poisson { rng } }
    }

    /// When the next request is due, on the clock of `start_ns`, rounded down to a nanosecond.
    #[inline]
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "never negative, casts saturate"
    )]
    pub fn next_due_ns(&self) -> u64 {
        self.start_ns.saturating_add(self.elapsed_ns as u64)
    }

    /// Moves on to the next request.
    #[inline]
    pub fn advance(&mut self) {
        match &mut self.gaps {
            Gaps::Constant { count } => {
                *count += 1;
                self.elapsed_ns = *count as f64 * self.gap_ns_mean;
            }
            Gaps::Poisson { rng } => self.elapsed_ns += exponential(rng) * self.gap_ns_mean,
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
        schedule.elapsed_ns = 2.0 * 86_400e9;
        let before = schedule.elapsed_ns;
        let mut fresh = Schedule { elapsed_ns: 0.0, ..schedule.clone() };
        for _ in 0..1_000_000 {
            schedule.advance();
            fresh.advance();
        }
        assert!((schedule.elapsed_ns - before - fresh.elapsed_ns).abs() < 50.0);
    }

    #[test]
    #[should_panic(expected = "is no rate")]
    fn a_rate_of_nothing_is_the_caller_s_mistake() {
        let _ = Schedule::constant(0.0, 0);
    }
}
