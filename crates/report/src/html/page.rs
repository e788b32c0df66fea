//! The markup of a run's page.

use iostall_model::{Run, Warning};
use maud::{Markup, html};

use super::section::section_markup;
use super::shell::{document, list, warnings_list};
use crate::answer::answer;
use crate::facts::{self, Detail};
use crate::format::shown;
use crate::report::{Asked, Report};
use crate::zone::timestamp;

pub(super) fn page(report: &Report<'_>) -> Markup {
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
