//! The pages of watched sources: a window, and two compared windows.

mod bars;
mod lines;

use iostall_model::Warning;
use iostall_watch::windows::{Broken, Cause, SourceHistory, WatchComparison, WatchReport, WatchSeries};
use maud::{Markup, html};

use super::section::section_markup;
use super::shell::{document, figure, table, warnings_list};
use crate::format::shown;
use crate::section::Section;
use crate::table::{Column, Table};
use crate::watch::{comparison, heading, sections, title};
use crate::zone::timestamp;

pub(super) fn page(report: &WatchReport, series: &WatchSeries) -> Markup {
    let sections = sections(report);
    let drawn = lines::charts(report, series);
    let several = report.sources.len() > 1;
    let of_source = |source: &SourceHistory| -> Vec<Warning> {
        source.warnings.iter().map(|warning| named(warning, source, several)).collect()
    };
    let warnings: Vec<Warning> = report.sources.iter().flat_map(of_source).collect();
    let warnings: Vec<&Warning> = warnings.iter().collect();
    let body = html! {
        (head(heading(report), &[("", report)]))
        main {
            (warnings_list(&warnings))
            section aria-labelledby="over-time" {
                h2 #over-time { "Over time" small { "the worst " (series.lines.len()) } }
                @if drawn.is_empty() { p.note { "Nothing was done in this window: there is nothing to draw." } }
                @else { div.charts { @for chart in &drawn { (figure(1, chart)) } } }
                @if let Some(notes) = notes(report) { (table(&notes)) }
                @if !series.marks.is_empty() { (table(&marks(series))) }
            }
            (markup_of(&sections))
        }
        (foot())
    };
    document(&format!("{} · iostall watch report", title(report)), &body, &[drawn])
}

pub(super) fn comparison_page(both: &WatchComparison) -> Markup {
    let sections = comparison::sections(both);
    let drawn = bars::charts(both);
    let mut said: Vec<Warning> = Vec::new();
    let several = both.sources().len() > 1;
    for source in [&both.before, &both.after].into_iter().flat_map(|report| &report.sources) {
        for warning in &source.warnings {
            let warning = named(warning, source, several);
            if !said.contains(&warning) {
                said.push(warning);
            }
        }
    }
    let warnings: Vec<&Warning> = said.iter().collect();
    let body = html! {
        (head(&comparison::title(both), &[("before: ", &both.before), ("after: ", &both.after)]))
        main {
            (warnings_list(&warnings))
            @if !drawn.is_empty() {
                section aria-labelledby="changes" {
                    h2 #changes { "What changed" }
                    div.charts { @for chart in &drawn { (figure(1, chart)) } }
                }
            }
            (markup_of(&sections))
        }
        (foot())
    };
    document(&format!("{} · iostall watch report", comparison::title(both)), &body, &[drawn])
}

fn named(warning: &Warning, source: &SourceHistory, several: bool) -> Warning {
    if !several {
        return warning.clone();
    }
    let about = warning
        .subject
        .as_ref()
        .map_or_else(|| source.name.clone(), |subject| format!("{}, {subject}", source.name));
    warning.clone().about(about)
}

fn head(title: &str, windows: &[(&str, &WatchReport)]) -> Markup {
    html! {
        header {
            p.kind { "iostall watch report" }
            h1 { (title) }
            @for (word, window) in windows {
                p.when {
                    span { (word) (timestamp(window.from)) " to " (timestamp(window.to)) }
                    @for source in &window.sources { span { (shown(&source.name)) } }
                }
            }
        }
    }
}

fn markup_of(sections: &[Section]) -> Markup {
    html! { @for (index, section) in sections.iter().enumerate() { (section_markup(index + 1, section, &[])) } }
}

fn foot() -> Markup {
    html! { footer { "Made by iostall " (env!("CARGO_PKG_VERSION")) ". Times are UTC." } }
}

