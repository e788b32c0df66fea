//! The one line that shows where a command is while it works.

use std::path::Path;

use iostall_measure::foreign::shown;
use iostall_measure::{ByteCount, Nanos, Op, Percentile, as_typed};
use iostall_model::give_way::Decision;
use iostall_model::outcome::IntervalPoint;
use iostall_model::qualify::QualifyRound;
use iostall_model::sync::SyncStep;
use iostall_model::transfer::LimitSide;
use iostall_model::{PartAlone, TunePart};
use iostall_session::event::{
    LimitsCost, Part, Phase, ProgressNow, QualifyCost, RunProgress, SpanProgress, Speed, TrialPlace,
    TunePlan, WholeBackup,
};
use jiff::Timestamp;

use crate::format::{bytes, duration, maybe_duration, maybe_number, percent, throughput};
use crate::point::in_words;
use crate::zone::local;

pub fn making(path: &Path, done: ByteCount, size: ByteCount) -> (f64, String) {
    let share = done.bytes() as f64 / (size.bytes() as f64).max(1.0);
    (share, format!("{:.0} % of {}  making {}", share * 100.0, as_typed(size.bytes() as f64), path.display()))
}

pub fn simulation(doing: &str, done: f64, whole: &RunProgress) -> (f64, String) {
    let left = whole.left_ns.filter(|_| done < 1.0).map(|ns| format!("  {} left", hours(ns)));
    (done, format!("{:.0} %  {doing}{}", done * 100.0, left.unwrap_or_default()))
}

/// A transfer that gives way lost its source, or has it again.
pub fn gave_way(decision: &Decision) -> String {
    let rate = throughput(decision.bytes_per_s as f64);
    match &decision.reason {
        Some(reason) => format!("giving way: at the floor of {rate}, because {}", shown(reason)),
        None => format!("giving way: the source {}", decision.why.words()),
    }
}

pub fn qualify_begins(cost: &QualifyCost) -> String {
    let active = cost.active_bytes.max(1) as f64;
    let ranges = |bytes: f64| format!("{} ({:.1} × the active range)", as_typed(bytes), bytes / active);
    let (fewest, most) = cost.rounds;
    let rounds = if fewest == most {
        format!("{most} rounds in {}", hours(cost.rounds_ns.1))
    } else {
        format!("{fewest} to {most} rounds in {} to {}", hours(cost.rounds_ns.0), hours(cost.rounds_ns.1))
    };
    let passes = match (cost.passes_bytes, cost.passes_ns) {
        (0, _) => String::new(),
        (bytes, None) => format!("writes {} in order, then ", ranges(bytes as f64)),
        (bytes, Some(ns)) => {
            format!(
                "writes {} in order, in {} or more, then ",
                ranges(bytes as f64),
                hours(ns.max(1_000_000_000))
            )
        }
    };
    let write = match (cost.rounds_bytes(), cost.write_limit_bytes) {
        (Some((low, high)), _) if fewest != most => {
            format!(
                ", which write at most {} to {} at the {} that it is read with",
                ranges(low),
                ranges(high),
                speed(cost)
            )
        }
        (Some((_, high)), _) => {
            format!(", which write at most {} at the {} that it is read with", ranges(high), speed(cost))
        }
        (None, Some(limit)) => format!(", which write at most {}", ranges(limit as f64)),
        (None, None) => String::new(),
    };
    let worn = cost.rated_bytes.zip(cost.written_bytes_max()).map(|(rated, written)| {
        format!(
            "; that is up to {} of the {} that the drive is rated for",
            percent(written / rated),
            as_typed(rated)
        )
    });
    let active = as_typed(active);
    format!("active range {active}: {passes}{rounds}{write}{}", worn.unwrap_or_default())
}

