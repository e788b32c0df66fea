//! Events of a session as a terminal shows them: notes, and one live line.

use iostall_load::runner::Phase;
use iostall_measure::number::number;
use iostall_measure::{ByteCount, Nanos, Op};
use iostall_model::outcome::IntervalPoint;
use iostall_report::point::in_words;
use iostall_session::event::{Event, Observer, Part, SpanProgress};

use crate::commands::copy::failures;
use crate::printer::Printer;
use crate::transfer_line;

impl Observer for Printer {
    fn on(&self, event: &Event<'_>) {
        match event {
            Event::EngineFallback { cause } => {
                let hint = cause.hint().map(|hint| format!("; {hint}")).unwrap_or_default();
                self.note(&format!("note: {cause}, so threads do the I/O{hint}"));
            }
            Event::FileBegun { path, size } => self.note(&format!("making {} ({size})", path.display())),
            Event::FileProgress { path, done, size } => {
                self.progress(share(*done, *size), &format!("making {}  {done} of {size}", path.display()));
            }
            Event::SpanProgress(span) => {
                let (done, text) = live_line(span);
                self.progress(done, &text);
            }
            Event::PointMeasured { label, again, point } => {
                let again = if *again { " again" } else { "" };
                self.note(&format!("{label}{again}: {}", in_words(point)));
            }
            Event::RateTried { rate_iops, in_time, point } => {
                let word = if *in_time { "in time" } else { "too late" };
                self.note(&format!("{} a second: {} ({word})", number(*rate_iops), in_words(point)));
            }
            Event::TransferProgress { now, speed } => {
                let done = now.bytes_done as f64 / (now.bytes_total as f64).max(1.0);
                self.progress(done.min(1.0), &transfer_line::text(now, *speed));
            }
            Event::NotCopied(failures) => failures::show(failures, self),
            Event::FileStays { path } => {
                let path = path.display();
                self.note(&format!("{path} was there before, so it stays; what it holds now is test data"));
            }
            Event::FileLeft { path, cause } => {
                let error = anyhow::anyhow!("{cause}");
                self.warning(&error.context(format!("cannot remove {}", path.display())));
            }
            Event::PacedInterval { .. } | Event::MethodEnded(_) => {}
            Event::ProgressEnded => self.clear(),
        }
    }
}

fn share(done: ByteCount, whole: ByteCount) -> f64 {
    done.bytes() as f64 / whole.bytes() as f64
}

/// Where a span is, as a share of its phase and in words: rate and 99th percentile of the newest second, time left.
fn live_line(span: &SpanProgress<'_>) -> (f64, String) {
    let part = match span.part {
        Part::Whole => String::new(),
        Part::Span { number, of } => format!("span {number}/{of}  "),
        Part::Point(label) => format!("{label}  "),
    };
    let [warmup_ns, measured_ns, cooldown_ns] = span.lengths.map(Nanos::nanos);
    let (word, length_ns) = match span.phase {
        Phase::Warmup => ("warming up", warmup_ns),
        Phase::Measured => ("measuring", measured_ns),
        Phase::Cooldown => ("cooling down", cooldown_ns),
        Phase::Draining => ("waiting for the last requests", 0),
    };
    let done = if length_ns == 0 { 1.0 } else { 1.0 - span.left_ns as f64 / length_ns as f64 };
    let seconds_left = span.left_ns.div_ceil(1_000_000_000);
    (done, format!("{part}{word}  {}{seconds_left} s left", rates(span.newest)))
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
