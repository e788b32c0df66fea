//! A page of sections that belong to no single run, such as a comparison.

use maud::{Markup, html};

use super::section::section_markup;
use super::shell::document;
use crate::chart::Chart;
use crate::format::shown;
use crate::section::Section;

/// The page; each section with the charts of the same number.
pub(super) fn page(kind: &str, title: &str, sections: &[Section], drawn: &[Vec<Chart>]) -> Markup {
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
