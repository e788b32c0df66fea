//! The markup of a section.

use maud::{Markup, html};

use super::shell::{figure, list, severity_class, table};
use crate::chart::Chart;
use crate::section::{Layout, Part, Section, Tile};
use crate::table::Severity;

pub(super) fn section_markup(number: usize, section: &Section, drawn: &[Chart]) -> Markup {
    let anchor = match section.layout {
        Layout::Notes => format!("chapter-{number}"),
        Layout::Figures | Layout::Facts => format!("span-{number}"),
    };
    html! {
        section aria-labelledby=(anchor) {
            h2 id=(anchor) {
                (section.title) @if !section.subtitle.is_empty() { small { (section.subtitle) } }
            }
            @for part in section.layout.page() { (part_markup(number, section, part, drawn)) }
        }
    }
}

fn part_markup(number: usize, section: &Section, part: Part, drawn: &[Chart]) -> Markup {
    html! {
        @match part {
            Part::Tiles => @if !section.tiles.is_empty() {
                dl.tiles { @for one in &section.tiles { (tile(one)) } }
            }
            Part::Notes => (notes(section)),
            Part::Results => @if let Some(one) = &section.results { (table(one)) }
            Part::Charts => @if drawn.is_empty() {
                @if !section.when_no_charts.is_empty() { p.note { (section.when_no_charts) } }
            } @else {
                div.charts { @for chart in drawn { (figure(number, chart)) } }
            }
            Part::Tables => @for one in &section.tables { (table(one)) }
            Part::Details => @for one in &section.details { (table(one)) }
            Part::Facts => @if !section.facts.is_empty() { (list(&section.facts)) }
            Part::Command => @if !section.command.is_empty() { pre { (section.command.join(" ")) } }
            Part::Bars | Part::Sparklines => {}
        }
    }
}

fn notes(section: &Section) -> Markup {
    let in_list = section.layout == Layout::Notes;
    html! {
        @if in_list && !section.notes.is_empty() {
            ul.findings {
                @for note in &section.notes { li class=[severity_class(note.severity)] { (note.text) } }
            }
        }
        @if !in_list {
            @for note in &section.notes { p class=[severity_class(note.severity)] { (note.text) } }
        }
    }
}

fn tile(tile: &Tile) -> Markup {
    let class = match tile.severity {
        Severity::Plain | Severity::Strong => "plain",
        Severity::Caution => "doubt",
        Severity::Bad => "bad",
        Severity::Good => "good",
    };
    html! {
        div.tile.(class) {
            dt { (tile.label) }
            dd { (tile.value) @if !tile.under.is_empty() { small { (tile.under) } } }
        }
    }
}
