//! The groups that the rows of a window are summed into.

use std::collections::BTreeMap;

use iostall_model::{Kind, Level, ResetReason, Row, StallHistogram, Totals};
use jiff::Timestamp;
use serde::Serialize;

use super::interval::{Grain, Interval, ns_between};
use super::volumes::OnVolumes;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct GroupKey {
    pub source: String,
    pub kind: Kind,
    pub name: String,
}

/// The group of `row`; `None` if it does not count at this level.
pub fn key_of(level: Level, source: &str, row: &Row) -> Option<GroupKey> {
    let name = level.group(&row.subject)?;
    Some(GroupKey { source: source.to_owned(), kind: level.kind(row.subject.kind), name })
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Group {
    pub totals: Totals,
    pub stall_ns_max: Option<f64>,
    /// How long the stall per I/O was above the threshold, nanoseconds.
    pub over_ns: u64,
    /// The longest time above the threshold without a break, nanoseconds.
    pub over_ns_longest: u64,
    /// Reads and writes by the mean stall of their interval.
    pub ops_by_stall: StallHistogram,
    /// Row intervals lost to resets, by reason.
    pub resets: BTreeMap<ResetReason, u64>,
    /// Rows that appeared between two samples, and did an unknown amount before the first one that has them.
    pub began: u64,
    pub on_volumes: OnVolumes,
    /// Size on disk at the end of the first interval and of the last, bytes, where raw samples tell it.
    pub size_bytes: Option<(u64, u64)>,
    pub unread: u64,
    pub(super) streak_ns: u64,
    /// Its rows have been counted up to this time.
    counted_until: Option<Timestamp>,
}

impl Group {
    pub(super) fn then(&mut self, totals: &Totals, threshold_ns: Option<u64>, interval: &Interval) {
        let covered_ns = self.newly_covered_ns(totals, interval);
        self.totals.then(&Totals { covered_ns, ..*totals });
        let stall_ns = totals.io_stall_ns_mean();
        if let Some(stall_ns) = stall_ns {
            self.stall_ns_max = Some(self.stall_ns_max.map_or(stall_ns, |max| max.max(stall_ns)));
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a quotient of two u64 is not negative, and float casts saturate"
            )]
            self.ops_by_stall.record(stall_ns as u64, totals.timed_ops());
        }
        let is_over = threshold_ns.zip(stall_ns).is_some_and(|(threshold, stall)| stall > threshold as f64);
        if is_over {
            self.over_ns += covered_ns;
            self.streak_ns += covered_ns;
            self.over_ns_longest = self.over_ns_longest.max(self.streak_ns);
        } else if covered_ns > 0 {
            self.streak_ns = 0;
        }
    }

    /// Time covered by `totals` that was not covered before. Rows that are read late cover a time in which
    /// other rows of the group may already have been counted.
    fn newly_covered_ns(&mut self, totals: &Totals, interval: &Interval) -> u64 {
        let counted_until = self.counted_until.replace(interval.end);
        match counted_until.filter(|until| interval.grain == Grain::Late && *until > interval.start) {
            Some(until) => totals.covered_ns.min(ns_between(until, interval.end)),
            None => totals.covered_ns,
        }
    }
}
