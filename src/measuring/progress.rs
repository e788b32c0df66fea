//! The live line of a load run.

use iostall_load::runner::{Observer, Phase};
use iostall_measure::{Nanos, Op};
use iostall_model::outcome::IntervalPoint;

use crate::printer::Printer;

/// Shows where a span is: rate and 99th percentile of the newest second, time left.
pub(super) struct LiveLine<'a> {
    printer: &'a Printer,
    /// Length of the phases: warm-up, measured, cool-down.
    lengths_ns: [u64; 3],
    /// Which part of the run it is, where there are several: `span 2/3  `.
    prefix: String,
}

impl<'a> LiveLine<'a> {
    pub(super) fn new(printer: &'a Printer, lengths: [Nanos; 3], prefix: String) -> Self {
        Self { printer, lengths_ns: lengths.map(Nanos::nanos), prefix }
    }
}

impl Observer for LiveLine<'_> {
    fn tick(&mut self, phase: Phase, left_ns: u64, newest: &[Option<&IntervalPoint>]) {
        let [warmup_ns, measured_ns, cooldown_ns] = self.lengths_ns;
        let (word, length_ns) = match phase {
            Phase::Warmup => ("warming up", warmup_ns),
            Phase::Measured => ("measuring", measured_ns),
            Phase::Cooldown => ("cooling down", cooldown_ns),
            Phase::Draining => ("waiting for the last requests", 0),
        };
        let done = if length_ns == 0 { 1.0 } else { 1.0 - left_ns as f64 / length_ns as f64 };
        let seconds_left = left_ns.div_ceil(1_000_000_000);
        let text = format!("{}{word}  {}{seconds_left} s left", self.prefix, rates(newest));
        self.printer.progress(done, &text);
    }
}

/// `12.3k IOPS  96.1 MiB/s  p99 1.25 ms  `, all roles together; the percentile is the worst role's.
fn rates(newest: &[Option<&IntervalPoint>]) -> String {
    let points: Vec<&IntervalPoint> = newest.iter().flatten().copied().collect();
    if points.is_empty() {
        return String::new();
    }
    let (mut iops, mut bytes_per_second, mut p99_ns) = (0.0, 0.0, 0);
    for point in points {
        let seconds = point.length_ns as f64 / 1e9;
        for op in point.ops.iter().filter(|op| op.op != Op::Sync) {
            iops += op.count as f64 / seconds;
            bytes_per_second += op.bytes as f64 / seconds;
            p99_ns = p99_ns.max(op.latency_ns_p99);
        }
    }
    format!(
        "{} IOPS  {:.1} MiB/s  p99 {:.2} ms  ",
        thousands(iops),
        bytes_per_second / 1_048_576.0,
        Nanos(p99_ns).millis()
    )
}

fn thousands(number: f64) -> String {
    match number {
        _ if number >= 1e6 => format!("{:.2}M", number / 1e6),
        _ if number >= 1e4 => format!("{:.1}k", number / 1e3),
        _ => format!("{number:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iostall_model::outcome::IntervalOp;

    #[test]
    fn the_live_line_adds_roles_up_and_leaves_sync_calls_out_of_the_rate() {
        let op = |op, count, latency_ns_p99| IntervalOp {
            op,
            count,
            bytes: count * 8192,
            latency_ns_mean: 0.0,
            latency_ns_p50: 0,
            latency_ns_p99,
            latency_ns_max: 0,
        };
        let data = IntervalPoint {
            start_ns: 0,
            length_ns: 1_000_000_000,
            ops: vec![op(Op::Read, 12_000, 1_250_000)],
        };
        let log = IntervalPoint {
            ops: vec![op(Op::Write, 300, 900_000), op(Op::Sync, 300, 9_000_000)],
            ..data.clone()
        };
        let text = rates(&[Some(&data), None, Some(&log)]);
        assert_eq!(text, "12.3k IOPS  96.1 MiB/s  p99 1.25 ms  ");
        assert_eq!(rates(&[None]), "");
    }
}
