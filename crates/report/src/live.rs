//! The one line that shows where a command is while it works.

use iostall_measure::foreign::shown;
use iostall_measure::{ByteCount, Nanos, Op, Percentile};
use iostall_model::outcome::IntervalPoint;
use iostall_model::sync::SyncStep;
use iostall_model::transfer::LimitSide;
use iostall_session::event::{Part, Phase, ProgressNow, SpanProgress, Speed};

use crate::format::{maybe_duration, maybe_number};

/// Where a span is, as a share of its phase and in words: rate and 99th percentile of the newest second, time left.
pub fn span(span: &SpanProgress<'_>) -> (f64, String) {
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

/// What a sync method delivered: `fdatasync, 8 committers: 1,234 commits/s, p99 2.10 ms`.
pub fn synced(step: &SyncStep) -> String {
    let label = step.label();
    if let Some(why) = step.failed.as_ref().or(step.unavailable.as_ref()) {
        return format!("{label}: {}", shown(why));
    }
    let p99 = step.commit_ns.value_at(Percentile::P99).map(|ns| ns as f64);
    format!("{label}: {} commits/s, p99 {}", maybe_number(step.commits_per_s()), maybe_duration(p99))
}

/// File and phase, rates, time left, requests in flight, which side is the limit.
pub fn transfer(now: &ProgressNow, speed: Speed) -> String {
    let (current, average) = (speed.bytes_per_s_now, speed.bytes_per_s_mean);
    let left = now.bytes_total.saturating_sub(now.bytes_done);
    let mut parts = Vec::new();
    let name = now.file.path.file_name().unwrap_or_default().to_string_lossy();
    let of_file = now.file.bytes_done as f64 / (now.file.bytes_total as f64).max(1.0) * 100.0;
    parts.push(format!("{} {} {:.0} %", now.file.phase, shown(&name), of_file.min(100.0)));
    if now.files_total > 1 {
        parts.push(format!("file {} of {}", (now.files_done + 1).min(now.files_total), now.files_total));
    }
    parts.push(format!("{:.0} MB/s now, {:.0} on average", current / 1e6, average / 1e6));
    if average > 0.0 {
        parts.push(format!("{} left, {:.0} s", ByteCount(left), left as f64 / average));
    }
    if now.reads_in_flight + now.writes_in_flight > 0 {
        parts.push(format!("{} reads {} writes in flight", now.reads_in_flight, now.writes_in_flight));
    }
    if let Some(limit) = now.buffer_time.limit() {
        parts.push(format!("limit: {}", LimitSide::name(limit)));
    }
    parts.join("  ")
}

#[cfg(test)]
mod tests {
    use iostall_model::outcome::IntervalOp;

    use super::*;

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

    /// UBCopy's progress jumped to 100 % at once, or divided by zero.
    #[test]
    fn the_live_line_tells_rates_and_what_is_left_and_survives_an_empty_file() {
        let empty = transfer(&ProgressNow::default(), Speed { bytes_per_s_now: 0.0, bytes_per_s_mean: 0.0 });
        assert!(empty.contains("0 MB/s now") && !empty.contains("NaN") && !empty.contains("inf"), "{empty}");
        let mut now = ProgressNow { bytes_total: 1_000_000_000, files_total: 1, ..ProgressNow::default() };
        now.bytes_done = 400_000_000;
        let text = transfer(&now, Speed { bytes_per_s_now: 2e8, bytes_per_s_mean: 2e8 });
        assert!(text.contains("200 MB/s now, 200 on average"), "{text}");
        assert!(text.contains("572.20 MiB left, 3 s"), "{text}");
    }
}
