//! The search for the highest rate of arrivals that storage can take without breaking a promise on response times.

use iostall_measure::Percentile;
use iostall_model::{Point, Repeat};

/// An interval at whose end more than this share of its arrivals had not been started did not keep its rate.
const BACKLOG_SHARE: f64 = 0.02;
/// A rate is confirmed or lowered at most so often.
const CONFIRMATIONS_MAX: u32 = 6;

/// Whether an open-loop point keeps the promise: nothing failed, no interval fell behind its rate, and the 99th percentile of
/// the response time is at most `p99_ns_target`, where arrivals that still waited at the end of an interval count as too
/// late: they are the slowest, and no histogram has them.
pub fn meets(point: &Point, p99_ns_target: u64) -> bool {
    let kept = |repeat: &Repeat| {
        let arrivals = point.rate_iops.unwrap_or(0.0) * repeat.measured_ns as f64 / 1e9;
        repeat.backlog_at_end.unwrap_or(0) as f64 <= arrivals * BACKLOG_SHARE
    };
    let waiting: u64 = point.repeats.iter().filter_map(|repeat| repeat.backlog_at_end).sum();
    let answered = point.latency_ns.count() as f64;
    // The same rank among those that were answered alone.
    let percent = Percentile::P99.percent() * (answered + waiting as f64) / answered;
    let p99_ns = Percentile::new(percent).and_then(|percentile| point.latency_ns.value_at(percentile));
    point.failed() == 0 && point.repeats.iter().all(kept) && p99_ns.is_some_and(|ns| ns <= p99_ns_target)
}

/// A rate to try next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Trial {
    /// A short look.
    Search(f64),
    /// A longer look at what the search has found.
    Confirm(f64),
}

impl Trial {
    /// Arrivals a second.
    pub fn rate(self) -> f64 {
        match self {
            Self::Search(rate) | Self::Confirm(rate) => rate,
        }
    }
}

/// A search: doubling or halving until the answer changes, then bisection of the logarithm, then confirmation, which gives
/// way downwards.
#[derive(Clone, Debug)]
pub struct RateSearch {
    low: Option<f64>,
    high: Option<f64>,
    /// Nothing below is tried.
    floor: f64,
    /// Nothing above is tried.
    ceiling: f64,
    /// The search is done when the two sides are within this share of each other.
    precision: f64,
    next: Option<Trial>,
    confirmations: u32,
    found: Option<f64>,
}

impl RateSearch {
    /// Begins at `start`, never leaves `floor..=ceiling`, and ends within `precision` (a share above 0).
    pub fn new(start: f64, floor: f64, ceiling: f64, precision: f64) -> Self {
        let start = start.clamp(floor, ceiling);
        let next = Some(Trial::Search(start));
        Self { low: None, high: None, floor, ceiling, precision, next, confirmations: 0, found: None }
    }

    /// What to try; `None` when the search is over.
    pub fn next(&self) -> Option<Trial> {
        self.next
    }

    /// The highest confirmed rate; `None` before the end, or where no rate keeps the promise.
    pub fn found(&self) -> Option<f64> {
        self.found
    }

    /// What came of [`RateSearch::next`].
    pub fn tell(&mut self, met: bool) {
        let Some(trial) = self.next.take() else { return };
        let rate = trial.rate();
        if met {
            self.low = Some(rate);
        } else {
            self.high = Some(rate);
        }
        self.next = match trial {
            Trial::Confirm(rate) if met => {
                self.found = Some(rate);
                None
            }
            Trial::Confirm(rate) => self.lower(rate),
            Trial::Search(_) => self.search(),
        };
    }

    fn search(&self) -> Option<Trial> {
        match (self.low, self.high) {
            (Some(low), None) if low >= self.ceiling => Some(Trial::Confirm(low)),
            (Some(low), None) => Some(Trial::Search((low * 2.0).min(self.ceiling))),
            (None, Some(high)) if high <= self.floor => None,
            (None, Some(high)) => Some(Trial::Search((high / 2.0).max(self.floor))),
            (Some(low), Some(high)) if high <= low * (1.0 + self.precision) => Some(Trial::Confirm(low)),
            (Some(low), Some(high)) => Some(Trial::Search((low * high).sqrt())),
            (None, None) => None,
        }
    }

