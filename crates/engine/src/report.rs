//! What an engine was granted.

use iostall_measure::Unavailable;

/// What an engine was granted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EngineReport {
    /// `io_uring`, `psync`, `null` or `sim`.
    pub name: &'static str,
    /// Features in use.
    pub features: Vec<String>,
    /// Features asked for and refused, each with its cause.
    pub refused: Vec<Unavailable>,
}
