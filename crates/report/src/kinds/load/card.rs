//! The numbers of a load on its card.

use iostall_measure::Histogram;
use iostall_model::figures::{CpuUse, rows, span_total};
use iostall_model::outcome::RoleOutcome;
use iostall_model::profile::RoleProfile;
use iostall_model::{LoadOutcome, Run};

use super::judged::{Figure, Judged, waited};
use crate::card::{latency_tiles, p99_tile};
use crate::format::{count, maybe_duration, maybe_number, shown};
use crate::section::Tile;
use crate::table::Severity;

/// The last span's rates, then the 99th percentile of each role, then the other latencies of each.
pub(super) fn tiles(run: &Run, load: &LoadOutcome) -> Vec<Tile> {
    let Some(span) = load.spans.last() else { return Vec::new() };
    let asked = load.profile.spans.get(load.spans.len() - 1);
    let profile = |role: &RoleOutcome| -> Option<&RoleProfile> {
        asked?.roles.iter().find(|asked| asked.name == role.name)
    };
    let total = span_total(span);
    let several = span.roles.len() > 1;
    let under = if several { "all roles together" } else { "" };
    let iops = maybe_number(total.as_ref().and_then(|total| total.iops(span.measured_ns)));
    let mib = maybe_number(total.as_ref().and_then(|total| total.mebibytes_per_second(span.measured_ns)));
    let mut tiles = vec![Tile::plain("IOPS", iops, under), Tile::plain("MiB/s", mib, under)];
    let failed: u64 = span.roles.iter().flat_map(|role| &role.errors).map(|error| error.count).sum();
    if failed > 0 {
        let tile = Tile::plain("errors", count(failed), "failed or cut short");
        tiles.push(Tile { severity: Severity::Bad, ..tile });
    }
    let mut others: [Vec<Tile>; 4] = Default::default();
    for role in &span.roles {
        let judged = Judged::of(run, span, role, profile(role));
        let judgement = judged.as_ref().and_then(|judged| judged.judgement);
        let is_of_rate = matches!(judged.map(|judged| judged.figure), Some(Figure::Iops(_)));
        if let Some(judgement) = judgement.filter(|_| is_of_rate && !several) {
            tiles[0].value.push_str(judgement.mark());
            tiles[0].severity = judgement.severity();
        }
        let rows = rows(role);
        let latency = waited(&rows).or_else(|| rows.first()).and_then(|row| row.waited_ns());
        let Some(latency) = latency.filter(|latency: &&Histogram| !latency.is_empty()) else { continue };
        let prefix = if several { format!("{} ", shown(&role.name)) } else { String::new() };
        tiles.extend(p99_tile(&format!("{prefix}p99"), latency, judgement.filter(|_| !is_of_rate)));
        let each = latency_tiles(&prefix, latency).into_iter();
        others.iter_mut().zip(each).for_each(|(all, one)| all.push(one));
    }
    tiles.extend(others.into_iter().flatten());
    let cpu = maybe_duration(CpuUse::of_process(span).ns_per_request());
    tiles.push(Tile::plain("CPU per I/O", cpu, "user and kernel"));
    tiles
}
