//! The markup of the HTML report.

use iostall_measure::Percentile;
use iostall_model::LoadOutcome;
use iostall_model::outcome::SpanOutcome;
use iostall_model::{Run, RunBody, SpanProfile, Warning};
use maud::{Markup, html};

use super::charts::{Chart, charts};
use super::shell::{document, doubts, figure, list, section_markup, severity_class, table};
use super::{curves, maps, transfers};
use crate::facts::{self, Detail};
use crate::format::{count, duration, maybe_duration, maybe_number, shown};
use crate::sections::sections;
use crate::{tables, transfer};
use iostall_model::figures::{CpuUse, RowKind, rows, span_total};

/// The whole page.
pub(super) fn page(run: &Run) -> Markup {
    let load = match &run.body {
        RunBody::Load(load) => Some(load),
        _ => None,
    };
    let sections = sections(run);
    let drawn: Vec<Vec<Chart>> = match &run.body {
        RunBody::Load(load) => load.spans.iter().map(charts).collect(),
        RunBody::Sweep(outcome) => vec![curves::charts(outcome)],
        RunBody::MaxRate(outcome) => vec![curves::rate_charts(outcome)],
        RunBody::Matrix(outcome) => vec![maps::charts(run, outcome)],
        _ => vec![transfers::charts(run)],
    };
    let kind = run.body.kind();
    let title = format!("{} · iostall {kind} report", shown(&run.name));
    let warnings: Vec<&Warning> = run.warnings.iter().collect();
    let body = html! {
        (head(run, load))
        main {
            (doubts(&warnings))
            @if let Some(load) = load {
                @for (index, span) in load.spans.iter().enumerate() {
                    (span_section(run, load, index, span, &drawn[index]))
                }
                @if load.spans.is_empty() { p { "Nothing was measured." } }
                (asked(load))
            } @else if sections.is_empty() {
                (transfer_section(run, &drawn[0]))
            }
            @for (index, section) in sections.iter().enumerate() {
                (section_markup(index + 1, section, drawn.get(index).map_or(&[], Vec::as_slice)))
            }
            (ran_on(run))
        }
        footer {
            "Made by iostall " (run.tool_version) ". Run " (run.id) ", "
            (facts::moment(run.started_utc)) " to " (facts::moment(run.ended_utc)) "."
        }
    };
    document(&title, &body, &drawn)
}

fn head(run: &Run, load: Option<&LoadOutcome>) -> Markup {
    html! {
        header {
            p.kind { "iostall " (run.body.kind()) " report" }
            h1 { (shown(&run.name)) }
            @if let Some(load) = load { @if !load.profile.description.is_empty() {
                p.description { (shown(&load.profile.description)) }
            } }
            p.when {
                span { (facts::moment(run.started_utc)) }
                span { (shown(&run.host.hostname)) }
                @for target in &run.targets { span { (facts::path(&target.path)) } }
            }
            @if run.interrupted {
                p.interrupted { strong { "Interrupted." } " What follows holds for the part that ran." }
            }
        }
    }
}

fn span_section(run: &Run, load: &LoadOutcome, index: usize, span: &SpanOutcome, drawn: &[Chart]) -> Markup {
    let asked: Option<&SpanProfile> = load.profile.spans.get(index);
    let number = index + 1;
    let title = match load.profile.spans.len() {
        0 | 1 => "Result".to_owned(),
        many => format!("Span {number} of {many}"),
    };
    html! {
        section aria-labelledby={ "span-" (number) } {
            h2 id={ "span-" (number) } {
                (title) small {
                    @if span.measured_ns == 0 { "nothing measured" }
                    @else { (duration(span.measured_ns as f64)) " measured" }
                    @if span.interrupted { ", interrupted" }
                }
            }
            (tiles(run, span))
            (table(&tables::results(span, asked)))
            @if drawn.is_empty() {
                p.note { "Nothing completed in the measured part: there is nothing to draw." }
            } @else {
                div.charts { @for chart in drawn { (figure(number, chart)) } }
            }
            @for one in tables::below_results(span, &run.targets) { (table(&one)) }
            @for one in span.roles.iter().filter_map(tables::percentiles) { (table(&one)) }
        }
    }
}

