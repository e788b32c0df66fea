//! The part of a report that is not of a load: what was found in words, then tables. Sweeps, matrices and comparisons are
//! reported in sections, which text and HTML lay out alike.

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
}

/// Findings and the tables they rest on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// What it is about.
    pub title: String,
    /// The weightiest first.
    pub notes: Vec<Note>,
    /// In reading order.
    pub tables: Vec<Table>,
    /// Tables that text shows only where percentiles were asked for.
    pub details: Vec<Table>,
}
