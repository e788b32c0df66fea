//! A part of a report: what was found in words, in tables and in charts. Outputs lay sections out alike.

use crate::fact::Fact;
use crate::table::{Severity, Table};

/// One sentence about what was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// How it stands out.
    pub severity: Severity,
    /// The sentence, unescaped.
    pub text: String,
}

impl Note {
    /// An ordinary sentence.
    pub fn plain(text: impl Into<String>) -> Self {
        Self { severity: Severity::Plain, text: text.into() }
    }

    /// What the reader came for.
    pub fn strong(text: impl Into<String>) -> Self {
        Self { severity: Severity::Strong, text: text.into() }
    }

    /// Something to doubt.
    pub fn caution(text: impl Into<String>) -> Self {
        Self { severity: Severity::Caution, text: text.into() }
    }

    /// Something that went wrong.
    pub fn bad(text: impl Into<String>) -> Self {
        Self { severity: Severity::Bad, text: text.into() }
    }
}

/// One large number on a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tile {
    /// What it is.
    pub label: String,
    /// The number with its unit.
    pub value: String,
    /// What must be known to read it; may be empty.
    pub under: String,
    /// How it stands out.
    pub severity: Severity,
}

/// A latency over time, drawn small.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sparkline {
    /// Whose.
    pub name: String,
    /// The 99th percentile of each interval, nanoseconds; `None` where nothing completed.
    pub latency_ns_p99: Vec<Option<u64>>,
}

/// What a section's reader looks for first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Layout {
    /// Sentences, then what they rest on.
    #[default]
    Notes,
    /// Figures, then how they came about.
    Figures,
    /// How it was done, then how it went.
    Facts,
}

/// The parts of a section, of which any may be empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// [`Section::tiles`].
    Tiles,
    /// [`Section::notes`].
    Notes,
    /// [`Section::results`].
    Results,
    /// [`Section::sparklines`].
    Sparklines,
    /// The section's charts.
    Charts,
    /// [`Section::tables`].
    Tables,
    /// [`Section::details`].
    Details,
    /// [`Section::facts`].
    Facts,
}

impl Layout {
    /// The order of the parts in a text, which has neither tiles nor charts.
    pub fn text(self) -> [Part; 6] {
        use Part::{Details, Facts, Notes, Results, Sparklines, Tables};
        match self {
            Self::Notes => [Notes, Results, Sparklines, Tables, Details, Facts],
            Self::Figures => [Results, Sparklines, Details, Tables, Notes, Facts],
            Self::Facts => [Facts, Results, Sparklines, Tables, Details, Notes],
        }
    }

    /// The order of the parts on a page, whose charts take the place of sparklines.
    pub fn page(self) -> [Part; 7] {
        use Part::{Charts, Details, Facts, Notes, Results, Tables, Tiles};
        match self {
            Self::Notes => [Tiles, Notes, Results, Charts, Tables, Details, Facts],
            Self::Figures => [Tiles, Results, Charts, Tables, Details, Notes, Facts],
            Self::Facts => [Tiles, Notes, Results, Tables, Details, Charts, Facts],
        }
    }
}

/// One part of a report.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Section {
    /// What it is about.
    pub title: String,
    /// Beside the title.
    pub subtitle: String,
    /// Its heading in a text; `None` where the only section needs none.
    pub heading: Option<String>,
    /// How it is laid out.
    pub layout: Layout,
    /// The largest numbers of a page.
    pub tiles: Vec<Tile>,
    /// The weightiest first.
    pub notes: Vec<Note>,
    /// The table that is the answer, and needs no caption.
    pub results: Option<Table>,
    /// How it went, at a glance.
    pub sparklines: Vec<Sparkline>,
    /// In reading order.
    pub tables: Vec<Table>,
    /// Tables that text shows only where percentiles were asked for.
    pub details: Vec<Table>,
    /// How it was done.
    pub facts: Vec<Fact>,
    /// Said where a page would have charts; may be empty.
    pub when_no_charts: &'static str,
}

impl Section {
    /// An empty section called `title`.
    pub fn titled(title: impl Into<String>) -> Self {
        let title = title.into();
        Self { heading: Some(title.clone()), title, ..Self::default() }
    }
}
