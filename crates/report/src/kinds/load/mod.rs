//! The report of a load: a section per span, with rates and latencies of each role.

mod answer;
mod charts;
mod document;
mod judged;
mod latency;
mod resources;
mod series;

use iostall_measure::Percentile;
use iostall_model::figures::{CpuUse, RowKind, rows, span_total};
use iostall_model::outcome::{RoleOutcome, SpanOutcome};
use iostall_model::{LoadOutcome, Run};

use crate::facts;
use crate::format::{count, duration, maybe_duration, maybe_number, shown};
use crate::report::{Asked, Report};
use crate::section::{Layout, Section, Sparkline, Tile};
use crate::table::Severity;

pub(super) fn report<'a>(run: &'a Run, load: &'a LoadOutcome) -> Report<'a> {
    Report {
        run,
        description: shown(&load.profile.description),
        shape: String::new(),
        headline: headline(load),
        line: Box::new(|| answer::line(load)),
        answer: Box::new(move || answer::answer(run, load)),
        judgement: Box::new(move || judged::worst(run, load)),
        asked: Some(asked(load)),
        opens_one_way: true,
        sections: Box::new(move || {
            load.spans.iter().enumerate().map(|(index, span)| section(run, load, index, span)).collect()
        }),
        when_empty: "Nothing was measured.",
        charts: Box::new(|| load.spans.iter().map(charts::charts).collect()),
        series: Box::new(|| series::series(load)),
        summary: Box::new(|| Box::new(document::summary(load))),
    }
}

fn headline(load: &LoadOutcome) -> String {
    let total: u64 = load.spans.iter().map(|span| span.measured_ns).sum();
    match load.spans.len() {
        _ if total == 0 => "nothing measured".to_owned(),
        0 | 1 => format!("{} measured", duration(total as f64)),
        many => format!("{} measured in {many} spans", duration(total as f64)),
    }
}

fn asked(load: &LoadOutcome) -> Asked {
    let profile = &load.profile;
    let several = profile.spans.len() > 1;
    let part = |(index, span)| (several.then(|| format!("Span {}", index + 1)), facts::asked(span));
    Asked {
        subtitle: format!("profile {}, seed {}", shown(&profile.name), profile.seed),
        parts: profile.spans.iter().enumerate().map(part).collect(),
    }
}

fn section(run: &Run, load: &LoadOutcome, index: usize, span: &SpanOutcome) -> Section {
    let cut = if span.interrupted { ", interrupted" } else { "" };
    let length = duration(span.measured_ns as f64);
    let number = index + 1;
    let (title, heading) = match load.profile.spans.len() {
        0 | 1 => ("Result".to_owned(), None),
        many => {
            let title = format!("Span {number} of {many}");
            let heading = format!("{title}, {length} measured{cut}");
            (title, Some(heading))
        }
    };
    let measured =
        if span.measured_ns == 0 { "nothing measured".to_owned() } else { format!("{length} measured") };
    Section {
        title,
        subtitle: format!("{measured}{cut}"),
        heading,
        layout: Layout::Figures,
        tiles: tiles(run, span),
        results: Some(latency::results(run, span, load.profile.spans.get(index))),
        bars: latency::bars(run, span, load.profile.spans.get(index)),
        sparklines: span.roles.iter().map(sparkline).collect(),
        tables: resources::tables(span, &run.targets),
        details: span.roles.iter().filter_map(latency::percentiles).collect(),
        when_no_charts: "Nothing completed in the measured part: there is nothing to draw.",
        ..Section::default()
    }
}

/// The worst operation in each interval.
fn sparkline(role: &RoleOutcome) -> Sparkline {
    let worst = role.series.iter().map(|point| point.ops.iter().map(|op| op.latency_ns_p99).max());
    Sparkline { name: shown(&role.name), latency_ns_p99: worst.collect() }
}

/// Percentiles of this many roles fit; the table has them all.
const ROLES_MAX: usize = 3;

fn tiles(run: &Run, span: &SpanOutcome) -> Vec<Tile> {
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

#[cfg(test)]
mod tests {
    use iostall_model::figures::{CpuUse, machine_busy, rows, span_total};

    use crate::fixture;

    #[test]
    fn a_role_that_reads_and_writes_has_a_total_and_one_that_only_writes_has_none() {
        let run = fixture::run();
        let span = &fixture::load(&run).spans[0];
        let names =
            |role: usize| rows(&span.roles[role]).iter().map(|row| row.kind.name()).collect::<Vec<_>>();
        assert_eq!(names(0), ["read", "write", "read+write"]);
        assert_eq!(names(1), ["write", "sync", "commit"]);
    }

    #[test]
    fn nothing_is_divided_by_nothing() {
        let run = fixture::empty();
        let span = &fixture::load(&run).spans[0];
        assert!(rows(&span.roles[0]).is_empty());
        assert!(span_total(span).is_none());
        assert_eq!(CpuUse::of_process(span).ns_per_request(), None);
        assert_eq!(CpuUse::of_process(span).requests_per_cpu_second(), None);
        assert_eq!(machine_busy(span), None);
    }
}
