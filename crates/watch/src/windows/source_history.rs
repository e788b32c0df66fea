//! Gaps, warnings and tier boundaries that belong to a window.

use iostall_model::{Gap, Warning};
use jiff::Timestamp;
use serde::Serialize;

/// One source in one window.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SourceHistory {
    pub name: String,
    /// Until here there are only daily numbers, because neither hours nor raw samples are kept.
    pub days_until: Option<Timestamp>,
    /// From there until here there are only hourly numbers, because raw samples are no longer kept.
    pub hours_until: Option<Timestamp>,
    /// In order.
    pub gaps: Vec<Gap>,
    /// What the source could not read.
    pub warnings: Vec<Warning>,
}

/// Consecutive gaps with the same reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GapRun {
    /// The first of them, with the number of samples missed by all.
    pub gap: Gap,
    /// When the last of them began.
    pub until: Timestamp,
}

impl SourceHistory {
    /// Whether there are gaps or warnings to show.
    pub fn has_remarks(&self) -> bool {
        let is_coarse = self.days_until.is_some() || self.hours_until.is_some();
        is_coarse || !self.gaps.is_empty() || !self.warnings.is_empty()
    }

    /// The gaps with neighbours of the same reason merged: a server that is down for an hour is one run.
    pub fn gap_runs(&self) -> Vec<GapRun> {
        let mut runs: Vec<GapRun> = Vec::new();
        for gap in &self.gaps {
            match runs.last_mut().filter(|last| last.gap.reason == gap.reason) {
                Some(last) => {
                    last.until = gap.at;
                    last.gap.missed = last.gap.missed.saturating_add(gap.missed);
                }
                None => runs.push(GapRun { gap: gap.clone(), until: gap.at }),
            }
        }
        runs
    }
}
