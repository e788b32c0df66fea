//! The terminal report of a run: one screen with the numbers first, and warnings last, where the eye ends up.

mod grid;
mod histogram;
mod spark;
mod style;

use std::fmt;

use iostall_model::{Run, RunNumber};

use crate::answer::{answer, conclusion};
use crate::facts::{self, Detail};
use crate::format::shown;
use crate::report::Report;
use crate::section::{Fact, LatencyBars, Layout, Part, Section, Sparkline};
use crate::table::{Severity, Table};
use crate::warnings;
use crate::zone::timestamp;
pub use style::TextOptions;
pub(crate) use style::ascii_symbol;

use style::Style;

pub fn write_text(report: &Report<'_>, options: &TextOptions, out: &mut impl fmt::Write) -> fmt::Result {
    let mut page = Page { style: Style::new(options), options: *options, text: String::new() };
    page.head(report);
    let sections = (report.sections)();
    if sections.is_empty() {
        page.line("");
        page.line(report.when_empty);
    }
    for section in sections.iter().chain(&report.requirements()) {
        page.section(section);
    }
    page.warnings(report.run);
    let text = if options.unicode { page.text } else { style::to_ascii(&page.text) };
    out.write_str(&text)
}

/// Writes the sentence that a report ends with, with the run's number where it has one. Fails only if `out` does.
pub fn write_answer(
    report: &Report<'_>,
    number: Option<RunNumber>,
    options: &TextOptions,
    out: &mut impl fmt::Write,
) -> fmt::Result {
    let mut page = Page { style: Style::new(options), options: *options, text: String::new() };
    page.answer(report, number);
    let text = if options.unicode { page.text } else { style::to_ascii(&page.text) };
    out.write_str(&text)
}

/// Writes sections that belong to no single run, under `title`. Fails only if `out` does.
pub fn write_sections(
    title: &str,
    sections: &[Section],
    options: &TextOptions,
    out: &mut impl fmt::Write,
) -> fmt::Result {
    let mut page = Page { style: Style::new(options), options: *options, text: String::new() };
    let title = page.style.severity(Severity::Strong, &shown(title));
    page.line(&title);
    for section in sections {
        page.section(section);
    }
    let text = if options.unicode { page.text } else { style::to_ascii(&page.text) };
    out.write_str(&text)
}

struct Page {
    options: TextOptions,
    style: Style,
    text: String,
}

impl Page {
    fn line(&mut self, line: &str) {
        self.text.push_str(line.trim_end());
        self.text.push('\n');
    }

    fn prose(&mut self, severity: Option<Severity>, indent: usize, line: &str) {
        self.wrapped(indent, line, |style, part| match severity {
            Some(severity) => style.severity(severity, part),
            None => style.dim(part),
        });
    }

    /// What the report says in one sentence, in the colour of its verdict.
    fn answer(&mut self, report: &Report<'_>, number: Option<RunNumber>) {
        let (_, severity) = conclusion(report);
        self.wrapped(0, &answer(report, number), |style, part| style.heading(severity, part));
    }

    fn wrapped(&mut self, indent: usize, line: &str, paint: impl Fn(Style, &str) -> String) {
        for (index, part) in style::wrap(line, self.options.width.saturating_sub(indent)).iter().enumerate() {
            let indent = if index == 0 { indent } else { indent + 2 };
            let painted = paint(self.style, part);
            self.line(&format!("{:indent$}{painted}", ""));
        }
    }

    fn head(&mut self, report: &Report<'_>) {
        let run = report.run;
        self.answer(report, None);
        let name = self.style.severity(Severity::Strong, &shown(&run.name));
        self.line(&name);
        for words in [&report.description, &report.shape].into_iter().filter(|words| !words.is_empty()) {
            self.prose(None, 0, words);
        }
        let when = timestamp(run.started_utc);
        let (version, id) = (&run.tool_version, run.id);
        self.prose(None, 0, &format!("{when} · {} · iostall {version} · run {id}", report.headline));
        if run.interrupted {
            self.prose(Some(Severity::Bad), 0, "INTERRUPTED: what follows holds for the part that ran.");
        }
        self.line("");
        self.facts(&facts::ran_on(report, Detail::Brief));
    }

