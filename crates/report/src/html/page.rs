//! The markup of the HTML report.

use iostall_measure::Percentile;
use iostall_model::outcome::{LoadOutcome, SpanOutcome};
use iostall_model::{Run, RunBody, SpanProfile};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use serde_json::{Map, Value};

use super::charts::{Chart, charts, transfer_charts};
use super::{curves, maps, plotly_script, script_json};
use crate::chapter::{Chapter, chapters};
use crate::facts::{self, Detail, Fact};
use crate::figures::{CpuUse, RowKind, rows, span_total};
use crate::format::{count, duration, maybe_duration, maybe_number, shown};
use crate::table::{Table, TableCell, TableLine, Tone};
use crate::{tables, transfer, warnings};

const STYLE: &str = include_str!("report.css");
const SCRIPT: &str = include_str!("report.js");
/// Nothing may be fetched; what is in the page may run. `blob:` and `data:` serve the charts' own picture export.
const POLICY: &str =
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:";

/// The whole page.
pub(super) fn page(run: &Run) -> Markup {
    let load = match &run.body {
        RunBody::Load(load) => Some(load),
        _ => None,
    };
    let chapters = chapters(run);
    let drawn: Vec<Vec<Chart>> = match &run.body {
        RunBody::Load(load) => load.spans.iter().map(charts).collect(),
        RunBody::Sweep(outcome) => vec![curves::charts(outcome)],
        RunBody::MaxRate(outcome) => vec![curves::rate_charts(outcome)],
        RunBody::Matrix(outcome) => vec![maps::charts(run, outcome)],
        _ => vec![transfer_charts(run)],
    };
    let kind = run.body.kind();
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (shown(&run.name)) " · iostall " (kind) " report" }
                style { (PreEscaped(STYLE)) }
            }
            body {
                (head(run, load))
                main {
                    (doubts(run))
                    @if let Some(load) = load {
                        @for (index, span) in load.spans.iter().enumerate() {
                            (span_section(run, load, index, span, &drawn[index]))
                        }
                        @if load.spans.is_empty() { p { "Nothing was measured." } }
                        (asked(load))
                    } @else if chapters.is_empty() {
                        (transfer_section(run, &drawn[0]))
                    }
                    @for (index, chapter) in chapters.iter().enumerate() {
                        (chapter_section(index + 1, chapter, drawn.get(index).map_or(&[], Vec::as_slice)))
                    }
                    (ran_on(run))
                }
                footer {
                    "Made by iostall " (run.tool_version) ". Run " (run.id) ", "
                    (facts::moment(run.started_utc)) " to " (facts::moment(run.ended_utc)) "."
                }
                @if drawn.iter().any(|charts| !charts.is_empty()) {
                    script { (PreEscaped(plotly_script())) }
                }
                script type="application/json" id="figures" { (PreEscaped(script_json(&figures(&drawn)))) }
                script { (PreEscaped(SCRIPT)) }
            }
        }
    }
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

fn doubts(run: &Run) -> Markup {
    html! {
        @if !run.warnings.is_empty() {
            section.warnings aria-labelledby="warnings" {
                h2 #warnings {
                    @if run.warnings.len() == 1 { "1 warning" } @else { (run.warnings.len()) " warnings" }
                    ": read the numbers with this in mind"
                }
                ul {
                    @for warning in &run.warnings {
                        li {
                            code { (warnings::title(warning)) } ": " (shown(&warning.message))
                            @if let Some(hint) = &warning.hint { p.hint { "What to do: " (shown(hint)) } }
                        }
                    }
                }
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

fn chapter_section(number: usize, chapter: &Chapter, drawn: &[Chart]) -> Markup {
    html! {
        section aria-labelledby={ "chapter-" (number) } {
            h2 id={ "chapter-" (number) } { (chapter.title) }
            ul.findings {
                @for finding in &chapter.findings { li class=[tone_class(finding.tone)] { (finding.text) } }
            }
            @if !drawn.is_empty() { div.charts { @for chart in drawn { (figure(number, chart)) } } }
            @for one in chapter.tables.iter().chain(&chapter.details) { (table(one)) }
        }
    }
}

/// A copy, a verification or a paced writing.
fn transfer_section(run: &Run, drawn: &[Chart]) -> Markup {
    html! {
        section aria-labelledby="span-1" {
            h2 #span-1 { "Result" small { (transfer::headline(run).unwrap_or_default()) } }
            @for sentence in transfer::sentences(run) {
                p class=[tone_class(sentence.tone)] { (sentence.text) }
            }
            @for one in transfer::tables(run) { (table(&one)) }
            div.charts { @for chart in drawn { (figure(1, chart)) } }
            (list(&transfer::facts(run)))
        }
    }
}

fn figure(span: usize, chart: &Chart) -> Markup {
    html! {
        figure {
            figcaption { h3 { (chart.title) } p { (chart.caption) } }
            div.chart id={ "span-" (span) "-" (chart.id) } role="group" aria-label=(chart.title) {}
        }
    }
}

/// The figures by the id of the element that each belongs in.
fn figures(drawn: &[Vec<Chart>]) -> Value {
    let mut all = Map::new();
    for (index, charts) in drawn.iter().enumerate() {
        for chart in charts {
            all.insert(format!("span-{}-{}", index + 1, chart.id), chart.figure.clone());
        }
    }
    Value::Object(all)
}

fn tile(label: &str, value: &str, under: &str, tone: Option<&str>) -> Markup {
    html! {
        div.tile.(tone.unwrap_or("plain")) {
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

fn tone_class(tone: Tone) -> Option<&'static str> {
    match tone {
        Tone::Plain => None,
        Tone::Strong => Some("strong"),
        Tone::Doubt => Some("doubt"),
        Tone::Bad => Some("bad"),
    }
}

fn table(table: &Table) -> Markup {
    html! {
        div.table {
            table {
                caption { (table.caption) }
                thead { tr {
                    @for column in &table.columns {
                        @if column.name.is_empty() { td {} }
                        @else { th scope="col" .number[column.right] { (column.name) } }
                    }
                } }
                tbody { @for line in &table.lines { (table_line(table, line)) } }
            }
            @for note in &table.notes { p.note { (note) } }
        }
    }
}

fn table_line(table: &Table, line: &TableLine) -> Markup {
    match line {
        TableLine::Group { title, note } => html! {
            tr.group { th scope="rowgroup" colspan=(table.columns.len()) { (title) " " small { (note) } } }
        },
        TableLine::Cells(cells) => html! {
            tr { @for (index, cell) in cells.iter().enumerate() { (table_cell(table, index, cell)) } }
        },
    }
}

fn table_cell(table: &Table, index: usize, cell: &TableCell) -> Markup {
    let class = [table.columns[index].right.then_some("number"), tone_class(cell.tone)];
    let class = class.into_iter().flatten().collect::<Vec<_>>().join(" ");
    let class = (!class.is_empty()).then_some(class);
    html! {
        @if index == 0 && !cell.text.is_empty() { th scope="row" class=[class] { (cell.text) } }
        @else { td class=[class] { (cell.text) } }
    }
}

fn list(facts: &[Fact]) -> Markup {
    html! { dl.facts { @for fact in facts { dt { (fact.label) } dd { (fact.value) } } } }
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
