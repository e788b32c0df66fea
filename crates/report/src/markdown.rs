//! A report as Markdown (with GitHub and GitLab tables), for pasting into a ticket.

use std::fmt::{self, Write};

use iostall_model::Run;
use iostall_session::output::MARKDOWN_HEADING;

use crate::answer::answer;
use crate::facts::{self, Detail};
use crate::format::shown;
use crate::report::{Asked, Report};
use crate::section::{Fact, Note, Part, Section};
use crate::table::{Severity, Table, TableCell, TableLine};
use crate::warnings;
use crate::zone::timestamp;

pub fn write_markdown(report: &Report<'_>, out: &mut impl Write) -> fmt::Result {
    head(report, out)?;
    warnings(report.run, out)?;
    let sections = (report.sections)();
    if sections.is_empty() {
        writeln!(out, "\n{}", report.when_empty)?;
    }
    sections.iter().chain(&report.requirements()).try_for_each(|one| section(one, out))?;
    if let Some(all) = &report.asked {
        asked(all, out)?;
    }
    writeln!(out, "\n## What it ran on\n")?;
    facts(&facts::ran_on(report, Detail::Full), out)?;
    writeln!(out, "- **command line**: {}", code(&facts::command_line(report.run)))?;
    writeln!(out, "\n**{}**", escaped(&answer(report, None)))
}

pub fn write_sections_markdown(title: &str, sections: &[Section], out: &mut impl Write) -> fmt::Result {
    writeln!(out, "{MARKDOWN_HEADING}{}", escaped(&shown(title)))?;
    sections.iter().try_for_each(|one| section(one, out))
}

fn head(report: &Report<'_>, out: &mut impl Write) -> fmt::Result {
    let run = report.run;
    writeln!(out, "{MARKDOWN_HEADING}{}: {}", run.body.kind(), escaped(&shown(&run.name)))?;
    writeln!(out, "\n**{}**", escaped(&answer(report, None)))?;
    for words in [&report.description, &report.shape].into_iter().filter(|words| !words.is_empty()) {
        writeln!(out, "\n{}", escaped(words))?;
    }
    let when = timestamp(run.started_utc);
    let said = escaped(&report.headline);
    writeln!(out, "\n{when} · {said} · iostall {} · run {}", escaped(&run.tool_version), run.id)?;
    if run.interrupted {
        writeln!(out, "\n**Interrupted: what follows holds for the part that ran.**")?;
    }
    Ok(())
}

/// First, as on a page: a reader of the ticket has not seen the terminal.
fn warnings(run: &Run, out: &mut impl Write) -> fmt::Result {
    if run.warnings.is_empty() {
        return Ok(());
    }
    let title = warnings::heading(&run.warnings);
    writeln!(out, "\n## {title}: read the numbers with this in mind\n")?;
    for warning in warnings::by_rank(&run.warnings) {
        let (title, message) = (warnings::title(warning), shown(&warning.message));
        write!(out, "- **{}**: {}", escaped(&title), escaped(&message))?;
        if let Some(hint) = &warning.hint {
            write!(out, " What to do: {}", escaped(&shown(hint)))?;
        }
        writeln!(out)?;
    }
    Ok(())
}

fn section(section: &Section, out: &mut impl Write) -> fmt::Result {
    writeln!(out, "\n## {}", escaped(&section.title))?;
    if !section.subtitle.is_empty() {
        writeln!(out, "\n{}", escaped(&section.subtitle))?;
    }
    for part in section.layout.page() {
        match part {
            Part::Notes => notes(&section.notes, out)?,
            Part::Results => section.results.iter().try_for_each(|one| table(one, out))?,
            Part::Tables => section.tables.iter().try_for_each(|one| table(one, out))?,
            Part::Details => section.details.iter().try_for_each(|one| table(one, out))?,
            Part::Facts if !section.facts.is_empty() => {
                writeln!(out)?;
                facts(&section.facts, out)?;
            }
            Part::Command if !section.command.is_empty() => {
                writeln!(out, "\n{}", code(&section.command.join(" ")))?;
            }
            // Tiles repeat what the tables contain, and there are no drawings.
            Part::Facts | Part::Tiles | Part::Bars | Part::Sparklines | Part::Charts | Part::Command => {}
        }
    }
    Ok(())
}

fn notes(notes: &[Note], out: &mut impl Write) -> fmt::Result {
    if !notes.is_empty() {
        writeln!(out)?;
    }
    notes.iter().try_for_each(|note| writeln!(out, "- {}", emphasised(note.severity, &note.text)))
}

fn asked(asked: &Asked, out: &mut impl Write) -> fmt::Result {
    writeln!(out, "\n## What was asked\n\n{}", escaped(&asked.subtitle))?;
    for (title, part) in &asked.parts {
        if let Some(title) = title {
            writeln!(out, "\n### {}", escaped(title))?;
        }
        writeln!(out)?;
        facts(part, out)?;
    }
    Ok(())
}