fn notes(report: &WatchReport) -> Option<Table> {
    let (notes, left_out) = lines::notes(report);
    let columns = [Column::numbers("")].into_iter().chain(["from", "to", "kind", "what"].map(Column::words));
    let mut table = Table::new("Notes", columns.collect());
    for (place, note) in notes.iter().enumerate() {
        let end = note.end.map(timestamp).unwrap_or_default();
        let [number, at, end, kind, text] = [
            (place + 1).to_string(),
            timestamp(note.at),
            end,
            note.kind.name().to_owned(),
            shown(&note.text),
        ];
        table.row(vec![number.into(), at.into(), end.into(), kind.into(), text.into()]);
    }
    if left_out > 0 {
        table.note(&format!("{left_out} more runs of jobs and older notes are not here"));
    }
    (!notes.is_empty()).then_some(table)
}

fn marks(series: &WatchSeries) -> Table {
    let columns = ["from", "to", "source", "what", "why"].map(Column::words).to_vec();
    let mut table = Table::new("Where lines are broken", columns);
    for mark in &series.marks {
        let (what, why) = match &mark.cause {
            Cause::Gap(reason) => ("gap".to_owned(), shown(reason)),
            Cause::Rows(broken, names) => {
                let names: Vec<String> = names.iter().map(|name| shown(name)).collect();
                let (what, why) = match broken {
                    Broken::Reset(reason) => (format!("reset: {reason}"), reason.sentence()),
                    Broken::NotRead => ("not read".to_owned(), "its database could not be read"),
                };
                (what, format!("{why}: {}", names.join(", ")))
            }
        };
        let from_to = [mark.start, mark.end].map(|at| timestamp(at).into());
        let [from, to] = from_to;
        table.row(vec![from, to, shown(&mark.source).into(), what.into(), why.into()]);
    }
    table.note("The mean over the true length of a gap, or of a time in which a database was not read, is in the tables; a reset's interval is in no number.");
    table
}

#[cfg(test)]
mod tests {
    use crate::{write_comparison_html, write_watch_html};
    use iostall_watch::windows::fixture;

    fn own_text(write: impl Fn(&mut String) -> std::fmt::Result) -> String {
        let mut page = String::new();
        write(&mut page).unwrap();
        page.replace(super::super::shell::packed(), "(library)")
    }

    #[test]
    fn the_page_of_a_window_tells_of_gaps_resets_and_warnings_and_asks_for_nothing() {
        let page = own_text(|page| write_watch_html(&fixture::report(), &fixture::series(), page));
        assert!(page.contains("reset: restart") && page.contains("timed out"));
        assert!(page.contains("What to do: grant VIEW SERVER STATE"));
        assert!(page.contains("&lt;this&gt; login") && !page.contains("<this>"));
        assert!(page.contains("distribution of interval averages"));
        for reference in ["src=", "href=", "url(", "@import", "http://", "https://"] {
            assert!(!page.contains(reference), "{reference}");
        }
    }

    #[test]
    fn the_page_of_two_windows_has_both_and_what_is_in_one_alone() {
        let page = own_text(|page| write_comparison_html(&fixture::comparison(), page));
        assert!(page.contains("in the window before alone: ./shop/t.ibd"), "{page}");
        assert!(page.contains("ms/io at the mix of before"));
    }

    /// The warnings of a page with several servers did not say whose they are, and each group had an entry for its reads and
    /// one for its writes, so that the legend was larger than the plot.
    #[test]
    fn warnings_of_several_sources_say_whose_they_are_and_a_group_has_one_entry_in_a_legend() {
        let mut report = fixture::report();
        let mut other = report.sources[0].clone();
        other.name = "sqlserver://db2:1433".into();
        report.sources.push(other);
        let page = own_text(|page| write_watch_html(&report, &fixture::series(), page));
        assert!(page.contains("missing-grant (sqlserver://db1:1433)"), "{page}");
        assert!(page.contains("missing-grant (sqlserver://db2:1433)"), "{page}");
        assert!(page.contains("\"showlegend\":false") && page.contains("\"showlegend\":true"));
    }
}
