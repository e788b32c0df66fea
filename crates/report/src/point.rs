//! The figures of a point, derived from its intervals: for tables, CSV and JSON alike.

use std::io;

use iostall_measure::Percentile;
use iostall_model::{Point, Repeat, Run, RunBody};
use iostall_stats::confidence::{Estimate, LEVEL, estimate};
use iostall_stats::knee::CurvePoint;
use serde::Serialize;

use crate::csv_error::CsvError;
use crate::facts;
use crate::format::{duration, rates};

/// Half width of the 95 % confidence interval of a point's IOPS as a share of their mean; `None` for a single interval.
pub fn precision(point: &Point) -> Option<f64> {
    let iops: Vec<f64> = point.repeats.iter().filter_map(Repeat::iops).collect();
    estimate(&iops, LEVEL).map(Estimate::relative).filter(|share| share.is_finite())
}

/// A setting in words: `depth 8 × 2 workers`.
pub fn setting(point: &Point) -> String {
    setting_of(point.queue_depth, point.workers)
}

/// The same of its two numbers.
pub fn setting_of(queue_depth: u32, workers: u32) -> String {
    let plural = if workers == 1 { "" } else { "s" };
    format!("depth {queue_depth} × {workers} worker{plural}")
}

/// What a point gave: `45,210 IOPS · 353 MiB/s · p99 1.20 ms`.
pub fn in_words(point: &Point) -> String {
    let p99 = point.latency_ns.value_at(Percentile::P99);
    rates(point.iops().unwrap_or(0.0), point.mib_per_s().unwrap_or(0.0), p99)
}

/// One point as a row of numbers.
#[derive(Debug, Serialize)]
pub(crate) struct PointRow {
    target: String,
    block_size: String,
    access: String,
    write_pct: f64,
    queue_depth: u32,
    workers: u32,
    in_flight: u64,
    rate_iops: Option<f64>,
    intervals: usize,
    measured_s: f64,
    iops: Option<f64>,
    iops_half_width_pct: Option<f64>,
    mib_per_s: Option<f64>,
    latency_ms_min: Option<f64>,
    latency_ms_mean: Option<f64>,
    latency_ms_p50: Option<f64>,
    latency_ms_p95: Option<f64>,
    latency_ms_p99: Option<f64>,
    latency_ms_p99_9: Option<f64>,
    latency_ms_max: Option<f64>,
    in_flight_by_little: Option<f64>,
    failed: u64,
}

const HEADER: [&str; 22] = [
    "target",
    "block_size",
    "access",
    "write_pct",
    "queue_depth",
    "workers",
    "in_flight",
    "rate_iops",
    "intervals",
    "measured_s",
    "iops",
    "iops_half_width_pct",
    "mib_per_s",
    "latency_ms_min",
    "latency_ms_mean",
    "latency_ms_p50",
    "latency_ms_p95",
    "latency_ms_p99",
    "latency_ms_p99_9",
    "latency_ms_max",
    "in_flight_by_little",
    "failed",
];

impl PointRow {
    pub(crate) fn of(run: &Run, point: &Point) -> Self {
        let millis = |ns: Option<u64>| ns.map(|ns| ns as f64 / 1e6);
        let at = |percentile: Percentile| millis(point.latency_ns.value_at(percentile));
        let targets = point.targets.iter().filter_map(|index| run.targets.get(*index as usize));
        Self {
            target: targets.map(|target| facts::path(&target.path)).collect::<Vec<_>>().join(" "),
            block_size: point.block_size.to_string(),
            access: access_word(point).to_owned(),
            write_pct: point.write_pct.percent(),
            queue_depth: point.queue_depth,
            workers: point.workers,
            in_flight: point.in_flight(),
            rate_iops: point.rate_iops,
            intervals: point.repeats.len(),
            measured_s: point.measured_ns() as f64 / 1e9,
            iops: point.iops(),
            iops_half_width_pct: precision(point).map(|share| share * 100.0),
            mib_per_s: point.mib_per_s(),
            latency_ms_min: millis(point.latency_ns.min()),
            latency_ms_mean: point.latency_ns.mean().map(|ns| ns / 1e6),
            latency_ms_p50: at(Percentile::P50),
            latency_ms_p95: at(Percentile::P95),
            latency_ms_p99: at(Percentile::P99),
            latency_ms_p99_9: at(Percentile::P99_9),
            latency_ms_max: millis(point.latency_ns.max()),
            in_flight_by_little: CurvePoint::measured(point.in_flight(), point.iops(), &point.latency_ns)
                .filter(|_| point.rate_iops.is_none())
                .map(|point| point.in_flight_by_little()),
            failed: point.failed(),
        }
    }
}

/// `random` or `sequential`.
pub(crate) fn access_word(point: &Point) -> &'static str {
    match point.access {
        iostall_model::profile::Access::Random => "random",
        iostall_model::profile::Access::Sequential => "sequential",
    }
}

/// The points of `run`, in the order they were measured; none for a load.
pub(crate) fn points(run: &Run) -> &[Point] {
    match &run.body {
        RunBody::Sweep(outcome) => &outcome.points,
        RunBody::Matrix(outcome) => &outcome.points,
        RunBody::MaxRate(outcome) => &outcome.points,
        _ => &[],
    }
}

/// How much was measured: `21 settings, 63.0 s measured`.
pub(crate) fn measured_words(run: &Run) -> String {
    let points = points(run);
    let measured_ns: u64 = points.iter().map(Point::measured_ns).sum();
    let plural = if points.len() == 1 { "" } else { "s" };
    match points.len() {
        0 => "nothing measured".to_owned(),
        count => format!("{count} setting{plural}, {} measured", duration(measured_ns as f64)),
    }
}

/// Writes a header and a row a point.
pub(crate) fn write_rows(run: &Run, out: impl io::Write) -> Result<(), CsvError> {
    let mut writer =
        ::csv::WriterBuilder::new().terminator(::csv::Terminator::CRLF).has_headers(false).from_writer(out);
    writer.write_record(HEADER)?;
    for point in points(run) {
        writer.serialize(PointRow::of(run, point))?;
    }
    Ok(writer.flush()?)
}
