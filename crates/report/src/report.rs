//! The content of a run's report, independent of its output format. Each run kind builds one; text, HTML,
//! Markdown, CSV, JSON and one-line output render it without knowing kinds.

use std::borrow::Cow;

use iostall_model::Run;
use serde::Serialize;

use crate::chart::Chart;
use crate::judgement::Judgement;
use crate::section::{Fact, Section};
use crate::verdicts;

/// Computed only when needed, because it is large or expensive and not in every output.
pub type Lazy<'a, T> = Box<dyn Fn() -> T + 'a>;

pub struct Report<'a> {
    pub run: &'a Run,
    /// The user's description; may be empty.
    pub description: String,
    /// The load in words, if there is no description.
    pub shape: String,
    /// How much was done: `20.0 s measured`.
    pub headline: String,
    pub line: Lazy<'a, String>,
    /// What the result means: the main clause of the sentence that a report begins and ends with.
    pub answer: Lazy<'a, String>,
    /// Whether its numbers are good, slow or bad; `None` where nothing is known to judge them by.
    pub(crate) judgement: Lazy<'a, Option<Judgement>>,
    /// The settings in detail, for formats with enough space.
    pub asked: Option<Asked>,
    /// Whether each target was opened in one way, which is then shown with it.
    pub opens_one_way: bool,
    pub sections: Lazy<'a, Vec<Section>>,
    /// Shown if there is no section.
    pub when_empty: &'static str,
    /// The charts of each section, in order.
    pub charts: Lazy<'a, Vec<Vec<Chart>>>,
    pub series: Lazy<'a, Series<'a>>,
    /// Derived figures for scripts: the `summary` next to the stored run.
    pub summary: Lazy<'a, Box<dyn erased_serde::Serialize + 'a>>,
}

impl Report<'_> {
    /// What was required of the run, after the sections of its kind; `None` if nothing was.
    pub(crate) fn requirements(&self) -> Option<Section> {
        verdicts::section(&self.run.verdicts)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    pub subtitle: String,
    /// Parts with titles, if there are several.
    pub parts: Vec<(Option<String>, Vec<Fact>)>,
}

/// A table of plain values, row by row, because a day-long run has hundreds of thousands.
pub struct Series<'a> {
    pub header: &'static [&'static str],
    /// Each with as many fields as the header.
    pub rows: Box<dyn Iterator<Item = Vec<Field<'a>>> + 'a>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Field<'a> {
    Int(u64),
    /// A number whose unit is in the column's name.
    Float(f64),
    Text(Cow<'a, str>),
    /// Unknown or missing.
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