pub fn read_all_begins(from_bytes: u64, whole_bytes: u64, bytes_per_s: Option<f64>) -> String {
    let left = whole_bytes.saturating_sub(from_bytes);
    let from = match from_bytes {
        0 => String::new(),
        from => format!(" from {} on", bytes(from)),
    };
    let pace = bytes_per_s.map_or_else(
        || "as fast as the target can: --limit holds it back".to_owned(),
        |rate| {
            let time = duration(left as f64 / rate.max(1.0) * 1e9);
            format!("{} at most, which takes {time} at least", throughput(rate))
        },
    );
    format!("reads {}{from} once, {pace}; Ctrl-C keeps what was done, and --resume goes on", bytes(left))
}

pub fn limits_begins(cost: &LimitsCost) -> String {
    let (verb, whose) = if cost.writes { ("writes", "over and over") } else { ("reads", "at random") };
    let where_to = if cost.targets > 1 { "the targets" } else { "the target" };
    format!(
        "takes {} at most and {verb} {} at most, {whose}, as fast as {where_to} can; a volume that bursts on credits has none left after \
         that",
        cost.time_limit, cost.byte_limit
    )
}

fn speed(cost: &QualifyCost) -> String {
    throughput(cost.bytes_per_s.unwrap_or_default())
}

pub fn stage_begins(number: usize, of: usize, name: &str) -> String {
    format!("stage {number} of {of}: {name}")
}

pub fn round_ended(number: usize, of: u32, fills: f64, round: &QualifyRound) -> String {
    let writes = round.points.iter().filter(|point| point.write_pct.percent() >= 100.0);
    let smallest = writes.min_by_key(|point| point.block_size.largest());
    let rate = smallest.map(|point| format!("{} {}", point.block_size.in_words(), in_words(point)));
    format!(
        "round {number} of {of} at most: {fills:.1} × the active range written; writes of {}",
        rate.unwrap_or_default()
    )
}

pub fn tune_begun(plan: &TunePlan) -> String {
    let settings = match plan.settings {
        1 => "every setting is given, so only that one".to_owned(),
        settings => format!("as many of {settings} settings as that allows"),
    };
    let over = match plan.over_memory {
        0 => String::new(),
        over => format!(" ({over} more would take more)"),
    };
    let writes = match (plan.trial_bytes_max, plan.whole) {
        (0, None) => "writes nothing".to_owned(),
        (bytes, None) => {
            let bytes = ByteCount(bytes);
            match plan.place {
                TrialPlace::Beside => {
                    format!("writes up to {bytes} at a time beside the stripes, and removes it")
                }
                TrialPlace::Restored => format!("writes up to {bytes} at a time below --to, and removes it"),
                TrialPlace::Uploads => {
                    format!("sends up to {bytes} at a time in uploads that are never completed")
                }
            }
        }
        (0, Some(whole)) => format!("{}, to NUL", whole_backups(whole)),
        (_, Some(whole)) => {
            format!("{}, each over the one before; the files stay", whole_backups(whole))
        }
    };
    format!(
        "takes {}: {settings}; up to {} of buffers{over}; {writes}",
        plan.budget,
        ByteCount(plan.memory_bytes_max)
    )
}

fn whole_backups(whole: WholeBackup) -> String {
    let size = match whole.bytes {
        0 => "whole backups".to_owned(),
        bytes => format!("whole backups with COPY_ONLY of {}", ByteCount(bytes)),
    };
    match whole.seconds {
        Some(seconds) => format!("{size}, of which the newest took {}", Nanos(seconds * 1_000_000_000)),
        None => size,
    }
}

/// `zstd:1 alone: 612 MiB/s of the source`.
pub fn part_alone(alone: &PartAlone) -> String {
    let name = match alone.part {
        TunePart::Source if alone.name.is_empty() => "the source".to_owned(),
        TunePart::Cpu => format!("the CPU with {}", shown(&alone.name)),
        TunePart::Source | TunePart::Target => shown(&alone.name),
        TunePart::Targets => "all targets together".to_owned(),
    };
    format!("{name} alone: {}", throughput(alone.bytes_per_s))
}

