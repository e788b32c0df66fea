//! The report on one window of time.

use jiff::Timestamp;

use super::interval::ns_between;
use super::source_history::SourceHistory;
use super::window::WatchWindow;

/// The report on one window of time.
#[derive(Clone, Debug)]
pub struct WatchReport {
    pub from: Timestamp,
    pub to: Timestamp,
    pub window: WatchWindow,
    /// In the order they were read.
    pub sources: Vec<SourceHistory>,
    /// Show at most this many groups.
    pub top: usize,
}

impl WatchReport {
    /// Length of the window, nanoseconds.
    pub fn length_ns(&self) -> u64 {
        ns_between(self.from, self.to)
    }

    /// The share of the window, 0 to 1, for which there is data from `source`.
    pub fn coverage(&self, source: &str) -> f64 {
        let covered_ns = self.window.covered_ns.get(source).copied().unwrap_or(0);
        share_of(covered_ns, self.length_ns())
    }
}

/// `part` of `whole`, at most 1: the monotonic clock and the calendar differ slightly.
pub fn share_of(part_ns: u64, whole_ns: u64) -> f64 {
    if whole_ns == 0 { 0.0 } else { (part_ns as f64 / whole_ns as f64).min(1.0) }
}