fn facts(facts: &[Fact], out: &mut impl Write) -> fmt::Result {
    facts
        .iter()
        .try_for_each(|fact| writeln!(out, "- **{}**: {}", escaped(&fact.label), escaped(&fact.value)))
}

fn table(table: &Table, out: &mut impl Write) -> fmt::Result {
    let table = &table.in_one_unit();
    writeln!(out, "\n### {}\n", escaped(&table.caption))?;
    let heads = table.columns.iter().map(|column| format!(" {} |", escaped(&column.name)));
    writeln!(out, "|{}", heads.collect::<String>())?;
    let rules = table.columns.iter().map(|column| if column.right { " ---: |" } else { " --- |" });
    writeln!(out, "|{}", rules.collect::<String>())?;
    table.lines.iter().try_for_each(|line| writeln!(out, "|{}", row(table.columns.len(), line)))?;
    if !table.notes.is_empty() {
        writeln!(out)?;
    }
    table.notes.iter().try_for_each(|note| writeln!(out, "- {}", escaped(note)))
}

fn row(columns: usize, line: &TableLine) -> String {
    match line {
        TableLine::Cells(cells) => cells.iter().map(cell).collect(),
        // Markdown has no cells across columns, so the first one gets the text.
        TableLine::Group { title, note } => {
            let note = if note.is_empty() { String::new() } else { format!(" {}", escaped(note)) };
            format!(" **{}**{note} |{}", escaped(title), "  |".repeat(columns - 1))
        }
    }
}

fn cell(cell: &TableCell) -> String {
    format!(" {} |", emphasised(cell.severity, &cell.text))
}

fn emphasised(severity: Severity, text: &str) -> String {
    let text = escaped(text);
    match severity {
        Severity::Strong | Severity::Bad if !text.is_empty() => format!("**{text}**"),
        Severity::Plain | Severity::Caution | Severity::Good | Severity::Strong | Severity::Bad => text,
    }
}

/// Text escaped for Markdown and HTML, because file names may come from anywhere.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for (index, character) in text.chars().enumerate() {
        match character {
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' => out.extend(['\\', character]),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            // As an entity between name and domain, so that no ticket system makes a link of it.
            '@' => out.push_str("&#64;"),
            '#' => out.push_str("&#35;"),
            '+' | '-' | '=' if index == 0 && text.len() > 1 => out.extend(['\\', character]),
            other => out.push(other),
        }
    }
    out
}

/// Text between more backticks than it contains in a row.
fn code(text: &str) -> String {
    let longest = text.split(|character| character != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    format!("{fence} {} {fence}", text.replace(char::is_control, " "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    fn written(run: &Run) -> String {
        let mut out = String::new();
        write_markdown(&Report::of(run), &mut out).unwrap();
        out
    }

    /// A file named `<img src=…>` or `|` must not load a picture or break a table in a pasted report.
    #[test]
    fn no_name_or_message_becomes_markup() {
        let text = written(&fixture::hostile());
        let (text, command_line) = text.rsplit_once("- **command line**: ").unwrap();
        let (command_line, _) = command_line.split_once("\n\n").unwrap();
        assert!(!text.contains("<script") && !text.contains("<b>") && !text.contains('\u{1b}'), "{text}");
        assert!(command_line.starts_with("` ") && command_line.ends_with(" `"), "{command_line}");
        assert_eq!(escaped("a|b*c_[d](e)`f`@g #1 <h>"), r"a\|b\*c\_\[d\](e)\`f\`&#64;g &#35;1 &lt;h&gt;");
        assert_eq!(code("a `` b"), "``` a `` b ```");
    }

    #[test]
    fn every_row_of_a_table_has_as_many_cells_as_its_head() {
        for run in [fixture::run(), fixture::sweep(), fixture::matrix(), fixture::write(), fixture::hostile()]
        {
            let text = written(&run);
            let mut width = 0;
            for line in text.lines() {
                let cells = line.replace(r"\|", "").matches('|').count();
                match line.starts_with('|') {
                    true if width == 0 => width = cells,
                    true => assert_eq!(cells, width, "{line}"),
                    false => width = 0,
                }
            }
        }
    }

    #[test]
    fn a_figure_of_every_table_and_the_warnings_are_in_the_document() {
        let text = written(&fixture::run());
        for words in [
            "# iostall load: oltp",
            "1 warning invalidates the numbers, 1 caution",
            "1.78 ms",
            "Latency percentiles of data",
            "## What was asked",
        ] {
            assert!(text.contains(words), "{words}: {text}");
        }
    }
}
