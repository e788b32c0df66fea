//! A source as rules see it.

/// What rules know of a source.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RuleSource {
    /// Its name.
    pub name: String,
    /// What it was said to belong to.
    pub tags: Vec<String>,
    /// From tick to tick, nanoseconds.
    pub interval_ns: u64,
}
