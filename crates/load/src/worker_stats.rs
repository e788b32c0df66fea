//! What a worker counts: one cell per target and operation, per interval and in total.
//!
//! Each completion is recorded once, in the histogram of the current interval; at the end of the interval
//! that is added to the total and sent to the collector. So a latency costs one record in the I/O path, which
//! takes no locks and allocates only for one hand-over a second.

use std::sync::mpsc::Sender;

use iostall_engine::IoFailure;
use iostall_measure::{Histogram, Op};
use iostall_model::Cell;
use iostall_model::outcome::{CellInterval, ErrorOutcome};

#[derive(Debug)]
pub(crate) struct IntervalReport {
    pub(crate) role: usize,
    pub(crate) worker: u32,
    /// Number of the interval, from the start of the measured part.
    pub(crate) interval: u64,
    /// Operation, bytes moved, latency (response in an open loop, otherwise service).
    pub(crate) ops: Vec<(Op, u64, Histogram)>,
}

struct CellStats {
    target: u32,
    op: Op,
    bytes: u64,
    failed: u64,
    service: Histogram,
    response: Option<Histogram>,
    now_bytes: u64,
    now_service: Histogram,
    now_response: Option<Histogram>,
    intervals: Vec<CellInterval>,
}

impl CellStats {
    fn new(target: u32, op: Op, open_loop: bool) -> Self {
        Self {
            target,
            op,
            bytes: 0,
            failed: 0,
            service: Histogram::new(),
            response: open_loop.then(Histogram::new),
            now_bytes: 0,
            now_service: Histogram::new(),
            now_response: open_loop.then(Histogram::new),
            intervals: Vec::new(),
        }
    }

    /// Adds the current interval to the total and returns its entry for the series.
    fn close_interval(&mut self) -> Option<(Op, u64, Histogram)> {
        if self.now_service.is_empty() {
            return None;
        }
        let bytes = std::mem::take(&mut self.now_bytes);
        self.bytes += bytes;
        self.service.merge(&self.now_service);
        let shown = match (&mut self.response, &mut self.now_response) {
            (Some(total), Some(now)) => {
                total.merge(now);
                self.now_service.clear();
                std::mem::take(now)
            }
            _ => std::mem::take(&mut self.now_service),
        };
        Some((self.op, bytes, shown))
    }
}

pub(crate) struct WorkerStats {
    role: usize,
    worker: u32,
    cells: Vec<CellStats>,
    measure_from_ns: u64,
    interval: u64,
    interval_ns: u64,
    interval_end_ns: u64,
    keeps_series: bool,
    reports: Sender<IntervalReport>,
}

impl WorkerStats {
    /// Cells for every target in `targets` (indices in the run's list) and every operation. The series starts
    /// with the measured part, in intervals of `interval_ns`.
    pub(crate) fn new(
        role: usize,
        worker: u32,
        targets: &[u32],
        open_loop: bool,
        (measure_from_ns, interval_ns): (u64, u64),
        reports: Sender<IntervalReport>,
    ) -> Self {
        let cells = targets
            .iter()
            .flat_map(|target| Op::ALL.map(|op| CellStats::new(*target, op, open_loop)))
            .collect();
        let interval_end_ns = measure_from_ns + interval_ns;
        Self {
            role,
            worker,
            cells,
            measure_from_ns,
            interval: 0,
            interval_ns,
            interval_end_ns,
            keeps_series: false,
            reports,
        }
    }

    pub(crate) fn with_series(mut self, keeps_series: bool) -> Self {
        self.keeps_series = keeps_series;
        self
    }

    #[inline]
    fn cell(&mut self, stream: usize, op: Op) -> &mut CellStats {
        &mut self.cells[stream * Op::ALL.len() + op as usize]
    }

    /// Counts a completed request. Only for completions within the measured part.
    #[inline]
    pub(crate) fn record(&mut self, stream: usize, op: Op, bytes: u64, service_ns: u64, response_ns: u64) {
        let cell = self.cell(stream, op);
        cell.now_bytes += bytes;
        cell.now_service.record(service_ns);
        if let Some(response) = &mut cell.now_response {
            response.record(response_ns);
        }
    }

    /// Counts a failed request. Only within the measured part.
    pub(crate) fn record_failure(&mut self, stream: usize, op: Op) {
        self.cell(stream, op).failed += 1;
    }

    /// Closes every interval that ends at or before `now_ns`. Call it before recording completions at
    /// `now_ns`.
    #[inline]
    pub(crate) fn roll(&mut self, now_ns: u64) {
        if now_ns >= self.interval_end_ns {
            self.close_interval(now_ns);
        }
    }

    #[cold]
    fn close_interval(&mut self, now_ns: u64) {
        let mut ops = Vec::new();
        for cell in &mut self.cells {
            let Some((op, bytes, latency)) = cell.close_interval() else { continue };
            if self.keeps_series {
                // Idle intervals of this cell are filled in as empty ones.
                cell.intervals.resize(usize::try_from(self.interval).unwrap_or(0), CellInterval::default());
                cell.intervals.push(CellInterval::of(&latency));
            }
            ops.push((op, bytes, latency));
        }
        let report = IntervalReport { role: self.role, worker: self.worker, interval: self.interval, ops };
        // If the collector is gone, the totals are still complete.
        let _ = self.reports.send(report);
        self.interval = (now_ns - self.measure_from_ns) / self.interval_ns;
        self.interval_end_ns = self.measure_from_ns + (self.interval + 1) * self.interval_ns;
    }

