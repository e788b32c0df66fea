//! The figures of a load for scripts, so that they need no histogram code.

use std::collections::BTreeMap;

use iostall_measure::{Histogram, Percentile};
use iostall_model::LoadOutcome;
use iostall_model::figures::{CpuUse, Row, machine_busy, rows};
use iostall_model::outcome::SpanOutcome;
use serde::Serialize;

#[derive(Serialize)]
pub(super) struct LoadSummary {
    spans: Vec<SpanSummary>,
}

#[derive(Serialize)]
struct SpanSummary {
    measured_ns: u64,
    interrupted: bool,
    cpu_ns_per_request: Option<f64>,
    requests_per_cpu_second: Option<f64>,
    machine_busy_fraction: Option<f64>,
    roles: Vec<RoleSummary>,
}

#[derive(Serialize)]
struct RoleSummary {
    name: String,
    ops: Vec<OpSummary>,
}

#[derive(Serialize)]
struct OpSummary {
    op: &'static str,
    count: u64,
    bytes: u64,
    failed: u64,
    iops: Option<f64>,
    mib_per_s: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    service_ns: Option<LatencySummary>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_ns: Option<LatencySummary>,
}

#[derive(Serialize)]
struct LatencySummary {
    count: u64,
    mean: Option<f64>,
    stdev: Option<f64>,
    min: Option<u64>,
    max: Option<u64>,
    percentiles: BTreeMap<PercentileKey, PercentileSummary>,
}

/// Orders keys by value, not alphabetically.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct PercentileKey(usize);

impl Serialize for PercentileKey {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let percent = Percentile::LEVELS[self.0].0.percent().to_string();
        serializer.collect_str(&format_args!("p{}", percent.replace('.', "_")))
    }
}

#[derive(Serialize)]
struct PercentileSummary {
    ns: u64,
    supported: bool,
}

impl LatencySummary {
    fn of(histogram: &Histogram) -> Self {
        let percentiles = Percentile::LEVELS.iter().enumerate().filter_map(|(index, (percentile, _))| {
            let ns = histogram.value_at(*percentile)?;
            let supported = percentile.is_supported_by(histogram.count());
            Some((PercentileKey(index), PercentileSummary { ns, supported }))
        });
        Self {
            count: histogram.count(),
            mean: histogram.mean(),
            stdev: histogram.stdev(),
            min: histogram.min(),
            max: histogram.max(),
            percentiles: percentiles.collect(),
        }
    }
}

impl OpSummary {
    fn of(row: &Row, measured_ns: u64) -> Self {
        Self {
            op: row.kind.name(),
            count: row.count,
            bytes: row.bytes,
            failed: row.failed,
            iops: row.iops(measured_ns),
            mib_per_s: row.mib_per_s(measured_ns),
            service_ns: row.service_ns.as_ref().map(LatencySummary::of),
            response_ns: row.response_ns.as_ref().map(LatencySummary::of),
        }
    }
}

fn span_summary(span: &SpanOutcome) -> SpanSummary {
    let cpu = CpuUse::of_process(span);
    let roles = span.roles.iter().map(|role| RoleSummary {
        name: role.name.clone(),
        ops: rows(role).iter().map(|row| OpSummary::of(row, span.measured_ns)).collect(),
    });
    SpanSummary {
        measured_ns: span.measured_ns,
        interrupted: span.interrupted,
        cpu_ns_per_request: cpu.ns_per_request(),
        requests_per_cpu_second: cpu.requests_per_cpu_second(),
        machine_busy_fraction: machine_busy(span),
        roles: roles.collect(),
    }
}

pub(super) fn summary(load: &LoadOutcome) -> LoadSummary {
    LoadSummary { spans: load.spans.iter().map(span_summary).collect() }
}