pub fn tune(tried: usize, settings: usize, bytes_per_s_best: f64, whole: &RunProgress) -> (f64, String) {
    let best = throughput(bytes_per_s_best);
    (
        whole.share().unwrap_or_default(),
        format!("{}  {tried} of {settings} settings tried, the best {best}", times(whole)),
    )
}

/// Where a run is: its share, and in words the percentage, times, rate and 99th percentile of the newest second, and the part
/// at work. What matters most comes first, because a narrow terminal cuts the end off.
pub fn span(span: &SpanProgress<'_>) -> (f64, String) {
    let part = match span.part {
        Part::Whole => String::new(),
        Part::Span { number, of } => format!("  span {number}/{of}"),
        Part::Point(label) => format!("  {label}"),
    };
    let [warmup_ns, measured_ns, cooldown_ns] = span.lengths.map(Nanos::nanos);
    let (word, length_ns) = match span.phase {
        Phase::Warmup => ("warming up", warmup_ns),
        Phase::Measured => ("measuring", measured_ns),
        Phase::Cooldown => ("cooling down", cooldown_ns),
        Phase::Draining => ("waiting for the last requests", 0),
    };
    let of_phase = if length_ns == 0 { 1.0 } else { 1.0 - span.left_ns as f64 / length_ns as f64 };
    let share = span.whole.share().unwrap_or(of_phase);
    (share, format!("{}  {}{word}{part}", times(&span.whole), rates(span.newest)))
}

/// `43 %  1:12:05 of 2:48:00, until 14:05`; without the rest if the end is unknown.
fn times(whole: &RunProgress) -> String {
    let elapsed = hours(whole.elapsed_ns);
    let (Some(share), Some(left_ns)) = (whole.share(), whole.left_ns) else { return elapsed };
    let total = hours(whole.elapsed_ns.saturating_add(left_ns));
    let until = whole.ends_utc.map(|at| format!(", until {}", wall_clock(at, left_ns))).unwrap_or_default();
    format!("{:.0} %  {elapsed} of {total}{until}", share * 100.0)
}

/// `1:12:05`, or `2:05` below an hour.
fn hours(ns: u64) -> String {
    let seconds = ns / 1_000_000_000;
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    if hours > 0 { format!("{hours}:{minutes:02}:{seconds:02}") } else { format!("{minutes}:{seconds:02}") }
}

