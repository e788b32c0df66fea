//! Writes a command's result in the requested format: one run, a window of watched sources, two windows, or a
//! table of figures.

use std::fmt;
use std::io::{self, Write};

use iostall_model::{Run, RunNumber};
use iostall_session::output::Form;
use iostall_watch::windows::{WatchComparison, WatchReport, WatchSeries};

use crate::answer::answer;
use crate::csv::write_csv;
use crate::html::{write_comparison_html, write_html, write_watch_html};
use crate::json::{JsonLayout, write_json};
use crate::junit::write_junit;
use crate::markdown::{write_markdown, write_sections_markdown};
use crate::report::Report;
use crate::section::Section;
use crate::text::{TextOptions, write_answer, write_sections, write_text};
use crate::watch::{self, comparison, write_watch_csv, write_watch_json, write_watch_junit};

/// Writes a run. Fails if `out` fails, or for a manifest, which only a copy has.
pub fn write_run(run: &Run, form: Form, out: &mut dyn Write) -> io::Result<()> {
    let report = Report::of(run);
    match form {
        Form::Json => write_json(&report, JsonLayout::Pretty, out),
        Form::Csv => write_csv(&report, out).map_err(io::Error::other),
        Form::Html => write_page(out, |text| write_html(&report, text)),
        Form::Markdown => write_page(out, |text| write_markdown(&report, text)),
        Form::Junit => write_junit(run, out),
        Form::Log | Form::Manifest { .. } => Err(io::Error::other("only a copy has a log or a manifest")),
    }
}

pub fn run_text(run: &Run, options: &TextOptions) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = write_text(&Report::of(run), options, &mut text);
    text
}

pub fn answer_text(run: &Run, number: Option<RunNumber>, options: &TextOptions) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = write_answer(&Report::of(run), number, options, &mut text);
    text
}

/// The sentence that the text of a run ends with, by itself.
pub fn answer_line(run: &Run, number: Option<RunNumber>) -> String {
    answer(&Report::of(run), number)
}

pub fn sections_text(title: &str, sections: &[Section], options: &TextOptions) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = write_sections(title, sections, options, &mut text);
    text
}

/// Writes a window as a table, as a page where there is what its charts show, or else as a document.
pub fn write_window(
    report: &WatchReport,
    series: Option<&WatchSeries>,
    form: Form,
    out: &mut dyn Write,
) -> io::Result<()> {
    match (form, series) {
        (Form::Csv, _) => write_watch_csv(report, out),
        (Form::Html, Some(series)) => write_page(out, |text| write_watch_html(report, series, text)),
        (Form::Markdown, _) => {
            let title = format!("report: {}", watch::title(report));
            write_page(out, |text| write_sections_markdown(&title, &watch::sections(report), text))
        }
        (Form::Junit, _) => write_watch_junit(report, out),
        (Form::Json | Form::Html | Form::Log | Form::Manifest { .. }, _) => write_watch_json(report, out),
    }
}

pub fn write_windows(both: &WatchComparison, form: Form, out: &mut dyn Write) -> io::Result<()> {
    match form {
        Form::Csv => comparison::write_comparison_csv(both, out),
        Form::Html => write_page(out, |text| write_comparison_html(both, text)),
        Form::Markdown => {
            let title = format!("report: {}", comparison::title(both));
            write_page(out, |text| write_sections_markdown(&title, &comparison::sections(both), text))
        }
        Form::Json | Form::Junit | Form::Log | Form::Manifest { .. } => {
            comparison::write_comparison_json(both, out)
        }
    }
}

/// Writes figures as a document, a line a field.
pub fn write_figures(figures: &serde_json::Value, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, figures)?;
    writeln!(out)
}

pub(crate) fn write_page(
    out: &mut dyn Write,
    render: impl FnOnce(&mut String) -> fmt::Result,
) -> io::Result<()> {
    let mut text = String::new();
    render(&mut text).map_err(io::Error::other)?;
    out.write_all(text.as_bytes())
}
