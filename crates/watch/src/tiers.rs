//! The intervals of a source in a window, from roll-ups and raw samples without overlap.

use iostall_model::{Change, Counters, Row, Step, Tier};
use iostall_store::{History, RollupRow, Seams, SourceId};
use jiff::{SignedDuration, Timestamp};

use crate::error::WatchError;
use crate::windows::{Grain, Interval, SourceHistory};

/// Up to where a window was read from days and from hours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tiers {
    days_until: Option<Timestamp>,
    hours_until: Option<Timestamp>,
}

pub(crate) struct SourceWindow<'a> {
    pub(crate) history: &'a dyn History,
    pub(crate) source: SourceId,
    pub(crate) from: Timestamp,
    pub(crate) to: Timestamp,
}

impl SourceWindow<'_> {
    /// Passes intervals to `each` in order: days where hours are no longer kept, hours where raw samples are
    /// no longer kept, then sample to sample. Intervals across an edge of the window are cut there.
    pub(crate) fn each_interval(&self, each: &mut dyn FnMut(Interval)) -> Result<Tiers, WatchError> {
        let (mut tiers, mut raw_from) = (Tiers::default(), self.from);
        if let Some(seams) = self.history.seams(self.source)? {
            let Seams { days_until, hours_until } = seams;
            tiers.days_until = self.each_rollup(Tier::Day, self.from, days_until, each)?;
            tiers.hours_until = self.each_rollup(Tier::Hour, self.from.max(days_until), hours_until, each)?;
            raw_from = raw_from.max(hours_until);
        }
        if raw_from < self.to {
            let mut part = |step: Step| {
                let all = Interval::all_of(&step).into_iter();
                all.filter_map(|interval| interval.within(raw_from, self.to)).for_each(&mut *each);
            };
            self.history.intervals(self.source, raw_from, self.to, &mut part)?;
        }
        Ok(tiers)
    }

    /// The roll-ups between `from` and `until` within the window; the last one contains nothing from `until`
    /// on. Returns where they end, if there are any.
    fn each_rollup(
        &self,
        tier: Tier,
        from: Timestamp,
        until: Timestamp,
        each: &mut dyn FnMut(Interval),
    ) -> Result<Option<Timestamp>, WatchError> {
        let end = until.min(self.to);
        if from >= end {
            return Ok(None);
        }
        let mut has_any = false;
        let mut emit = |rows: &mut Vec<RollupRow>| {
            let rows = std::mem::take(rows);
            if let Some(interval) = of_rollups(tier, rows, until).and_then(|one| one.within(from, end)) {
                has_any = true;
                each(interval);
            }
        };
        // Those that begin within the second of the end are cut off again.
        let beyond = end.checked_add(SignedDuration::from_secs(1)).unwrap_or(Timestamp::MAX);
        let mut together: Vec<RollupRow> = Vec::new();
        let mut gather = |row: RollupRow| {
            if together.first().is_some_and(|first| first.beginning != row.beginning) {
                emit(&mut together);
            }
            together.push(row);
        };
        self.history.rollups(self.source, tier, tier.floor(from), beyond, &mut gather)?;
        emit(&mut together);
        Ok(has_any.then_some(end))
    }

    pub(crate) fn complete(&self, about: &mut SourceHistory, tiers: Tiers) -> Result<(), WatchError> {
        about.gaps = self.history.gaps(self.source, self.from, self.to)?;
        about.notes = self.history.notes(self.source, self.from, self.to)?;
        about.warnings = self.history.warnings(self.source, self.from, self.to)?;
        (about.days_until, about.hours_until) = (tiers.days_until, tiers.hours_until);
        Ok(())
    }
}

/// The roll-ups of one hour or day as one interval; the one that contains `until` covers only what was before
/// it.
fn of_rollups(tier: Tier, rows: Vec<RollupRow>, until: Timestamp) -> Option<Interval> {
    let start = rows.first()?.beginning;
    let end = start.checked_add(SignedDuration::from_secs(tier.seconds())).ok()?.min(until);
    let row = |one: RollupRow| {
        let row = Row { subject: one.subject, counters: Counters::new(), age_ms: None };
        (row, Change::Delta(one.rollup.totals))
    };
    Some(Interval { start, end, rows: rows.into_iter().map(row).collect(), grain: Grain::Rollup })
}

#[cfg(test)]
mod tests;
