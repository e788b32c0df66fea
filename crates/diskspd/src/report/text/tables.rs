//! The tables of all requests, of reads and of writes.

use iostall_measure::{Histogram, Percentile};

use crate::DiskspdTimeSpan;
use crate::report::input::{IntervalBucket, OpResult, TargetResult, TimeSpanResult};
use crate::report::iops;
use crate::size::show_size;

#[derive(Clone, Copy)]
enum Kind {
    Total,
    Read,
    Write,
}

impl Kind {
    fn of(self, target: &TargetResult) -> OpResult {
        match self {
            Self::Total => OpResult::sum([&target.read, &target.write]),
            Self::Read => target.read.clone(),
            Self::Write => target.write.clone(),
        }
    }

    /// The series of the whole time span, if threads have none of their own.
    fn span_buckets(self, result: &TimeSpanResult) -> Vec<IntervalBucket> {
        match self {
            Self::Total => iops::merge(&result.read_buckets, &result.write_buckets),
            Self::Read => result.read_buckets.clone(),
            Self::Write => result.write_buckets.clone(),
        }
    }
}

/// Which columns are shown, and what rates are divided by.
struct Columns {
    latency: bool,
    deviation: bool,
    bucket_ms: u32,
    seconds: f64,
}

pub(super) fn write(out: &mut String, result: &TimeSpanResult, span: &DiskspdTimeSpan) {
    let columns = Columns {
        latency: span.measure_latency,
        deviation: span.iops_stdev,
        bucket_ms: result.bucket_ms,
        seconds: result.seconds(),
    };
    for (kind, heading) in [(Kind::Total, "Total IO"), (Kind::Read, "Read IO"), (Kind::Write, "Write IO")] {
        line(out, format!("\n{heading}"));
        columns.write_heading(out);
        let mut sum = OpResult::none();
        for thread in &result.threads {
            for target in &thread.targets {
                let done = kind.of(target);
                let size = show_size(target.file_size_bytes);
                let cells = columns.cells(&done);
                line(out, format!("{:6} | {cells} | {} ({size})", thread.id, target.path));
                sum.merge(&done);
            }
        }
        if sum.buckets.is_none() {
            sum.buckets = Some(kind.span_buckets(result));
        }
        columns.write_rule(out);
        line(out, format!("total:   {}", columns.cells(&sum)));
    }
}

impl Columns {
    fn write_heading(&self, out: &mut String) {
        let mut heading = "thread |       bytes     |     I/Os     |    MiB/s   |  I/O per s ".to_owned();
        let parts = [
            (self.latency, "|  AvgLat  "),
            (self.deviation, "| IopsStdDev "),
            (self.latency, "| LatStdDev "),
        ];
        heading.extend(parts.iter().filter(|(shown, _)| *shown).map(|(_, part)| *part));
        line(out, heading + "|  file");
        self.write_rule(out);
    }

    fn write_rule(&self, out: &mut String) {
        let latency = if self.latency { 11 + 12 } else { 0 };
        let deviation = if self.deviation { 13 } else { 0 };
        line(out, "-".repeat(66 + latency + deviation + 12));
    }

    fn cells(&self, done: &OpResult) -> String {
        let mebibytes = per_second(done.bytes as f64 / 1_048_576.0, self.seconds);
        let rate = per_second(done.count as f64, self.seconds);
        let mut cells = vec![
            format!("{:15}", done.bytes),
            format!("{:12}", done.count),
            format!("{mebibytes:10.2}"),
            format!("{rate:10.2}"),
        ];
        if self.latency {
            cells.push(format!("{:8.3}", done.latency_ns.mean().unwrap_or(0.0) / 1e6));
        }
        if self.deviation {
            let series = done.buckets.as_deref();
            cells.push(match series.and_then(|series| iops::stdev(series, self.bucket_ms)) {
                Some(deviation) => format!("{deviation:10.2}"),
                None if done.count == 0 => format!("{:10.2}", 0.0),
                None => format!("{:>10}", "N/A"),
            });
        }
        if self.latency {
            let deviation = done.latency_ns.stdev();
            cells.push(deviation.map_or_else(|| "      N/A".to_owned(), |ns| format!(" {:8.3}", ns / 1e6)));
        }
        cells.join(" | ")
    }
}

pub(super) fn line(out: &mut String, text: impl AsRef<str>) {
    out.push_str(text.as_ref());
    out.push('\n');
}

pub(super) fn per_second(amount: f64, seconds: f64) -> f64 {
    if seconds > 0.0 { amount / seconds } else { 0.0 }
}

pub(super) fn write_latency(out: &mut String, result: &TimeSpanResult) {
    let mut paths: Vec<&str> = Vec::new();
    for target in result.targets() {
        if !paths.contains(&target.path.as_str()) {
            paths.push(&target.path);
        }
    }
    if paths.len() > 1 {
        for path in paths {
            line(out, format!("\nLatency distribution: {path}"));
            write_percentiles(out, result.targets().filter(|target| target.path == path));
        }
    }
    line(out, "\nTotal latency distribution:");
    write_percentiles(out, result.targets());
}

fn write_percentiles<'a>(out: &mut String, targets: impl Iterator<Item = &'a TargetResult>) {
    let targets: Vec<&TargetResult> = targets.collect();
    let read = OpResult::sum(targets.iter().map(|target| &target.read)).latency_ns;
    let write_latency = OpResult::sum(targets.iter().map(|target| &target.write)).latency_ns;
    let mut total = read.clone();
    total.merge(&write_latency);
    let row = |label: &str, pick: &dyn Fn(&Histogram) -> Option<u64>| {
        let cell = |histogram| match pick(histogram) {
            Some(ns) => format!("{:.3}", ns as f64 / 1e6),
            None => "N/A".to_owned(),
        };
        let total_ms = pick(&total).unwrap_or(0) as f64 / 1e6;
        format!("{label:>7} | {:>10} | {:>10} | {total_ms:10.3}", cell(&read), cell(&write_latency))
    };
    let rows: Vec<String> = std::iter::once(row("min", &Histogram::min))
        .chain(Percentile::LEVELS.map(|(percentile, label)| row(label, &|it| it.value_at(percentile))))
        .chain(std::iter::once(row("max", &Histogram::max)))
        .collect();
    line(out, "  %-ile |  Read (ms) | Write (ms) | Total (ms)");
    line(out, "-".repeat(46));
    for text in rows {
        line(out, text);
    }
}