/// A time in the reader's zone: with seconds if it is near, with the date if it is not today.
fn wall_clock(at: Timestamp, left_ns: u64) -> String {
    const MINUTES_NS: u64 = 600_000_000_000;
    const HOURS_NS: u64 = 43_200_000_000_000;
    let format = match left_ns {
        near if near < MINUTES_NS => "%H:%M:%S",
        today if today < HOURS_NS => "%H:%M",
        _ => "%Y-%m-%d %H:%M",
    };
    local(at, format)
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

/// Where a transfer is: percentage and total, times, rates, the file at work, requests in flight, which side is the limit.
pub fn transfer(now: &ProgressNow, speed: Speed, whole: &RunProgress) -> (f64, String) {
    let share = (now.bytes_done as f64 / (now.bytes_total as f64).max(1.0)).min(1.0);
    let mut parts = Vec::new();
    parts.push(if now.bytes_total > 0 {
        format!("{:.0} % of {}", share * 100.0, ByteCount(now.bytes_total))
    } else {
        ByteCount(now.bytes_done).to_string()
    });
    let [current, average] = [speed.bytes_per_s_now, speed.bytes_per_s_mean].map(|rate| rate / 1_048_576.0);
    parts.push(format!("{current:.0} MiB/s now, {average:.0} on average"));
    parts.push(match (whole.left_ns, whole.ends_utc) {
        (Some(left_ns), Some(at)) => {
            format!("{}, {} left, until {}", hours(whole.elapsed_ns), hours(left_ns), wall_clock(at, left_ns))
        }
        _ => hours(whole.elapsed_ns),
    });
    let name = now.file.path.file_name().unwrap_or_default().to_string_lossy();
    let of_file = now.file.bytes_done as f64 / (now.file.bytes_total as f64).max(1.0) * 100.0;
    parts.push(format!("{} {} {:.0} %", now.file.phase, shown(&name), of_file.min(100.0)));
    if now.files_total > 1 {
        parts.push(format!("file {} of {}", (now.files_done + 1).min(now.files_total), now.files_total));
    }
    if now.reads_in_flight + now.writes_in_flight > 0 {
        parts.push(format!("{} reads {} writes in flight", now.reads_in_flight, now.writes_in_flight));
    }
    if let Some(limit) = now.buffer_time.limit() {
        parts.push(format!("limit: {}", LimitSide::name(limit)));
    }
    (share, parts.join("  "))
}

/// Where a statement is that a server runs: its share, and how long it took and will take.
pub fn statement(percent_hundredths: u32, whole: &RunProgress) -> (f64, String) {
    let share = f64::from(percent_hundredths) / 10_000.0;
    let time = match (whole.left_ns, whole.ends_utc) {
        (Some(left_ns), Some(at)) => {
            format!("{}, {} left, until {}", hours(whole.elapsed_ns), hours(left_ns), wall_clock(at, left_ns))
        }
        _ => hours(whole.elapsed_ns),
    };
    (share, format!("{:.1} % on the server  {time}", share * 100.0))
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
        let nothing = Speed { bytes_per_s_now: 0.0, bytes_per_s_mean: 0.0 };
        let (share, empty) = transfer(&ProgressNow::default(), nothing, &RunProgress::default());
        assert!(empty.contains("0 MiB/s now") && !empty.contains("NaN") && !empty.contains("inf"), "{empty}");
        assert!(share.abs() < f64::EPSILON);
        let mut now = ProgressNow { bytes_total: 1_000_000_000, files_total: 1, ..ProgressNow::default() };
        now.bytes_done = 400_000_000;
        let speed = Speed { bytes_per_s_now: 2e8, bytes_per_s_mean: 2e8 };
        let (share, text) = transfer(&now, speed, &whole(2, 3));
        assert!((share - 0.4).abs() < 1e-9);
        assert!(
            text.starts_with("40 % of 953.67 MiB  191 MiB/s now, 191 on average  0:02, 0:03 left, until "),
            "{text}"
        );
    }

    fn whole(elapsed_s: u64, left_s: u64) -> RunProgress {
        let ends_utc = Some("2026-11-20T10:15:00Z".parse().unwrap());
        RunProgress { elapsed_ns: elapsed_s * 1_000_000_000, left_ns: Some(left_s * 1_000_000_000), ends_utc }
    }

    /// The line of a matrix counted down the eight seconds of an interval, for an hour and a half.
    #[test]
    fn the_percentage_and_the_end_are_those_of_the_whole_run() {
        let progress = SpanProgress {
            part: Part::Point("3/48 8 KiB random read"),
            phase: Phase::Measured,
            left_ns: 500_000_000,
            lengths: [Nanos(0), Nanos(1_000_000_000), Nanos(0)],
            whole: whole(1800, 5400),
            newest: &[],
        };
        let (share, text) = span(&progress);
        assert!((share - 0.25).abs() < 1e-9);
        assert!(text.starts_with("25 %  30:00 of 2:00:00, until "), "{text}");
        assert!(text.ends_with("measuring  3/48 8 KiB random read"), "{text}");
        let unknown = RunProgress { left_ns: None, ends_utc: None, ..progress.whole };
        let (share, text) = span(&SpanProgress { whole: unknown, ..progress });
        assert!((share - 0.5).abs() < 1e-9 && text.starts_with("30:00  measuring"), "{text}");
    }

    #[test]
    fn times_have_the_unit_that_fits() {
        assert_eq!((hours(59_999_999_999).as_str(), hours(3_600_000_000_000).as_str()), ("0:59", "1:00:00"));
        let at: Timestamp = "2026-11-20T10:15:00Z".parse().unwrap();
        assert!(wall_clock(at, 0).ends_with(":00") && wall_clock(at, u64::MAX).starts_with("2026-11-"));
    }
}
