//! One window as slots of even length: a row a group and time.

use std::io;
use std::time::Duration;

use iostall_model::Level;
use iostall_store::History;
use jiff::{SignedDuration, Timestamp};

use crate::error::WatchError;
use crate::reports::{ReportRequest, TimeRange};
use crate::tiers::SourceWindow;
use crate::windows::{Grain, Interval, WatchWindow};

#[derive(Clone, Copy, Debug)]
pub struct Slot<'a> {
    pub start: Timestamp,
    pub end: Timestamp,
    pub window: &'a WatchWindow,
}

/// Who takes the slots. An error ends it.
pub type EachSlot<'a> = &'a mut dyn FnMut(&Slot<'_>) -> io::Result<()>;

/// Gives `each` the slots of every source in turn, in order. Slots begin at whole multiples of `every`. An interval that is longer, such as
/// an hour of which only sums are kept, is a slot of its own: nobody knows how its work was spread.
pub fn slots(
    history: &impl History,
    request: &ReportRequest,
    (from, to): TimeRange,
    every: Duration,
    each: EachSlot<'_>,
) -> Result<(), WatchError> {
    history.frozen(|| {
        let mut has_any = false;
        for watched in history.sources()? {
            let name = &watched.source.name;
            if request.source.as_ref().is_some_and(|part| !name.contains(part)) {
                continue;
            }
            let part = SourceWindow { history, source: watched.source.id, from, to };
            let mut slots =
                Slots { name, level: request.level, every: signed(every), open: None, outcome: Ok(false) };
            part.each_interval(&mut |interval| slots.add(&interval, each))?;
            slots.close(each);
            has_any |= slots.outcome?;
        }
        if has_any { Ok(()) } else { Err(WatchError::NothingSampled { from, to, sources: Vec::new() }) }
    })?
}

fn signed(length: Duration) -> SignedDuration {
    SignedDuration::try_from(length).unwrap_or(SignedDuration::MAX)
}

struct Slots<'a> {
    name: &'a str,
    level: Level,
    every: SignedDuration,
    open: Option<(Timestamp, Timestamp, WatchWindow)>,
    /// Whether there was any, or why it could not be given.
    outcome: Result<bool, WatchError>,
}

impl Slots<'_> {
    fn add(&mut self, interval: &Interval, each: EachSlot<'_>) {
        // What was read late overlaps with what was read meanwhile.
        if interval.grain == Grain::Late {
            return self.give(interval.start, interval.end, &self.window_of(interval), each);
        }
        if interval.end.duration_since(interval.start) > self.every {
            self.close(each);
            return self.give(interval.start, interval.end, &self.window_of(interval), each);
        }
        // Not longer than a slot, it lies in two at most.
        let edge = self.floor(interval.end);
        let parts = [(Timestamp::MIN, edge), (edge, Timestamp::MAX)];
        for part in parts.into_iter().filter_map(|(from, to)| interval.clone().within(from, to)) {
            let start = self.floor(part.start);
            if self.open.as_ref().is_some_and(|(open, ..)| *open != start) {
                self.close(each);
            }
            let end = start.checked_add(self.every).unwrap_or(Timestamp::MAX);
            self.fill(start, end, &part);
        }
    }

    fn fill(&mut self, start: Timestamp, end: Timestamp, interval: &Interval) {
        let new = || (start, end, WatchWindow::new(self.level, None));
        let (_, _, window) = self.open.get_or_insert_with(new);
        window.add(self.name, interval);
    }

    fn close(&mut self, each: EachSlot<'_>) {
        if let Some((start, end, window)) = self.open.take() {
            self.give(start, end, &window, each);
        }
    }

    fn give(&mut self, start: Timestamp, end: Timestamp, window: &WatchWindow, each: EachSlot<'_>) {
        if self.outcome.is_ok() && !window.groups.is_empty() {
            self.outcome = each(&Slot { start, end, window }).map(|()| true).map_err(WatchError::Output);
        }
    }

    fn window_of(&self, interval: &Interval) -> WatchWindow {
        let mut window = WatchWindow::new(self.level, None);
        window.add(self.name, interval);
        window
    }

    fn floor(&self, at: Timestamp) -> Timestamp {
        let every_ns = self.every.as_nanos().max(1);
        Timestamp::from_nanosecond(at.as_nanosecond().div_euclid(every_ns) * every_ns).unwrap_or(at)
    }
}

#[cfg(test)]
mod tests {
    use iostall_model::{Change, Counter, Counters, Kind, Row, Scope, Subject, Totals};

    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + second).unwrap()
    }

    fn interval(start: i64, end: i64, reads: u64) -> Interval {
        let subject = Subject {
            kind: Kind::SqlServerFile,
            scope: Scope::Database("sales".into()),
            name: "a.mdf".into(),
            identity: "1".into(),
            volume: None,
        };
        let covered_ns = u64::try_from(end - start).unwrap() * 1_000_000_000;
        let totals = Totals { covered_ns, amounts: Counters::new().with(Counter::Reads, reads) };
        let rows = vec![(Row { subject, counters: Counters::new(), age_ms: None }, Change::Delta(totals))];
        Interval { start: at(start), end: at(end), rows, grain: Grain::Samples }
    }

    /// Beginning, end and reads of each slot of a minute.
    fn slots_of(intervals: &[Interval]) -> Vec<(i64, i64, u64)> {
        let mut seen = Vec::new();
        let mut each = |slot: &Slot<'_>| {
            let reads =
                slot.window.groups.values().map(|group| group.totals.amounts.or_zero(Counter::Reads)).sum();
            seen.push((
                slot.start.as_second() - at(0).as_second(),
                slot.end.as_second() - at(0).as_second(),
                reads,
            ));
            Ok(())
        };
        let every = SignedDuration::from_secs(60);
        let mut slots = Slots { name: "s", level: Level::Files, every, open: None, outcome: Ok(false) };
        for interval in intervals {
            slots.add(interval, &mut each);
        }
        slots.close(&mut each);
        slots.outcome.unwrap();
        seen
    }

    /// The published report has a row for each file and time; `iostall report` had one for each file.
    #[test]
    fn intervals_are_put_together_by_whole_minutes_and_cut_where_they_lie_in_two() {
        let ticks = [interval(0, 20, 1), interval(20, 40, 2), interval(50, 70, 40), interval(70, 120, 5)];
        assert_eq!(slots_of(&ticks), [(0, 60, 23), (60, 120, 25)]);
    }

    #[test]
    fn what_is_longer_than_a_slot_is_not_spread_over_slots_that_nobody_measured() {
        let ticks = [interval(0, 60, 1), interval(60, 3_660, 99), interval(3_660, 3_670, 2)];
        assert_eq!(slots_of(&ticks), [(0, 60, 1), (60, 3_660, 99), (3_660, 3_720, 2)]);
    }

    #[test]
    fn a_minute_in_which_nothing_was_sampled_has_no_row() {
        assert_eq!(slots_of(&[interval(0, 30, 1), interval(180, 200, 2)]), [(0, 60, 1), (180, 240, 2)]);
    }
}
