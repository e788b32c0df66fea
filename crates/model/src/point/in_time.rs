//! Whether an open-loop point meets its response time target.

use iostall_measure::Percentile;

use super::{Point, Repeat};

/// An interval did not keep its rate if more than this share of its arrivals had not started at its end.
const BACKLOG_SHARE: f64 = 0.02;

impl Point {
    /// Whether an open-loop point meets the target: nothing failed, no interval fell behind its rate, and the
    /// 99th percentile of the response time is at most `p99_ns_target`. Arrivals still waiting at the end of
    /// an interval count as too late: they are the slowest, and no histogram includes them.
    pub fn answers_in_time(&self, p99_ns_target: u64) -> bool {
        let kept = |repeat: &Repeat| {
            let arrivals = self.rate_iops.unwrap_or(0.0) * repeat.measured_ns as f64 / 1e9;
            repeat.backlog_at_end.unwrap_or(0) as f64 <= arrivals * BACKLOG_SHARE
        };
        let waiting: u64 = self.repeats.iter().filter_map(|repeat| repeat.backlog_at_end).sum();
        let answered = self.latency_ns.count() as f64;
        // The same rank among the answered requests only.
        let percent = Percentile::P99.percent() * (answered + waiting as f64) / answered;
        let p99_ns = Percentile::new(percent).and_then(|percentile| self.latency_ns.value_at(percentile));
        self.failed() == 0 && self.repeats.iter().all(kept) && p99_ns.is_some_and(|ns| ns <= p99_ns_target)
    }
}

#[cfg(test)]
mod tests {
    use iostall_measure::{Histogram, Percent};

    use super::*;

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
            access: crate::profile::Access::Random,
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
        assert!(good.answers_in_time(1_000_000));
        assert!(!good.answers_in_time(999_000));
        assert!(!point(1000.0, 100, 1_000_000).answers_in_time(1_000_000));
        // Within the tolerated backlog of 2 %, more than 1 % of the arrivals could wait forever.
        let mut slow_in_the_end = point(1000.0, 15, 900_000);
        slow_in_the_end.latency_ns.record(2_000_000);
        assert!(slow_in_the_end.answers_in_time(1_000_000), "15 of 2016 are 0.7 %");
        (0..10).for_each(|_| slow_in_the_end.latency_ns.record(2_000_000));
        assert!(!slow_in_the_end.answers_in_time(1_000_000), "15 that wait and 11 that were slow are 1.3 %");
        assert!(!point(1000.0, 30, 900_000).answers_in_time(1_000_000), "30 of 2030 are 1.5 %");
        let mut failing = good;
        failing.repeats[0].failed = 1;
        assert!(!failing.answers_in_time(1_000_000));
    }
}