/// A copy, a verification or a paced writing.
fn transfer_section(run: &Run, drawn: &[Chart]) -> Markup {
    html! {
        section aria-labelledby="span-1" {
            h2 #span-1 { "Result" small { (transfer::headline(run).unwrap_or_default()) } }
            @for sentence in transfer::sentences(run) {
                p class=[severity_class(sentence.severity)] { (sentence.text) }
            }
            @for one in transfer::tables(run) { (table(&one)) }
            div.charts { @for chart in drawn { (figure(1, chart)) } }
            (list(&transfer::facts(run)))
        }
    }
}

fn tile(label: &str, value: &str, under: &str, severity: Option<&str>) -> Markup {
    html! {
        div.tile.(severity.unwrap_or("plain")) {
            dt { (label) }
            dd { (value) @if !under.is_empty() { small { (under) } } }
        }
    }
}

fn tiles(run: &Run, span: &SpanOutcome) -> Markup {
    let total = span_total(span);
    let roles = if span.roles.len() == 1 { "" } else { "all roles together" };
    let iops = maybe_number(total.as_ref().and_then(|total| total.iops(span.measured_ns)));
    let mib = maybe_number(total.as_ref().and_then(|total| total.mebibytes_per_second(span.measured_ns)));
    let failed: u64 = span.roles.iter().flat_map(|role| &role.errors).map(|error| error.count).sum();
    let doubts = run.warnings.len();
    html! {
        dl.tiles {
            (tile("IOPS", &iops, roles, None))
            (tile("MiB/s", &mib, roles, None))
            // Three fit beside the rest; the table has them all.
            @for (label, value, under) in p99_tiles(span).into_iter().take(3) { (tile(&label, &value, &under, None)) }
            (tile("CPU per I/O", &maybe_duration(CpuUse::of_process(span).ns_per_request()), "user and kernel", None))
            @if failed > 0 { (tile("Errors", &count(failed), "requests failed or cut short", Some("bad"))) }
            @if doubts > 0 { (tile("Warnings", &doubts.to_string(), "see the top of the page", Some("doubt"))) }
            @else { (tile("Warnings", "0", "nothing to doubt was seen", Some("good"))) }
        }
    }
}

/// The 99th percentile that matters most of each role: of commits where it has them, else of all its I/O.
fn p99_tiles(span: &SpanOutcome) -> Vec<(String, String, String)> {
    let of_role = |role| {
        let rows = rows(role);
        let by_kind = |kind: RowKind| rows.iter().find(|row| row.kind == kind);
        let row = by_kind(RowKind::Commit).or_else(|| by_kind(RowKind::Total)).or_else(|| rows.first())?;
        let latency = row.waited_ns()?;
        let supported = Percentile::P99.is_supported_by(latency.count());
        let value = duration(latency.value_at(Percentile::P99)? as f64);
        let kind = if row.response_ns.is_some() { "response" } else { "service" };
        let value = if supported { value } else { format!("{value}?") };
        Some((format!("{} p99", shown(&role.name)), value, format!("{}, {kind}", row.kind.name())))
    };
    span.roles.iter().filter_map(of_role).collect()
}

fn asked(load: &LoadOutcome) -> Markup {
    html! {
        section aria-labelledby="asked" {
            h2 #asked { "What was asked" small { "profile " (shown(&load.profile.name)) ", seed " (load.profile.seed) } }
            @for (index, span) in load.profile.spans.iter().enumerate() {
                @if load.profile.spans.len() > 1 { h3 { "Span " (index + 1) } }
                (list(&facts::asked(span)))
            }
        }
    }
}

fn ran_on(run: &Run) -> Markup {
    html! {
        section aria-labelledby="ran-on" {
            h2 #ran-on { "What it ran on" }
            (list(&facts::ran_on(run, Detail::Full)))
            h3 { "Command line" }
            pre { code { (facts::command_line(run)) } }
        }
    }
}
