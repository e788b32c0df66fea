//! The answer to a question about one window of time.

use jiff::Timestamp;

use super::interval::ns_between;
use super::source_history::SourceHistory;
use super::window::WatchWindow;

/// What happened in one window of time.
#[derive(Clone, Debug)]
pub struct WatchReport {
    /// Beginning.
    pub from: Timestamp,
    /// End.
    pub to: Timestamp,
    /// The numbers.
    pub window: WatchWindow,
    /// The sources, in the order they were read.
    pub sources: Vec<SourceHistory>,
    /// At most so many groups are shown.
    pub top: usize,
}

impl WatchReport {
    /// How long the window is, nanoseconds.
    pub fn length_ns(&self) -> u64 {
        ns_between(self.from, self.to)
    }

    /// The share of the window, 0 to 1, about which anything is known of `source`.
    pub fn coverage(&self, source: &str) -> f64 {
        let covered_ns = self.window.covered_ns.get(source).copied().unwrap_or(0);
        share_of(covered_ns, self.length_ns())
    }
}

/// `part` of `whole`, at most 1: the clock that times samples and the calendar differ a little.
pub fn share_of(part_ns: u64, whole_ns: u64) -> f64 {
    if whole_ns == 0 { 0.0 } else { (part_ns as f64 / whole_ns as f64).min(1.0) }
}
