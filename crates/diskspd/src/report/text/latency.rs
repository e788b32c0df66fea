//! The percentile tables.

use iostall_measure::{Histogram, Percentile};

use super::lines::line;
use crate::report::input::{OpResult, TargetResult, TimeSpanResult};

pub(super) fn write(out: &mut String, result: &TimeSpanResult) {
    let mut paths: Vec<&str> = Vec::new();
    for target in result.targets() {
        if !paths.contains(&target.path.as_str()) {
            paths.push(&target.path);
        }
    }
    if paths.len() > 1 {
        for path in paths {
            line(out, format!("\nLatency distribution: {path}"));
            write_table(out, result.targets().filter(|target| target.path == path));
        }
    }
    line(out, "\nTotal latency distribution:");
    write_table(out, result.targets());
}

fn write_table<'a>(out: &mut String, targets: impl Iterator<Item = &'a TargetResult>) {
    let targets: Vec<&TargetResult> = targets.collect();
    let read = OpResult::sum(targets.iter().map(|target| &target.read)).latency_ns;
    let write = OpResult::sum(targets.iter().map(|target| &target.write)).latency_ns;
    let mut total = read.clone();
    total.merge(&write);
    let row = |label: &str, pick: &dyn Fn(&Histogram) -> Option<u64>| {
        let cell = |histogram| match pick(histogram) {
            Some(ns) => format!("{:.3}", ns as f64 / 1e6),
            None => "N/A".to_owned(),
        };
        let total_ms = pick(&total).unwrap_or(0) as f64 / 1e6;
        format!("{label:>7} | {:>10} | {:>10} | {total_ms:10.3}", cell(&read), cell(&write))
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
