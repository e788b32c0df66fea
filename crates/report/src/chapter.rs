//! The part of a report that is not of a load: what was found in words, then tables. Sweeps, matrices and comparisons are
//! reported in chapters, which text and HTML lay out alike.

use crate::table::{Table, Tone};

/// One sentence about what was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// How it stands out.
    pub tone: Tone,
    /// The sentence, unescaped.
    pub text: String,
}

impl Finding {
    /// An ordinary sentence.
    pub fn plain(text: impl Into<String>) -> Self {
        Self { tone: Tone::Plain, text: text.into() }
    }

    /// What the reader came for.
    pub fn strong(text: impl Into<String>) -> Self {
        Self { tone: Tone::Strong, text: text.into() }
    }

    /// Something to doubt.
    pub fn doubt(text: impl Into<String>) -> Self {
        Self { tone: Tone::Doubt, text: text.into() }
    }
}

/// Findings and the tables they rest on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chapter {
    /// What it is about.
    pub title: String,
    /// The weightiest first.
    pub findings: Vec<Finding>,
    /// In reading order.
    pub tables: Vec<Table>,
    /// Tables that text shows only where percentiles were asked for.
    pub details: Vec<Table>,
}
