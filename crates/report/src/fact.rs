//! A label and a value: what reports say of how something was done.

/// A label and what stands beside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact {
    /// What it is about.
    pub label: String,
    /// What is known; unescaped, on one line.
    pub value: String,
}

impl Fact {
    /// `value` is unescaped.
    pub(crate) fn new(label: impl Into<String>, value: impl Into<String>) -> Self {
        Self { label: label.into(), value: value.into() }
    }
}