    fn facts(&mut self, facts: &[Fact]) {
        let label_width = facts.iter().map(|fact| style::width(&fact.label)).max().unwrap_or(0);
        let mut last = "";
        for fact in facts {
            let room = self.options.width.saturating_sub(label_width + 4);
            for (index, part) in style::wrap(&fact.value, room).iter().enumerate() {
                let label = if index == 0 && fact.label != last { &fact.label } else { "" };
                let label = self.style.dim(&style::pad_right(label, label_width));
                let hang = if index == 0 { "" } else { "  " };
                self.line(&format!("  {label}  {hang}{part}"));
            }
            last = &fact.label;
        }
    }

    fn section(&mut self, section: &Section) {
        if let Some(heading) = &section.heading {
            self.line("");
            let heading = self.style.severity(Severity::Strong, heading);
            self.line(&heading);
        }
        for part in section.layout.text() {
            self.part(section, part);
        }
    }

    fn part(&mut self, section: &Section, part: Part) {
        match part {
            Part::Notes => self.notes(section),
            Part::Facts => self.facts(&section.facts),
            Part::Command => self.command(&section.command),
            Part::Results => section.results.iter().for_each(|table| self.table(table)),
            Part::Bars if self.options.bars => self.bars(&section.bars),
            Part::Sparklines => self.sparklines(&section.sparklines),
            Part::Tables => section.tables.iter().for_each(|table| self.titled(table)),
            Part::Details if self.options.percentiles => {
                section.details.iter().for_each(|table| self.titled(table));
            }
            Part::Details | Part::Bars | Part::Tiles | Part::Charts => {}
        }
    }

    /// Notes come under the heading, or after what they are about.
    fn notes(&mut self, section: &Section) {
        let under_heading = section.layout == Layout::Notes;
        if !under_heading && !section.notes.is_empty() {
            self.line("");
        }
        for note in &section.notes {
            self.prose(Some(note.severity), if under_heading { 2 } else { 0 }, &note.text);
        }
    }

    /// A command line that can be pasted as it stands: never broken within a word, and continued with a backslash.
    fn command(&mut self, words: &[String]) {
        if words.is_empty() {
            return;
        }
        self.line("");
        for line in command_lines(words, self.options.width.saturating_sub(2)) {
            self.line(&format!("  {line}"));
        }
    }

    fn titled(&mut self, table: &Table) {
        self.line("");
        let caption = self.style.severity(Severity::Strong, &table.caption);
        self.line(&caption);
        self.draw(table);
    }

    fn table(&mut self, table: &Table) {
        self.line("");
        self.draw(table);
    }

    fn draw(&mut self, table: &Table) {
        let drawn = grid::draw(&table.in_one_unit(), &self.style, self.options.width);
        for line in drawn.lines {
            self.line(&line);
        }
        for note in &table.notes {
            let severity = note.starts_with('?').then_some(Severity::Caution);
            self.prose(severity, 2, note);
        }
        if !drawn.left_out.is_empty() {
            let names = drawn.left_out.join(", ");
            self.prose(None, 2, &format!("Left out at this width: {names}."));
        }
    }

    fn bars(&mut self, all: &[LatencyBars]) {
        let lines = histogram::lines(all, self.style, self.options.width, self.options.unicode);
        if !lines.is_empty() {
            self.line("");
            let caption =
                self.style.severity(Severity::Strong, "Requests by latency, on a logarithmic scale");
            self.line(&caption);
        }
        for line in lines {
            self.line(&line);
        }
    }

    fn sparklines(&mut self, all: &[Sparkline]) {
        let room = self.options.width.saturating_sub(60).clamp(12, 48);
        let names = all.iter().map(|one| style::width(&one.name)).max().unwrap_or(0);
        let mut first = true;
        for one in all {
            let Some(line) = spark::line(&one.latency_ns_p99, room, self.options.unicode) else { continue };
            if std::mem::take(&mut first) {
                self.line("");
                let caption = self.style.severity(Severity::Strong, "p99 latency over time");
                self.line(&caption);
            }
            let name = style::pad_right(&one.name, names);
            self.line(&format!("  {name}  {line}"));
        }
    }

