//! Gaps, warnings and tier boundaries that belong to a window.

use std::collections::BTreeSet;

use iostall_model::{Gap, NewestBackup, Note, Warning, WarningCode};
use jiff::Timestamp;
use serde::Serialize;

use super::interval::{Grain, Interval};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SourceHistory {
    pub name: String,
    /// Until here there are only daily numbers, because neither hours nor raw samples are kept.
    pub days_until: Option<Timestamp>,
    /// From there until here there are only hourly numbers, because raw samples are no longer kept.
    pub hours_until: Option<Timestamp>,
    pub gaps: Vec<Gap>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<Note>,
    /// Databases that could not be read although their server answered.
    pub unread: Vec<Unread>,
    pub warnings: Vec<Warning>,
    /// The newest backups that the server knows of, where it tells.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backups: Option<BackupAges>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BackupAges {
    /// When the last sample of the window was taken, to which ages refer.
    pub at: Timestamp,
    pub newest: Vec<NewestBackup>,
}

/// A database that could not be read in some samples.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Unread {
    pub database: String,
    pub missed: u64,
    pub first: Timestamp,
    pub last: Timestamp,
}

/// Consecutive gaps with the same reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GapRun {
    /// The first of them, with the number of samples missed by all.
    pub gap: Gap,
    pub until: Timestamp,
}

impl SourceHistory {
    pub fn has_remarks(&self) -> bool {
        let is_coarse = self.days_until.is_some() || self.hours_until.is_some();
        is_coarse || !self.gaps.is_empty() || !self.unread.is_empty() || !self.warnings.is_empty()
    }

    pub(crate) fn note_unread(&mut self, interval: &Interval) {
        let stale = interval.rows.iter().filter(|(row, _)| row.is_stale());
        let names: BTreeSet<&str> = stale.filter_map(|(row, _)| row.subject.scope.database()).collect();
        for name in names {
            if let Some(unread) = self.unread.iter_mut().find(|unread| unread.database == name) {
                unread.missed += 1;
                unread.last = interval.end;
            } else {
                let (database, first) = (name.to_owned(), interval.end);
                self.unread.push(Unread { database, missed: 1, first, last: first });
            }
        }
    }

    pub(crate) fn note_backups(&mut self, interval: &Interval) {
        let newest: Vec<_> = interval.rows.iter().filter_map(|(row, _)| NewestBackup::of_row(row)).collect();
        if interval.grain == Grain::Samples && !newest.is_empty() {
            self.backups = Some(BackupAges { at: interval.end, newest });
        }
    }

    pub fn why_unread(&self, unread: &Unread) -> Option<&Warning> {
        let is_it = |warning: &&Warning| {
            warning.code == WarningCode::NotRead && warning.subject.as_ref() == Some(&unread.database)
        };
        self.warnings.iter().rev().find(is_it)
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

#[cfg(test)]
mod tests {
    use iostall_model::{Change, Counter};

    use super::*;
    use crate::windows::fixture;

    /// A source that could not be read at all in a window was left out of its report, and nobody saw why.
    #[test]
    fn every_gap_warning_and_boundary_is_worth_a_remark() {
        let at: Timestamp = "2026-11-21T10:00:00Z".parse().unwrap();
        let quiet = SourceHistory { name: "s".into(), ..SourceHistory::default() };
        assert!(!quiet.has_remarks());
        let gap = Gap { at, missed: 1, reason: "timed out".into() };
        let unread = Unread { database: "shop".into(), missed: 1, first: at, last: at };
        let warning = Warning::new(WarningCode::MissingGrant, "a grant is missing");
        for remarkable in [
            SourceHistory { gaps: vec![gap], ..quiet.clone() },
            SourceHistory { unread: vec![unread], ..quiet.clone() },
            SourceHistory { warnings: vec![warning], ..quiet.clone() },
            SourceHistory { days_until: Some(at), ..quiet.clone() },
            SourceHistory { hours_until: Some(at), ..quiet.clone() },
        ] {
            assert!(remarkable.has_remarks(), "{remarkable:?}");
        }
    }

    #[test]
    fn a_database_that_could_not_be_read_is_noted_with_how_often_and_when() {
        let minute = |minute: i64| Timestamp::from_second(minute * 60).unwrap();
        let mut about = SourceHistory::default();
        for end in 1..=4 {
            let mut row = fixture::row("t.ibd", None);
            // In the third minute it was read.
            if end != 3 {
                row.counters.set(Counter::ReadClockNs, 7);
            }
            let rows = vec![(row.clone(), Change::NotRead), (row, Change::NotRead)];
            about.note_unread(&Interval {
                start: minute(end - 1),
                end: minute(end),
                rows,
                grain: Grain::Samples,
            });
        }
        let unread = Unread { database: "shop".into(), missed: 3, first: minute(1), last: minute(4) };
        assert_eq!(about.unread, [unread]);
    }
}
