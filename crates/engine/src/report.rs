//! Which features an engine got from the kernel.

use iostall_measure::Unavailable;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EngineReport {
    /// `io_uring`, `psync`, `null` or `sim`.
    pub name: &'static str,
    pub features: Vec<String>,
    /// Features that were requested and are unavailable, each with its cause.
    pub refused: Vec<Unavailable>,
}