    /// Closes the last interval and returns the totals, without empty cells.
    pub(crate) fn finish(mut self) -> Vec<Cell> {
        self.close_interval(self.interval_end_ns);
        self.cells
            .into_iter()
            .filter(|cell| cell.failed > 0 || !cell.service.is_empty())
            .map(|cell| Cell {
                worker: self.worker,
                target: cell.target,
                op: cell.op,
                bytes: cell.bytes,
                failed: cell.failed,
                service_ns: cell.service,
                response_ns: cell.response,
                intervals: cell.intervals,
            })
            .collect()
    }
}

/// A worker gives up after this many consecutive failures.
const FAILURES_IN_A_ROW_MAX: u32 = 1000;

pub(crate) struct Failure {
    pub(crate) op: Op,
    pub(crate) target: u32,
    pub(crate) offset: u64,
    pub(crate) length: u32,
    pub(crate) cause: Result<u32, IoFailure>,
}

#[derive(Default)]
pub(crate) struct Failures {
    kinds: Vec<ErrorOutcome>,
    in_a_row: u32,
}

impl Failures {
    #[inline]
    pub(crate) fn success(&mut self) {
        self.in_a_row = 0;
    }

    /// Whether the worker should give up after too many consecutive failures.
    pub(crate) fn hopeless(&self) -> bool {
        self.in_a_row >= FAILURES_IN_A_ROW_MAX
    }

    #[cold]
    pub(crate) fn add(&mut self, failure: &Failure) {
        self.in_a_row += 1;
        let (kind, message, moved) = match failure.cause {
            Ok(moved) => ("short".to_owned(), "fewer bytes moved than requested".to_owned(), moved),
            Err(cause) => (cause.symbol(), cause.to_string(), 0),
        };
        if let Some(known) = self.kinds.iter_mut().find(|known| known.op == failure.op && known.kind == kind)
        {
            known.count += 1;
            return;
        }
        self.kinds.push(ErrorOutcome {
            op: failure.op,
            kind,
            message,
            count: 1,
            first_target: failure.target,
            first_offset: failure.offset,
            first_length: failure.length,
            first_moved: moved,
        });
    }

    /// The kinds, in order of first occurrence.
    pub(crate) fn into_kinds(self) -> Vec<ErrorOutcome> {
        self.kinds
    }
}

pub(crate) fn merge(into: &mut Vec<ErrorOutcome>, from: Vec<ErrorOutcome>) {
    for kind in from {
        match into.iter_mut().find(|known| known.op == kind.op && known.kind == kind.kind) {
            Some(known) => known.count += kind.count,
            None => into.push(kind),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    const INTERVAL_NS: u64 = 1_000_000_000;

    #[test]
    fn totals_equal_the_sum_of_the_intervals_and_idle_seconds_leave_no_trace() {
        let (sender, receiver) = channel();
        let mut stats = WorkerStats::new(0, 3, &[7], true, (100, INTERVAL_NS), sender).with_series(true);
        for (at_ns, bytes) in [(100, 10), (500, 20), (2 * INTERVAL_NS + 100, 30), (2 * INTERVAL_NS + 200, 40)]
        {
            stats.roll(at_ns);
            stats.record(0, Op::Write, bytes, 5, 9);
        }
        stats.record_failure(0, Op::Read);
        let cells = stats.finish();
        let reports: Vec<IntervalReport> = receiver.iter().collect();
        let seen: Vec<(u64, u64)> = reports
            .iter()
            .flat_map(|report| report.ops.iter().map(|(_, bytes, _)| (report.interval, *bytes)))
            .collect();
        assert_eq!(seen, [(0, 30), (2, 70)]);
        assert_eq!(reports[0].ops[0].2.max(), Some(9), "the series of an open loop shows response times");
        assert_eq!(cells.len(), 2);
        let write = cells.iter().find(|cell| cell.op == Op::Write).unwrap();
        assert_eq!((write.bytes, write.service_ns.count(), write.target, write.worker), (100, 4, 7, 3));
        assert_eq!(write.response_ns.as_ref().unwrap().max(), Some(9));
        let counts: Vec<u64> = write.intervals.iter().map(|interval| interval.count).collect();
        assert_eq!(counts, [2, 0, 2]);
        assert_eq!(cells.iter().find(|cell| cell.op == Op::Read).unwrap().failed, 1);
    }

    #[test]
    fn alike_failures_are_counted_and_the_first_keeps_its_place() {
        let mut failures = Failures::default();
        for offset in [4096, 8192] {
            failures.add(&Failure {
                op: Op::Write,
                target: 1,
                offset,
                length: 4096,
                cause: Err(IoFailure(28)),
            });
        }
        failures.add(&Failure { op: Op::Read, target: 1, offset: 0, length: 4096, cause: Ok(512) });
        let mut kinds = failures.into_kinds();
        assert_eq!(kinds.len(), 2);
        assert_eq!((kinds[0].kind.as_str(), kinds[0].count, kinds[0].first_offset), ("ENOSPC", 2, 4096));
        assert_eq!((kinds[1].kind.as_str(), kinds[1].first_moved), ("short", 512));
        let again = kinds.clone();
        merge(&mut kinds, again);
        assert_eq!(kinds[0].count, 4);
    }

    #[test]
    fn a_success_ends_a_row_of_failures() {
        let mut failures = Failures::default();
        for _ in 0..FAILURES_IN_A_ROW_MAX {
            failures.add(&Failure {
                op: Op::Read,
                target: 0,
                offset: 0,
                length: 512,
                cause: Err(IoFailure(5)),
            });
        }
        assert!(failures.hopeless());
        failures.success();
        assert!(!failures.hopeless());
    }
}
