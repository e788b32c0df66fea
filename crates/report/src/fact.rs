//! A label and a value, for the facts in a report.

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
