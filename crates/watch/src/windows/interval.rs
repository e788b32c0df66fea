//! An interval between two samples, and the part of it in a window.

use std::collections::BTreeMap;

use iostall_model::{Change, Row, Step, Totals};
use jiff::{SignedDuration, Timestamp};

#[derive(Clone, Debug, PartialEq)]
pub struct Interval {
    pub start: Timestamp,
    pub end: Timestamp,
    pub rows: Vec<(Row, Change)>,
    pub grain: Grain,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grain {
    Samples,
    /// Rows that could not be read between these two samples; rows that could are in separate intervals.
    Late,
    /// An hour or a day of which only sums are stored, and which may be partly covered.
    Rollup,
}

impl Interval {
    /// The intervals of `step`: from the previous sample for most rows, and since their last reading for rows
    /// that were missing from it.
    pub fn all_of(step: &Step) -> Vec<Self> {
        let end = step.at();
        let length_ns = step.since.as_ref().and_then(|since| step.sample.taken.since_ns(since));
        // If the clock was set back, the length comes from the clock that timed the interval.
        let before = |ns: u64| {
            let length = SignedDuration::from_nanos(i64::try_from(ns).unwrap_or(i64::MAX));
            end.checked_sub(length).unwrap_or(Timestamp::MIN)
        };
        let since = step.since.as_ref().map(|since| since.utc);
        let start = since.filter(|start| *start < end).unwrap_or_else(|| before(length_ns.unwrap_or(1)));
        let mut late: BTreeMap<u64, Vec<(Row, Change)>> = BTreeMap::new();
        let mut rows = step.to_rows();
        for (row, change) in &mut rows {
            let covered_ns = change.delta().map(|totals| totals.covered_ns);
            if let Some(covered_ns) =
                covered_ns.filter(|ns| length_ns.is_some_and(|length_ns| *ns > length_ns))
            {
                let change = std::mem::replace(change, Change::NotRead);
                late.entry(covered_ns).or_default().push((row.clone(), change));
            }
        }
        let late =
            late.into_iter().map(|(ns, rows)| Self { start: before(ns), end, rows, grain: Grain::Late });
        [Self { start, end, rows, grain: Grain::Samples }].into_iter().chain(late).collect()
    }

    /// The part between `from` and `to`, assuming an even load because nothing more is known; `None` if there
    /// is none. The parts of neighbouring windows add up to the whole, unit by unit.
    pub fn within(mut self, from: Timestamp, to: Timestamp) -> Option<Self> {
        let (start, end) = (self.start.max(from), self.end.min(to));
        if start >= end {
            return None;
        }
        if (start, end) == (self.start, self.end) {
            return Some(self);
        }
        self.rows.retain_mut(|(_, change)| match change {
            Change::Delta(totals) => match part(totals, (self.start, self.end), (start, end)) {
                Some(part) => {
                    *totals = part;
                    true
                }
                None => false,
            },
            Change::Baseline | Change::NotRead | Change::Reset(_) => true,
        });
        (self.start, self.end) = (start, end);
        Some(self)
    }
}

/// The share of `totals`, counted in `whole`, that falls in `piece`, which lies inside. A sample interval is
/// fully covered; an hour may be partly covered, at unknown times.
fn part(totals: &Totals, whole: (Timestamp, Timestamp), piece: (Timestamp, Timestamp)) -> Option<Totals> {
    let length_ns = ns_between(whole.0, whole.1);
    let at = |at: Timestamp| {
        let share = u128::from(ns_between(whole.0, at)) * u128::from(totals.covered_ns);
        share.checked_div(u128::from(length_ns)).and_then(|ns| u64::try_from(ns).ok()).unwrap_or(0)
    };
    totals.cut(&[at(piece.0), at(piece.1)]).into_iter().nth(1).filter(|part| part.covered_ns > 0)
}

/// Nanoseconds from `earlier` to `later`; zero if they are reversed.
pub(super) fn ns_between(earlier: Timestamp, later: Timestamp) -> u64 {
    u64::try_from(later.duration_since(earlier).as_nanos()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use iostall_model::{Counter, Counters, DeviceRole, Kind, ResetReason, Scope, Subject};
    use proptest::prelude::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_700_000_000 + second).unwrap()
    }

    fn row() -> Row {
        let subject = Subject {
            kind: Kind::LinuxDevice,
            scope: Scope::Device(DeviceRole::Disk),
            name: "sda".into(),
            identity: "8:0".into(),
            volume: None,
        };
        Row { subject, counters: Counters::new(), age_ms: None }
    }

    fn interval(start: i64, end: i64, covered_ns: u64, reads: u64) -> Interval {
        let totals = Totals { covered_ns, amounts: Counters::new().with(Counter::Reads, reads) };
        Interval {
            start: at(start),
            end: at(end),
            rows: vec![(row(), Change::Delta(totals))],
            grain: Grain::Samples,
        }
    }

    fn totals(interval: Option<Interval>) -> Totals {
        interval
            .and_then(|one| one.rows.first().and_then(|(_, change)| change.delta().copied()))
            .unwrap_or_default()
    }

    #[test]
    fn a_window_takes_its_share_of_the_interval_at_its_edge() {
        let half = totals(interval(0, 60, 60_000_000_000, 120).within(at(30), at(90)));
        assert_eq!((half.covered_ns, half.amounts.get(Counter::Reads)), (30_000_000_000, Some(60)));
        assert_eq!(interval(0, 60, 60_000_000_000, 120).within(at(60), at(90)), None);
    }

    #[test]
    fn an_hour_that_is_covered_in_part_gives_a_part_of_that() {
        let quarter = totals(interval(0, 3_600, 1_800_000_000_000, 400).within(at(0), at(900)));
        assert_eq!((quarter.covered_ns, quarter.amounts.get(Counter::Reads)), (450_000_000_000, Some(100)));
    }

    #[test]
    fn a_reset_at_the_edge_is_told() {
        let reset = Change::Reset(ResetReason::Restart);
        let one =
            Interval { start: at(0), end: at(60), rows: vec![(row(), reset.clone())], grain: Grain::Samples };
        assert_eq!(one.within(at(30), at(90)).unwrap().rows[0].1, reset);
    }

    proptest! {
        #[test]
        fn neighbouring_windows_share_an_interval_without_loss_or_surplus(
            length in 1_i64..100_000, covered_share in 1_u64..=100, reads in any::<u64>(),
            mut cuts in prop::collection::vec(0_i64..100_000, 0..5),
        ) {
            let covered_ns = u64::try_from(length).unwrap() * 10_000_000 * covered_share;
            let whole = interval(0, length, covered_ns, reads);
            cuts.retain(|cut| *cut > 0 && *cut < length);
            cuts.push(0);
            cuts.push(length);
            cuts.sort_unstable();
            let mut sum = Totals::default();
            for edges in cuts.windows(2) {
                sum.then(&totals(whole.clone().within(at(edges[0]), at(edges[1]))));
            }
            prop_assert_eq!(sum.covered_ns, covered_ns);
            prop_assert_eq!(sum.amounts.or_zero(Counter::Reads), reads);
        }
    }
}
