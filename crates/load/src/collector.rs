//! Combines the workers' intervals into the series of each role as they arrive.

use std::collections::BTreeMap;

use iostall_measure::{Histogram, Op};
use iostall_model::outcome::{IntervalOp, IntervalPoint};

use crate::worker_stats::IntervalReport;

#[derive(Default)]
struct Pending {
    ops: BTreeMap<Op, (u64, Histogram)>,
}

struct RoleSeries {
    /// The interval that each worker of the role has reached; all earlier ones are reported.
    reached: BTreeMap<u32, u64>,
    pending: BTreeMap<u64, Pending>,
    points: Vec<IntervalPoint>,
}

/// The series of every role of a span. An interval is closed and its histograms freed once every worker of
/// the role has passed it, so memory stays bounded however long the run is.
pub(crate) struct Collector {
    roles: Vec<RoleSeries>,
    measured_ns: u64,
    interval_ns: u64,
}

impl Collector {
    /// `workers` are those of each role; `measured_ns` is the planned length of the measured part, in
    /// intervals of `interval_ns`.
    pub(crate) fn new(workers: &[Vec<u32>], measured_ns: u64, interval_ns: u64) -> Self {
        let role = |workers: &Vec<u32>| RoleSeries {
            reached: workers.iter().map(|worker| (*worker, 0)).collect(),
            pending: BTreeMap::new(),
            points: Vec::new(),
        };
        Self { roles: workers.iter().map(role).collect(), measured_ns, interval_ns }
    }

    /// Adds a report. Returns the role whose series grew, if any.
    pub(crate) fn take(&mut self, report: IntervalReport) -> Option<usize> {
        let series = self.roles.get_mut(report.role)?;
        let pending = series.pending.entry(report.interval).or_default();
        for (op, bytes, latency) in report.ops {
            let (sum_bytes, sum) = pending.ops.entry(op).or_insert_with(|| (0, Histogram::new()));
            *sum_bytes += bytes;
            sum.merge(&latency);
        }
        series.reached.insert(report.worker, report.interval + 1);
        let complete_before = series.reached.values().copied().min().unwrap_or(0);
        let before = series.points.len();
        series.close_before(complete_before, self.measured_ns, self.interval_ns);
        (series.points.len() > before).then_some(report.role)
    }

    pub(crate) fn latest(&self, role: usize) -> Option<&IntervalPoint> {
        self.roles.get(role)?.points.last()
    }

    /// Closes the remaining intervals and returns each role's series, cut at `measured_ns`.
    pub(crate) fn finish(mut self, measured_ns: u64) -> Vec<Vec<IntervalPoint>> {
        let intervals = measured_ns.div_ceil(self.interval_ns);
        for series in &mut self.roles {
            series.close_before(intervals, measured_ns, self.interval_ns);
            for point in &mut series.points {
                point.length_ns = point.length_ns.min(measured_ns.saturating_sub(point.start_ns));
            }
            series.points.retain(|point| point.length_ns > 0);
        }
        self.roles.into_iter().map(|series| series.points).collect()
    }
}

impl RoleSeries {
    /// Turns every interval before `end` into a point. An interval without completions becomes an empty
    /// point, because a series must show stalls.
    fn close_before(&mut self, end: u64, measured_ns: u64, interval_ns: u64) {
        while (self.points.len() as u64) < end {
            let interval = self.points.len() as u64;
            let start_ns = interval * interval_ns;
            if start_ns >= measured_ns {
                return;
            }
            let ops = self.pending.remove(&interval).unwrap_or_default().ops;
            self.points.push(IntervalPoint {
                start_ns,
                length_ns: interval_ns.min(measured_ns - start_ns),
                ops: ops
                    .iter()
                    .filter_map(|(op, (bytes, latency))| IntervalOp::of(*op, *bytes, latency))
                    .collect(),
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTERVAL_NS: u64 = 1_000_000_000;

    fn report(worker: u32, interval: u64, latencies: &[u64]) -> IntervalReport {
        let mut latency = Histogram::new();
        for value in latencies {
            latency.record(*value);
        }
        let ops = if latencies.is_empty() { Vec::new() } else { vec![(Op::Read, 100, latency)] };
        IntervalReport { role: 0, worker, interval, ops }
    }

    #[test]
    fn a_second_is_shown_when_every_worker_has_gone_past_it() {
        let mut collector = Collector::new(&[vec![0, 1]], 10 * INTERVAL_NS, INTERVAL_NS);
        assert_eq!(collector.take(report(0, 0, &[10])), None);
        assert_eq!(collector.take(report(1, 0, &[30])), Some(0));
        let point = collector.latest(0).unwrap();
        assert_eq!((point.ops[0].count, point.ops[0].bytes, point.ops[0].latency_ns_max), (2, 200, 30));
    }

    #[test]
    fn a_stall_is_an_empty_second_and_the_last_one_is_as_long_as_it_was() {
        let mut collector = Collector::new(&[vec![0]], 10 * INTERVAL_NS, INTERVAL_NS);
        collector.take(report(0, 0, &[10]));
        collector.take(report(0, 3, &[20]));
        let series = collector.finish(3 * INTERVAL_NS + INTERVAL_NS / 2).remove(0);
        assert_eq!(series.len(), 4);
        assert!(series[1].ops.is_empty() && series[2].ops.is_empty());
        assert_eq!(series[3].length_ns, INTERVAL_NS / 2);
        assert_eq!(series[3].ops[0].count, 1);
    }
}
