//! Deltas that no stored roll-up has yet.

use std::borrow::Cow;
use std::collections::BTreeMap;

use iostall_model::{Change, Rollup, Sample, Step, Subject, Tier, delta};
use jiff::Timestamp;

/// An interval of more than 400 days is a clock that jumped: it would be spread over millions of hours.
const COVERED_NS_MAX: u64 = 400 * 86_400 * 1_000_000_000;

#[derive(Debug, Default)]
pub(crate) struct Pending {
    hours: BTreeMap<(Timestamp, u32), Rollup>,
    pub(crate) open_hour: Option<Timestamp>,
    /// The last sample in the stored roll-ups, as far as this process knows.
    pub(crate) rolled_up_to: i64,
}

impl Pending {
    /// Empty, if the stored roll-ups end at the sample numbered `rolled_up_to`.
    pub(crate) fn after(rolled_up_to: i64) -> Self {
        Self { rolled_up_to, ..Self::default() }
    }

    /// Adds the changes of the rows of `now` since the previous sample. `number_of` returns the series of a
    /// row.
    pub(crate) fn absorb(
        &mut self,
        now: &Sample,
        changes: &[Change],
        number_of: impl Fn(usize, &Subject) -> Option<u32>,
    ) {
        for (place, (row, change)) in now.rows.iter().zip(changes).enumerate() {
            if row.subject.kind.has_levels_only() {
                continue;
            }
            let (Some(whole), Some(series)) = (change.delta(), number_of(place, &row.subject)) else {
                continue;
            };
            if whole.covered_ns > COVERED_NS_MAX {
                continue;
            }
            for (hour, part) in Tier::Hour.spread(now.taken.utc, whole) {
                self.hours.entry((hour, series)).or_default().absorb(whole, &part);
            }
        }
    }

    /// The pending roll-ups, to be stored as those up to the sample numbered `last`.
    pub(crate) fn take(&mut self, last: i64) -> BTreeMap<(Timestamp, u32), Rollup> {
        self.rolled_up_to = last;
        std::mem::take(&mut self.hours)
    }

    pub(crate) fn take_before(&mut self, hour: Timestamp) -> BTreeMap<(Timestamp, u32), Rollup> {
        let others = self.hours.split_off(&(hour, 0));
        std::mem::replace(&mut self.hours, others)
    }

    pub(crate) fn into_hours(self) -> BTreeMap<(Timestamp, u32), Rollup> {
        self.hours
    }

    pub(crate) fn closes(&mut self, taken: Timestamp) -> bool {
        self.turns(taken).is_some()
    }

    pub(crate) fn turns(&mut self, taken: Timestamp) -> Option<(Timestamp, Timestamp)> {
        let hour = Tier::Hour.floor(taken);
        self.open_hour.replace(hour).filter(|open| *open != hour).map(|open| (open, hour))
    }
}

/// The changes of the rows of `step` since the last stored sample, which may not be the one that they
/// were compared with.
pub(crate) fn changes_since<'a>(before: &Sample, step: &'a Step) -> Cow<'a, [Change]> {
    if step.since.as_ref() == Some(&before.taken) {
        Cow::Borrowed(&step.changes)
    } else {
        Cow::Owned(delta::compare(before, &step.sample))
    }
}