    fn warnings(&mut self, run: &Run) {
        if run.warnings.is_empty() {
            return;
        }
        self.line("");
        let title = format!("{}: read the numbers above with this in mind", warnings::heading(&run.warnings));
        self.wrapped(0, &title, |style, part| style.heading(Severity::Caution, part));
        for warning in warnings::by_rank(&run.warnings) {
            let (mark, severity) = warnings::mark(warning);
            self.prose(Some(severity), 2, &format!("{mark} {}", warnings::in_a_line(warning)));
            if let Some(hint) = &warning.hint {
                self.prose(Some(Severity::Plain), 4, &format!("hint: {}", shown(hint)));
            }
        }
    }
}

/// The words on lines of at most `width`, as far as they can be broken: an option stays with its value.
fn command_lines(words: &[String], width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut line = String::new();
    for (place, word) in words.iter().enumerate() {
        let value = words.get(place + 1).filter(|_| word.starts_with("--"));
        let next = 1 + style::width(word) + value.map_or(0, |value| 1 + style::width(value));
        let is_value = place > 0 && words[place - 1].starts_with("--");
        // Room for the space and the backslash.
        if !line.is_empty() && !is_value && style::width(&line) + next + 2 > width {
            lines.push(format!("{line} \\"));
            line = String::from("  ");
        } else if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    lines.push(line);
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    fn text(run: &Run, options: &TextOptions) -> String {
        let mut out = String::new();
        write_text(&Report::of(run), options, &mut out).unwrap();
        out
    }

    #[test]
    fn the_report_of_two_roles_reads_so() {
        insta::assert_snapshot!(text(&fixture::run(), &TextOptions { width: 120, ..TextOptions::default() }));
    }

    #[test]
    fn percentiles_come_when_asked_for() {
        let options = TextOptions { width: 120, percentiles: true, ..TextOptions::default() };
        insta::assert_snapshot!(text(&fixture::run(), &options));
    }

    #[test]
    fn a_narrow_plain_terminal_gets_fewer_columns_and_ascii_only() {
        let options = TextOptions { width: 72, unicode: false, ..TextOptions::default() };
        let text = text(&fixture::run(), &options);
        assert!(text.is_ascii());
        let table_lines = text.lines().filter(|line| line.contains(" ms") || line.contains(" us"));
        assert!(table_lines.map(str::len).max().unwrap() <= 72);
        insta::assert_snapshot!(text);
    }

    #[test]
    fn colour_changes_nothing_but_colour() {
        let plain = text(&fixture::run(), &TextOptions::default());
        let coloured = text(&fixture::run(), &TextOptions { colour: true, ..TextOptions::default() });
        assert_ne!(plain, coloured);
        assert_eq!(plain, style::without_colour(&coloured));
    }

    #[test]
    fn an_interrupted_run_says_so_at_the_top() {
        let report = text(&fixture::interrupted(), &TextOptions::default());
        assert!(report.starts_with("interrupted · "), "{report}");
        assert!(report.lines().take(7).any(|line| line.starts_with("INTERRUPTED")), "{report}");
    }

    #[test]
    fn a_run_that_measured_nothing_is_shown_without_a_false_number() {
        let report = text(&fixture::empty(), &TextOptions { percentiles: true, ..TextOptions::default() });
        assert!(!report.contains("NaN") && !report.contains("inf "), "{report}");
        insta::assert_snapshot!(report);
    }

    /// A line that was broken at the width of the terminal ended in the middle when it was pasted.
    #[test]
    fn a_command_is_broken_between_its_words_so_that_it_can_be_pasted() {
        let words = ["iostall", "backup", "create", "--to", "'/b 1/x'", "--buffers", "40", "/srv/data"];
        let words = words.map(str::to_owned);
        let expected = ["iostall backup create \\", "  --to '/b 1/x' \\", "  --buffers 40 \\", "  /srv/data"];
        assert_eq!(command_lines(&words, 24), expected);
        assert_eq!(command_lines(&words, 200), [words.join(" ")]);
    }

    #[test]
    fn a_hostile_name_cannot_send_escapes_to_the_terminal() {
        let report = text(&fixture::hostile(), &TextOptions { percentiles: true, ..TextOptions::default() });
        assert!(!report.contains('\u{1b}'), "{report}");
    }
}
