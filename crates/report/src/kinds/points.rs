//! What runs with points share: tables of points for spreadsheets and scripts.

use iostall_measure::{Percent, Percentile};
use iostall_model::{Point, Profile, Run, RunId};
use iostall_session::analysis::points::{in_flight_by_little, iops_half_width};
use jiff::{SignedDuration, Timestamp};
use serde::Serialize;

use crate::facts;
use crate::format::duration;
use crate::report::{Field, Series};

/// How much was measured: `21 settings, 63.0 s measured`.
pub(super) fn headline(points: &[Point]) -> String {
    let measured_ns: u64 = points.iter().map(Point::measured_ns).sum();
    let plural = if points.len() == 1 { "" } else { "s" };
    match points.len() {
        0 => "nothing measured".to_owned(),
        count => format!("{count} setting{plural}, {} measured", duration(measured_ns as f64)),
    }
}

pub(super) fn asked(profile: &Profile) -> String {
    let role = profile.spans.first().and_then(|span| span.roles.first());
    let shape = role.map(facts::role_shape).unwrap_or_default();
    let reads_only = role.is_none_or(|role| role.write_pct <= Percent::ZERO);
    let order = if reads_only {
        ""
    } else {
        "; writes wear the storage in, so that later settings meet an older device"
    };
    format!("{shape}{order}")
}

/// The run that measured a point, which is not always the one that shows it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Origin {
    pub(super) run: RunId,
    pub(super) started_utc: Timestamp,
}

impl Origin {
    pub(super) fn of(run: &Run) -> Self {
        Self { run: run.id, started_utc: run.started_utc }
    }

    pub(super) fn measured_utc(self, point: &Point) -> Timestamp {
        let start_ns = point.repeats.first().map_or(0, |repeat| repeat.start_ns);
        let since = SignedDuration::from_nanos(i64::try_from(start_ns).unwrap_or(i64::MAX));
        self.started_utc.saturating_add(since).unwrap_or(self.started_utc)
    }
}

pub(super) fn series<'a>(run: &'a Run, points: &'a [Point]) -> Series<'a> {
    series_from(run, points, |_| Origin::of(run))
}

/// A row a point; `origin` knows who measured each, by its index.
pub(super) fn series_from<'a>(
    run: &'a Run,
    points: &'a [Point],
    origin: impl Fn(usize) -> Origin + 'a,
) -> Series<'a> {
    let row = move |(index, point)| PointRow::of(run, point, origin(index)).fields();
    Series { header: &HEADER, rows: Box::new(points.iter().enumerate().map(row)) }
}

/// The points for scripts; such a run has no spans.
#[derive(Debug, Serialize)]
pub(super) struct PointsSummary {
    spans: Vec<()>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    points: Vec<PointRow>,
}

impl PointsSummary {
    pub(super) fn of(run: &Run, points: &[Point]) -> Self {
        Self::from(run, points, |_| Origin::of(run))
    }

    pub(super) fn from(run: &Run, points: &[Point], origin: impl Fn(usize) -> Origin) -> Self {
        let row = |(index, point)| PointRow::of(run, point, origin(index));
        Self { spans: Vec::new(), points: points.iter().enumerate().map(row).collect() }
    }
}

const HEADER: [&str; 24] = [
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
    "run",
    "measured_utc",
];

#[derive(Debug, Serialize)]
pub(super) struct PointRow {
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
    run: String,
    measured_utc: String,
}

impl PointRow {
    fn of(run: &Run, point: &Point, origin: Origin) -> Self {
        let millis = |ns: Option<u64>| ns.map(|ns| ns as f64 / 1e6);
        let at = |percentile: Percentile| millis(point.latency_ns.value_at(percentile));
        let targets = point.targets.iter().filter_map(|index| run.targets.get(*index as usize));
        Self {
            target: targets.map(|target| facts::path(&target.path)).collect::<Vec<_>>().join(" "),
            block_size: point.block_size.to_string(),
            access: point.access.name().to_owned(),
            write_pct: point.write_pct.percent(),
            queue_depth: point.queue_depth,
            workers: point.workers,
            in_flight: point.in_flight(),
            rate_iops: point.rate_iops,
            intervals: point.repeats.len(),
            measured_s: point.measured_ns() as f64 / 1e9,
            iops: point.iops(),
            iops_half_width_pct: iops_half_width(&point.repeats).map(|share| share * 100.0),
            mib_per_s: point.mib_per_s(),
            latency_ms_min: millis(point.latency_ns.min()),
            latency_ms_mean: point.latency_ns.mean().map(|ns| ns / 1e6),
            latency_ms_p50: at(Percentile::P50),
            latency_ms_p95: at(Percentile::P95),
            latency_ms_p99: at(Percentile::P99),
            latency_ms_p99_9: at(Percentile::P99_9),
            latency_ms_max: millis(point.latency_ns.max()),
            in_flight_by_little: in_flight_by_little(point),
            failed: point.failed(),
            run: origin.run.to_string(),
            measured_utc: origin.measured_utc(point).to_string(),
        }
    }

    fn fields(self) -> Vec<Field<'static>> {
        vec![
            self.target.into(),
            self.block_size.into(),
            self.access.into(),
            self.write_pct.into(),
            u64::from(self.queue_depth).into(),
            u64::from(self.workers).into(),
            self.in_flight.into(),
            self.rate_iops.into(),
            (self.intervals as u64).into(),
            self.measured_s.into(),
            self.iops.into(),
            self.iops_half_width_pct.into(),
            self.mib_per_s.into(),
            self.latency_ms_min.into(),
            self.latency_ms_mean.into(),
            self.latency_ms_p50.into(),
            self.latency_ms_p95.into(),
            self.latency_ms_p99.into(),
            self.latency_ms_p99_9.into(),
            self.latency_ms_max.into(),
            self.in_flight_by_little.into(),
            self.failed.into(),
            self.run.into(),
            self.measured_utc.into(),
        ]
    }
}
