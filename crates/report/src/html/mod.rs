//! The HTML report: a self-contained page that makes no network requests.
//!
//! The chart library comes with the `plotly` crate and is embedded in the page, compressed. A content
//! security policy in the page forbids every request, so that a mistake here cannot reveal where a report is
//! opened.

mod section;
mod shell;
mod watch;

use std::fmt;

use iostall_model::{Run, Warning};
use iostall_watch::windows::{WatchComparison, WatchReport, WatchSeries};
use maud::{Markup, html};

use crate::answer::answer;
use crate::chart::Chart;
use crate::facts::{self, Detail};
use crate::format::shown;
use crate::report::{Asked, Report};
use crate::section::Section;
use crate::zone::timestamp;
use section::section_markup;
use shell::{document, list, warnings_list};

pub fn write_html(report: &Report<'_>, out: &mut impl fmt::Write) -> fmt::Result {
    out.write_str(&page(report).into_string())
}

pub fn write_watch_html(
    report: &WatchReport,
    series: &WatchSeries,
    out: &mut impl fmt::Write,
) -> fmt::Result {
    out.write_str(&watch::page(report, series).into_string())
}

pub fn write_comparison_html(comparison: &WatchComparison, out: &mut impl fmt::Write) -> fmt::Result {
    out.write_str(&watch::comparison_page(comparison).into_string())
}

pub fn write_compare_html(
    title: &str,
    sections: &[Section],
    charts: &[Vec<Chart>],
    out: &mut impl fmt::Write,
) -> fmt::Result {
    write_sections_html("compare", title, sections, charts, out)
}

/// Writes a page of sections that belong to no single run, each with its charts; `kind` is the command. Fails only if `out`
/// does.
pub fn write_sections_html(
    kind: &str,
    title: &str,
    sections: &[Section],
    charts: &[Vec<Chart>],
    out: &mut impl fmt::Write,
) -> fmt::Result {
    out.write_str(&sections_page(kind, title, sections, charts).into_string())
}

/// The sections_page; each section with the charts of the same number.
fn sections_page(kind: &str, title: &str, sections: &[Section], drawn: &[Vec<Chart>]) -> Markup {
    let body = html! {
        header {
            p.kind { "iostall " (kind) " report" }
            h1 { (shown(title)) }
        }
        main {
            @for (index, section) in sections.iter().enumerate() {
                (section_markup(index + 1, section, drawn.get(index).map_or(&[], Vec::as_slice)))
            }
        }
        footer { "Made by iostall " (env!("CARGO_PKG_VERSION")) "." }
    };
    document(&format!("{} · iostall {kind} report", shown(title)), &body, drawn)
}

fn page(report: &Report<'_>) -> Markup {
    let run = report.run;
    let drawn = (report.charts)();
    let sections = (report.sections)();
    let kind = run.body.kind();
    let title = format!("{} · iostall {kind} report", shown(&run.name));
    let warnings: Vec<&Warning> = run.warnings.iter().collect();
    let body = html! {
        (head(report))
        main {
            (warnings_list(&warnings))
            @for (index, section) in sections.iter().enumerate() {
                (section_markup(index + 1, section, drawn.get(index).map_or(&[], Vec::as_slice)))
            }
            @if sections.is_empty() { p { (report.when_empty) } }
            @if let Some(required) = report.requirements() {
                (section_markup(sections.len() + 1, &required, &[]))
            }
            @if let Some(all) = &report.asked { (asked(all)) }
            (ran_on(report))
        }
        footer {
            p.answer { (answer(report, None)) }
            "Made by iostall " (run.tool_version) ". Run " (run.id) ", "
            (timestamp(run.started_utc)) " to " (timestamp(run.ended_utc)) "."
        }
    };
    document(&title, &body, &drawn)
}

fn head(report: &Report<'_>) -> Markup {
    let run: &Run = report.run;
    html! {
        header {
            p.kind { "iostall " (run.body.kind()) " report" }
            h1 { (shown(&run.name)) }
            p.answer { (answer(report, None)) }
            @if !report.description.is_empty() { p.description { (report.description) } }
            p.when {
                span { (timestamp(run.started_utc)) }
                span { (shown(&run.host.hostname)) }
                @for target in &run.targets { span { (facts::path(&target.path)) } }
            }
            @if run.interrupted {
                p.interrupted { strong { "Interrupted." } " What follows holds for the part that ran." }
            }
        }
    }
}

fn asked(asked: &Asked) -> Markup {
    html! {
        section aria-labelledby="asked" {
            h2 #asked { "What was asked" small { (asked.subtitle) } }
            @for (title, facts) in &asked.parts {
                @if let Some(title) = title { h3 { (title) } }
                (list(facts))
            }
        }
    }
}

fn ran_on(report: &Report<'_>) -> Markup {
    html! {
        section aria-labelledby="ran-on" {
            h2 #ran-on { "What it ran on" }
            (list(&facts::ran_on(report, Detail::Full)))
            h3 { "Command line" }
            pre { code { (facts::command_line(report.run)) } }
        }
    }
}

#[cfg(test)]
mod tests {
    use iostall_model::Run;

    use super::*;
    use crate::fixture;

    /// The page without the chart library, which is not our text.
    fn own_text(run: &Run) -> String {
        let mut page = String::new();
        write_html(&Report::of(run), &mut page).unwrap();
        // A page without charts leaves the library out.
        assert_eq!(page.contains(shell::packed()), page.contains("class=\"chart\""));
        page.replace(shell::packed(), "(library)")
    }

    #[test]
    fn the_page_of_two_roles_is_marked_up_so() {
        let page = own_text(&fixture::run());
        // Figures are checked by value below; their text is long and meaningless to a reader.
        let start = page.find("<script type=\"application/json\"").unwrap();
        let end = start + page[start..].find("</script>").unwrap();
        let readable = format!("{}{}", &page[..start], &page[end..]).replace("><", ">\n<");
        insta::assert_snapshot!(readable);
    }

    #[test]
    fn the_page_asks_for_nothing_from_anywhere() {
        let page = own_text(&fixture::run());
        for reference in ["src=", "href=", "url(", "@import", "http://", "https://"] {
            assert!(!page.contains(reference), "{reference}");
        }
        assert!(page.contains("default-src 'none'"));
    }

    #[test]
    fn no_name_or_message_can_become_markup_or_script() {
        let page = own_text(&fixture::hostile());
        assert!(!page.contains("<script>alert"));
        assert!(!page.contains("<b>"));
        assert!(!page.contains('\u{1b}'));
        assert!(page.contains("&lt;/script&gt;&lt;script&gt;alert(1)"));
        // Three scripts: the library, the figures, our own.
        assert_eq!(page.matches("<script").count(), 3);
        assert_eq!(page.matches("</script>").count(), 3);
    }

    #[test]
    fn a_run_that_measured_nothing_has_a_page_without_charts_and_false_numbers() {
        let page = own_text(&fixture::empty());
        assert!(!page.contains("NaN"));
        assert!(page.contains("nothing to draw"));
        assert!(page.contains("Interrupted"));
    }

    #[test]
    fn each_span_has_its_own_tables_and_charts() {
        let page = own_text(&fixture::two_spans());
        assert!(page.contains("Span 1 of 2") && page.contains("Span 2 of 2"));
        assert_eq!(page.matches("class=\"chart\"").count(), 10);
        assert!(page.contains("id=\"span-2-iops\""));
    }
}
