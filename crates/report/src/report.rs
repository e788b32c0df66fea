//! What a run's report says, before any output lays it out. Each kind of run builds one; text, page, Markdown, CSV, JSON and
//! lines render it, and know no kinds.

use std::borrow::Cow;

use iostall_model::Run;
use serde::Serialize;

use crate::chart::Chart;
use crate::fact::Fact;
use crate::section::Section;

/// What is large, or dear to make, and not in every output: made when it is asked for.
pub type Lazy<'a, T> = Box<dyn Fn() -> T + 'a>;

/// The report of one run.
pub struct Report<'a> {
    /// The run: its head, its machine, its warnings.
    pub run: &'a Run,
    /// What the user says it is about; may be empty.
    pub description: String,
    /// What was asked, in words, where there is no description.
    pub shape: String,
    /// How much was done: `20.0 s measured`.
    pub headline: String,
    /// What was found, on one line.
    pub line: Lazy<'a, String>,
    /// The parts of what was asked, for the documents that have room for them.
    pub asked: Option<Asked>,
    /// Whether each target was opened in one way, which then stands beside it.
    pub opens_one_way: bool,
    /// What was found.
    pub sections: Lazy<'a, Vec<Section>>,
    /// Said where there is no section.
    pub when_empty: &'static str,
    /// The charts of each section, in their order.
    pub charts: Lazy<'a, Vec<Vec<Chart>>>,
    /// The table for spreadsheets.
    pub series: Lazy<'a, Series<'a>>,
    /// What is derived, for scripts: the `summary` beside the stored run.
    pub summary: Lazy<'a, Box<dyn erased_serde::Serialize + 'a>>,
}

/// What was asked, part by part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// Beside the heading.
    pub subtitle: String,
    /// Each with its title, where there are several.
    pub parts: Vec<(Option<String>, Vec<Fact>)>,
}

/// A table of plain values, a row at a time: a run of a day has hundreds of thousands.
pub struct Series<'a> {
    /// Names of the columns.
    pub header: &'static [&'static str],
    /// As many fields each as the header.
    pub rows: Box<dyn Iterator<Item = Vec<Field<'a>>> + 'a>,
}

/// One value of a series.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Field<'a> {
    /// A count.
    Int(u64),
    /// A number with its unit in the column's name.
    Float(f64),
    /// Words.
    Text(Cow<'a, str>),
    /// Not known, or nothing.
    Empty,
}

impl From<u64> for Field<'_> {
    fn from(value: u64) -> Self {
        Self::Int(value)
    }
}

impl From<f64> for Field<'_> {
    fn from(value: f64) -> Self {
        Self::Float(value)
    }
}

impl<'a> From<&'a str> for Field<'a> {
    fn from(value: &'a str) -> Self {
        Self::Text(value.into())
    }
}

impl From<String> for Field<'_> {
    fn from(value: String) -> Self {
        Self::Text(value.into())
    }
}

impl<T: Into<Self>> From<Option<T>> for Field<'_> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Empty, Into::into)
    }
}
