//! The headline numbers of a span's page.

use iostall_measure::Percentile;
use iostall_model::Run;
use iostall_model::figures::{CpuUse, RowKind, rows, span_total};
use iostall_model::outcome::{RoleOutcome, SpanOutcome};

use crate::format::{count, duration, maybe_duration, maybe_number, shown};
use crate::section::Tile;
use crate::table::Severity;

/// Percentiles of this many roles fit; the table has them all.
const ROLES_MAX: usize = 3;

pub(super) fn tiles(run: &Run, span: &SpanOutcome) -> Vec<Tile> {
    let total = span_total(span);
    let roles = if span.roles.len() == 1 { "" } else { "all roles together" };
    let iops = maybe_number(total.as_ref().and_then(|total| total.iops(span.measured_ns)));
    let mib = maybe_number(total.as_ref().and_then(|total| total.mebibytes_per_second(span.measured_ns)));
    let failed: u64 = span.roles.iter().flat_map(|role| &role.errors).map(|error| error.count).sum();
    let cpu = maybe_duration(CpuUse::of_process(span).ns_per_request());
    let mut tiles = vec![Tile::plain("IOPS", iops, roles), Tile::plain("MiB/s", mib, roles)];
    tiles.extend(span.roles.iter().filter_map(p99).take(ROLES_MAX));
    tiles.push(Tile::plain("CPU per I/O", cpu, "user and kernel"));
    if failed > 0 {
        let errors = Tile::plain("Errors", count(failed), "requests failed or cut short");
        tiles.push(Tile { severity: Severity::Bad, ..errors });
    }
    tiles.push(match run.warnings.len() {
        0 => Tile { severity: Severity::Good, ..Tile::plain("Warnings", "0", "nothing to doubt was seen") },
        many => Tile {
            severity: Severity::Caution,
            ..Tile::plain("Warnings", many.to_string(), "see the top of the page")
        },
    });
    tiles
}

/// The most important 99th percentile of a role: of commits if it has them, otherwise of all its I/O.
fn p99(role: &RoleOutcome) -> Option<Tile> {
    let rows = rows(role);
    let by_kind = |kind: RowKind| rows.iter().find(|row| row.kind == kind);
    let row = by_kind(RowKind::Commit).or_else(|| by_kind(RowKind::Total)).or_else(|| rows.first())?;
    let latency = row.waited_ns()?;
    let supported = Percentile::P99.is_supported_by(latency.count());
    let value = duration(latency.value_at(Percentile::P99)? as f64);
    let kind = if row.response_ns.is_some() { "response" } else { "service" };
    let value = if supported { value } else { format!("{value}?") };
    Some(Tile::plain(format!("{} p99", shown(&role.name)), value, format!("{}, {kind}", row.kind.name())))
}
