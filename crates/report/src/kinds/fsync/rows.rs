//! A row for each method and number of committers, for spreadsheets and scripts.

use iostall_measure::Percentile;
use iostall_model::FsyncOutcome;
use iostall_model::sync::{LogLayout, SyncStep};
use serde::Serialize;

use crate::format::shown;
use crate::report::{Field, Series};

const HEADER: [&str; 15] = [
    "method",
    "committers",
    "log",
    "durable",
    "commits",
    "flushes",
    "measured_s",
    "commits_per_s",
    "commit_ms_p50",
    "commit_ms_p95",
    "commit_ms_p99",
    "commit_ms_max",
    "flush_ms_p50",
    "unavailable",
    "failed",
];

pub(super) fn series(fsync: &FsyncOutcome) -> Series<'_> {
    let rows = fsync.steps.iter().map(|step| StepRow::of(step).fields());
    Series { header: &HEADER, rows: Box::new(rows) }
}

/// The rows for scripts; such a run has no spans.
#[derive(Serialize)]
pub(super) struct FsyncSummary {
    spans: [(); 0],
    steps: Vec<StepRow>,
}

impl FsyncSummary {
    pub(super) fn of(fsync: &FsyncOutcome) -> Self {
        Self { spans: [], steps: fsync.steps.iter().map(StepRow::of).collect() }
    }
}

#[derive(Serialize)]
struct StepRow {
    method: &'static str,
    committers: u32,
    log: &'static str,
    durable: bool,
    commits: u64,
    flushes: u64,
    measured_s: f64,
    commits_per_s: Option<f64>,
    commit_ms_p50: Option<f64>,
    commit_ms_p95: Option<f64>,
    commit_ms_p99: Option<f64>,
    commit_ms_max: Option<f64>,
    flush_ms_p50: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unavailable: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    failed: Option<String>,
}

impl StepRow {
    fn of(step: &SyncStep) -> Self {
        let millis = |ns: Option<u64>| ns.map(|ns| ns as f64 / 1e6);
        let at = |percentile: Percentile| millis(step.commit_ns.value_at(percentile));
        Self {
            method: step.method.name(),
            committers: step.committers,
            log: match step.log {
                LogLayout::Shared => "shared",
                LogLayout::Separate => "separate",
            },
            durable: step.method.is_durable(),
            commits: step.commit_ns.count(),
            flushes: step.flush_ns.count(),
            measured_s: step.measured_ns as f64 / 1e9,
            commits_per_s: step.commits_per_s(),
            commit_ms_p50: at(Percentile::P50),
            commit_ms_p95: at(Percentile::P95),
            commit_ms_p99: at(Percentile::P99),
            commit_ms_max: millis(step.commit_ns.max()),
            flush_ms_p50: millis(step.flush_ns.value_at(Percentile::P50)),
            unavailable: step.unavailable.as_deref().map(shown),
            failed: step.failed.as_deref().map(shown),
        }
    }

    fn fields(self) -> Vec<Field<'static>> {
        let durable = if self.durable { "yes" } else { "no" };
        vec![
            self.method.into(),
            u64::from(self.committers).into(),
            self.log.into(),
            durable.into(),
            self.commits.into(),
            self.flushes.into(),
            self.measured_s.into(),
            self.commits_per_s.into(),
            self.commit_ms_p50.into(),
            self.commit_ms_p95.into(),
            self.commit_ms_p99.into(),
            self.commit_ms_max.into(),
            self.flush_ms_p50.into(),
            self.unavailable.into(),
            self.failed.into(),
        ]
    }
}
