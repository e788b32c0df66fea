//! Common parts of every page: head, style, scripts, and the markup of sections, tables and charts.

use std::io::Write as _;
use std::sync::LazyLock;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use flate2::Compression;
use flate2::write::DeflateEncoder;
use iostall_model::Warning;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use serde_json::{Map, Value};

use crate::chart::Chart;
use crate::format::shown;
use crate::section::Fact;
use crate::table::{Severity, Table, TableCell, TableLine};
use crate::warnings;

const STYLE: &str = include_str!("report.css");
const SCRIPT: &str = include_str!("report.js");
/// Nothing may be fetched; embedded scripts may run. `blob:` and `data:` are for exporting charts as
/// pictures.
const POLICY: &str =
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:";

pub(super) fn document(title: &str, body: &Markup, drawn: &[Vec<Chart>]) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                (body)
                @if drawn.iter().any(|charts| !charts.is_empty()) {
                    script type="application/octet-stream" id="library" { (PreEscaped(packed())) }
                    noscript { p { "The charts need JavaScript; the tables have the same numbers." } }
                }
                script type="application/json" id="figures" { (PreEscaped(script_json(&figures(drawn)))) }
                script { (PreEscaped(SCRIPT)) }
            }
        }
    }
}

pub(super) fn warnings_list(all: &[&Warning]) -> Markup {
    html! {
        @if !all.is_empty() {
            section.warnings aria-labelledby="warnings" {
                h2 #warnings { (warnings::heading(all.iter().copied())) ": read the numbers with this in mind" }
                ul {
                    @for warning in warnings::by_rank(all.iter().copied()) {
                        li class=[severity_class(warnings::mark(warning).1)] {
                            code { (warnings::title(warning)) } ": " (shown(&warning.message))
                            @if let Some(hint) = &warning.hint { p.hint { "What to do: " (shown(hint)) } }
                        }
                    }
                }
            }
        }
    }
}

pub(super) fn figure(span: usize, chart: &Chart) -> Markup {
    html! {
        figure {
            figcaption { h3 { (chart.title) } p { (chart.caption) } }
            div.chart id={ "span-" (span) "-" (chart.id) } role="group" aria-label=(chart.title) {}
        }
    }
}

fn figures(drawn: &[Vec<Chart>]) -> Value {
    let mut all = Map::new();
    for (index, charts) in drawn.iter().enumerate() {
        for chart in charts {
            all.insert(format!("span-{}-{}", index + 1, chart.id), chart.figure.clone());
        }
    }
    Value::Object(all)
}

/// JSON for a script element: no `<` can end the element or begin another.
fn script_json(value: &serde_json::Value) -> String {
    value.to_string().replace('<', "\\u003c").replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029")
}

pub(super) fn severity_class(severity: Severity) -> Option<&'static str> {
    match severity {
        Severity::Plain => None,
        Severity::Strong => Some("strong"),
        Severity::Caution => Some("doubt"),
        Severity::Bad => Some("bad"),
        Severity::Good => Some("good"),
    }
}

pub(super) fn table(table: &Table) -> Markup {
    let table = &table.in_one_unit();
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
    let class = [table.columns[index].right.then_some("number"), severity_class(cell.severity)];
    let class = class.into_iter().flatten().collect::<Vec<_>>().join(" ");
    let class = (!class.is_empty()).then_some(class);
    html! {
        @if index == 0 && !cell.text.is_empty() { th scope="row" class=[class] { (cell.text) } }
        @else { td class=[class] { (cell.text) } }
    }
}

pub(super) fn list(facts: &[Fact]) -> Markup {
    html! { dl.facts { @for fact in facts { dt { (fact.label) } dd { (fact.value) } } } }
}

/// The library's script as a raw deflate stream (RFC 1951) in base64.
pub(super) fn packed() -> &'static str {
    static PACKED: LazyLock<String> = LazyLock::new(|| BASE64_STANDARD.encode(deflated(script().as_bytes())));
    &PACKED
}

fn deflated(text: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
    // Writing to memory cannot fail.
    let _ = encoder.write_all(text);
    encoder.finish().unwrap_or_default()
}

/// The library's script without the formula renderer bundled with it: reports have no formulas, and it is a
/// third of the size.
fn script() -> String {
    const OPEN: &str = "<script type=\"text/javascript\">";
    let bundle = plotly::Plot::offline_js_sources();
    let start = bundle.find(OPEN).map_or(0, |at| at + OPEN.len());
    let end = bundle[start..].find("</script>").map_or(bundle.len(), |at| start + at);
    bundle[start..end].to_owned()
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use flate2::read::DeflateDecoder;

    use super::*;

    #[test]
    fn the_chart_library_is_there_and_its_formula_renderer_is_not() {
        let script = script();
        assert!(script.contains("plotly.js v"));
        assert!(!script.contains("</script"));
        assert!(script.len() < plotly::Plot::offline_js_sources().len() - 1_000_000);
    }

    /// A page used to contain 4.7 MB of library: too large for a ticket or a mail.
    #[test]
    fn the_library_takes_less_than_1_9_mb_of_a_page_and_unpacks_to_itself() {
        assert!(packed().len() <= 1_900_000, "{} bytes", packed().len());
        let mut unpacked = String::new();
        let deflated = BASE64_STANDARD.decode(packed()).unwrap();
        DeflateDecoder::new(&deflated[..]).read_to_string(&mut unpacked).unwrap();
        assert_eq!(unpacked, script());
    }
}
