//! A source, for matching rules.

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RuleSource {
    pub name: String,
    pub tags: Vec<String>,
    /// Time between ticks, nanoseconds.
    pub interval_ns: u64,
}
