//! What belongs to a window beside its numbers: gaps, warnings, and how far back raw samples reach.

use iostall_model::{Gap, Warning};
use jiff::Timestamp;
use serde::Serialize;

/// One source in one window.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SourceHistory {
    /// Its name.
    pub name: String,
    /// Up to here the numbers come day by day, because neither hours nor raw samples are kept any more.
    pub days_until: Option<Timestamp>,
    /// Up to here, from there on, they come hour by hour, because raw samples are no longer kept.
    pub hours_until: Option<Timestamp>,
    /// Missed samples, in order.
    pub gaps: Vec<Gap>,
    /// What the source could not tell.
    pub warnings: Vec<Warning>,
}

/// Gaps one after the other that have the same reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GapRun {
    /// The first of them, with the samples that all of them missed.
    pub gap: Gap,
    /// When the last of them began.
    pub until: Timestamp,
}

impl SourceHistory {
    /// Whether there is anything to say beside the numbers.
    pub fn has_remarks(&self) -> bool {
        let is_coarse = self.days_until.is_some() || self.hours_until.is_some();
        is_coarse || !self.gaps.is_empty() || !self.warnings.is_empty()
    }

    /// The gaps with neighbours of one reason joined: a server that is down for an hour is one run.
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