    fn lower(&mut self, rate: f64) -> Option<Trial> {
        self.confirmations += 1;
        let lower = rate / (1.0 + self.precision);
        (self.confirmations < CONFIRMATIONS_MAX && lower >= self.floor).then_some(Trial::Confirm(lower))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iostall_measure::{Histogram, Percent};
    use proptest::prelude::*;

    fn run(search: &mut RateSearch, holds: impl Fn(f64) -> bool) -> usize {
        let mut trials = 0;
        while let Some(trial) = search.next() {
            search.tell(holds(trial.rate()));
            trials += 1;
            assert!(trials < 100, "{search:?}");
        }
        trials
    }

    proptest! {
        #[test]
        fn any_limit_is_found_within_the_precision_from_any_start(
            limit in 30.0_f64..1e6,
            start in 1.0_f64..1e7,
        ) {
            let mut search = RateSearch::new(start, 20.0, 1e7, 0.05);
            let trials = run(&mut search, |rate| rate <= limit);
            let found = search.found().unwrap();
            prop_assert!(found <= limit && found * 1.05 * 1.0001 >= limit, "{} of {}", found, limit);
            prop_assert!(trials < 40);
        }
    }

    #[test]
    fn where_no_rate_holds_none_is_found_and_where_all_hold_the_ceiling_is() {
        let mut never = RateSearch::new(1000.0, 20.0, 1e6, 0.05);
        run(&mut never, |_| false);
        assert_eq!(never.found(), None);
        let mut always = RateSearch::new(1000.0, 20.0, 64_000.0, 0.05);
        run(&mut always, |_| true);
        assert_eq!(always.found(), Some(64_000.0));
    }

    #[test]
    fn a_rate_that_held_by_luck_gives_way_in_confirmation() {
        let mut search = RateSearch::new(1000.0, 20.0, 1e6, 0.05);
        while let Some(trial) = search.next() {
            search.tell(match trial {
                Trial::Search(rate) => rate <= 1000.0,
                Trial::Confirm(rate) => rate <= 930.0,
            });
        }
        assert!((900.0..=930.0).contains(&search.found().unwrap()), "{search:?}");
    }

    fn point(rate: f64, backlog: u64, latency_ns: u64) -> Point {
        let mut histogram = Histogram::new();
        (0..2000).for_each(|_| histogram.record(latency_ns));
        let repeat = Repeat {
            start_ns: 0,
            measured_ns: 2_000_000_000,
            count: 2000,
            bytes: 2000 * 8192,
            failed: 0,
            latency_ns_mean: histogram.mean(),
            latency_ns_p99: histogram.max(),
            backlog_at_end: Some(backlog),
        };
        Point {
            targets: vec![0],
            block_size: "8K".parse().unwrap(),
            access: iostall_model::profile::Access::Random,
            write_pct: Percent::ZERO,
            queue_depth: 64,
            workers: 1,
            rate_iops: Some(rate),
            repeats: vec![repeat],
            latency_ns: histogram,
        }
    }

    #[test]
    fn the_promise_is_broken_by_slow_answers_failures_and_a_backlog() {
        let good = point(1000.0, 10, 1_000_000);
        assert!(meets(&good, 1_000_000));
        assert!(!meets(&good, 999_000));
        assert!(!meets(&point(1000.0, 100, 1_000_000), 1_000_000));
        // The story: within the 2 % of a backlog that are let pass, more than 1 % of the arrivals could wait for ever.
        let mut slow_in_the_end = point(1000.0, 15, 900_000);
        slow_in_the_end.latency_ns.record(2_000_000);
        assert!(meets(&slow_in_the_end, 1_000_000), "15 of 2016 are 0.7 %");
        (0..10).for_each(|_| slow_in_the_end.latency_ns.record(2_000_000));
        assert!(!meets(&slow_in_the_end, 1_000_000), "15 that wait and 11 that were slow are 1.3 %");
        assert!(!meets(&point(1000.0, 30, 900_000), 1_000_000), "30 of 2030 are 1.5 %");
        let mut failing = good;
        failing.repeats[0].failed = 1;
        assert!(!meets(&failing, 1_000_000));
    }
}
