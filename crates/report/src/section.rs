//! A section of a report: notes, tables and charts, with the same layout in every format.

use crate::judgement::Limits;
use crate::table::{Severity, Table};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    pub severity: Severity,
    /// Unescaped.
    pub text: String,
}

impl Note {
    pub fn plain(text: impl Into<String>) -> Self {
        Self { severity: Severity::Plain, text: text.into() }
    }

    pub fn strong(text: impl Into<String>) -> Self {
        Self { severity: Severity::Strong, text: text.into() }
    }

    pub fn caution(text: impl Into<String>) -> Self {
        Self { severity: Severity::Caution, text: text.into() }
    }

    pub fn bad(text: impl Into<String>) -> Self {
        Self { severity: Severity::Bad, text: text.into() }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tile {
    pub label: String,
    /// The number with its unit.
    pub value: String,
    /// What is needed to interpret it; may be empty.
    pub under: String,
    pub severity: Severity,
}

impl Tile {
    pub(crate) fn plain(
        label: impl Into<String>,
        value: impl Into<String>,
        under: impl Into<String>,
    ) -> Self {
        let (label, value, under) = (label.into(), value.into(), under.into());
        Self { label, value, under, severity: Severity::Plain }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sparkline {
    pub name: String,
    /// The 99th percentile of each interval, nanoseconds; `None` if nothing completed.
    pub latency_ns_p99: Vec<Option<u64>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LatencyBars {
    pub name: String,
    /// Smallest and largest latency of each bucket, nanoseconds, and its requests; ascending.
    pub buckets: Vec<(u64, u64, u64)>,
    /// What the latencies are judged by.
    pub(crate) limits: Option<Limits>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Layout {
    /// Sentences first, then the evidence.
    #[default]
    Notes,
    /// Figures first, then how they were obtained.
    Figures,
    /// The method first, then the results.
    Facts,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    Tiles,
    Notes,
    Results,
    Bars,
    Sparklines,
    Charts,
    Tables,
    Details,
    Facts,
    Command,
}

impl Layout {
    /// The order of the parts in text, which has neither tiles nor charts. A command comes last, where the eye ends up.
    pub fn text(self) -> [Part; 8] {
        use Part::{Bars, Command, Details, Facts, Notes, Results, Sparklines, Tables};
        match self {
            Self::Notes => [Notes, Results, Bars, Sparklines, Tables, Details, Facts, Command],
            Self::Figures => [Results, Bars, Sparklines, Details, Tables, Notes, Facts, Command],
            Self::Facts => [Facts, Results, Bars, Sparklines, Tables, Details, Notes, Command],
        }
    }

    /// The order of the parts on a page, with charts instead of sparklines.
    pub fn page(self) -> [Part; 8] {
        use Part::{Charts, Command, Details, Facts, Notes, Results, Tables, Tiles};
        match self {
            Self::Notes => [Tiles, Notes, Command, Results, Charts, Tables, Details, Facts],
            Self::Figures => [Tiles, Results, Charts, Tables, Details, Notes, Facts, Command],
            Self::Facts => [Tiles, Notes, Results, Tables, Details, Charts, Facts, Command],
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Section {
    pub title: String,
    pub subtitle: String,
    /// Its heading in text; `None` for a single section that needs none.
    pub heading: Option<String>,
    pub layout: Layout,
    pub tiles: Vec<Tile>,
    pub notes: Vec<Note>,
    pub results: Option<Table>,
    /// Latencies at a glance, at most one line for each role.
    pub bars: Vec<LatencyBars>,
    pub sparklines: Vec<Sparkline>,
    pub tables: Vec<Table>,
    /// Tables that text shows only if percentiles are requested.
    pub details: Vec<Table>,
    pub facts: Vec<Fact>,
    /// A command line to be pasted: its words, quoted for a shell.
    pub command: Vec<String>,
    /// Shown on a page instead of charts; may be empty.
    pub when_no_charts: &'static str,
}

impl Section {
    pub fn titled(title: impl Into<String>) -> Self {
        let title = title.into();
        Self { heading: Some(title.clone()), title, ..Self::default() }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact {
    pub label: String,
    /// Unescaped, on one line.
    pub value: String,
}

impl Fact {
    pub(crate) fn new(label: impl Into<String>, value: impl Into<String>) -> Self {
        Self { label: label.into(), value: value.into() }
    }
}
