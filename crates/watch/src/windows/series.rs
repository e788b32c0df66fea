//! Series of some groups over time, for charts: a second pass over a window after its worst groups are known,
//! so that there is no need to keep a series for each of ten thousand files.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

use iostall_model::{Change, Gap, Level, ResetReason, Totals};
use jiff::Timestamp;

use super::group::{GroupKey, key_of};
use super::interval::{Grain, Interval, ns_between};
use super::report::WatchReport;
use super::source_history::SourceHistory;

/// Approximate maximum of points per line: more than fit on a screen only make the page slow.
const POINTS_MAX: u64 = 600;

#[derive(Clone, Debug)]
pub struct WatchSeries {
    pub lines: Vec<Line>,
    pub marks: Vec<Mark>,
    level: Level,
    from: Timestamp,
    width_ns: u64,
    places: HashMap<GroupKey, usize>,
    gaps: BTreeMap<String, VecDeque<Gap>>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    pub key: GroupKey,
    /// In order; if one does not begin at the end of the previous one, there is no data in between.
    pub pieces: Vec<Piece>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Piece {
    pub start: Timestamp,
    pub end: Timestamp,
    pub totals: Totals,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Mark {
    pub source: String,
    pub start: Timestamp,
    pub end: Timestamp,
    pub cause: Cause,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Cause {
    Gap(String),
    /// These groups have rows without a difference.
    Rows(Broken, BTreeSet<String>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Broken {
    Reset(ResetReason),
    NotRead,
}

impl WatchSeries {
    /// Empty series for the worst groups of `report` with any I/O, at most `count`.
    pub fn of(report: &WatchReport, count: usize) -> Self {
        let is_busy = |totals: &Totals| totals.iops().is_none_or(|iops| iops > 0.0);
        let worst = report.window.worst_first(report.order).into_iter();
        let worst = worst.filter(|(_, group)| is_busy(&group.totals)).take(count);
        let lines: Vec<Line> = worst.map(|(key, _)| Line { key: key.clone(), pieces: Vec::new() }).collect();
        let places = lines.iter().enumerate().map(|(place, line)| (line.key.clone(), place)).collect();
        let gaps = |history: &SourceHistory| (history.name.clone(), history.gaps.iter().cloned().collect());
        Self {
            lines,
            marks: Vec::new(),
            level: report.window.level,
            from: report.from,
            width_ns: (report.length_ns() / POINTS_MAX).max(1),
            places,
            gaps: report.sources.iter().map(gaps).collect(),
        }
    }

    pub fn add(&mut self, source: &str, interval: &Interval) {
        if interval.grain == Grain::Late {
            // A mean over time without samples is meaningless.
            return;
        }
        let has_gap = self.mark_gaps(source, interval);
        let mut groups: BTreeMap<usize, (Totals, Option<Broken>)> = BTreeMap::new();
        for (row, change) in &interval.rows {
            let place = key_of(self.level, source, row).and_then(|key| self.places.get(&key).copied());
            let Some(place) = place else { continue };
            match change {
                Change::Delta(totals) => groups.entry(place).or_default().0.beside(totals),
                Change::Reset(reason) => groups.entry(place).or_default().1 = Some(Broken::Reset(*reason)),
                Change::NotRead => groups.entry(place).or_default().1 = Some(Broken::NotRead),
                Change::Baseline => {}
            }
        }
        for (place, (totals, broken)) in groups {
            // A sum without one of its members would look like a drop in load.
            match broken {
                Some(broken) => self.mark_rows(source, interval, broken, place),
                None if has_gap || totals.covered_ns == 0 => {}
                None => self.extend(place, interval, &totals),
            }
        }
    }

    pub fn finish(&mut self) {
        for (source, gaps) in std::mem::take(&mut self.gaps) {
            for gap in gaps {
                self.mark_gap(&source, gap.at, gap.at, gap.reason);
            }
        }
    }

    /// Marks the gaps up to the end of `interval`. Returns whether one lies in it, so that its mean includes
    /// time without samples; an hour or a day has many samples besides its gaps.
    fn mark_gaps(&mut self, source: &str, interval: &Interval) -> bool {
        let mut inside = None;
        while let Some(gap) = self.gaps.get_mut(source).and_then(|gaps| {
            let is_due = gaps.front().is_some_and(|gap| gap.at < interval.end);
            if is_due { gaps.pop_front() } else { None }
        }) {
            if gap.at < interval.start || interval.grain == Grain::Rollup {
                self.mark_gap(source, gap.at, gap.at, gap.reason);
            } else {
                inside.get_or_insert(gap.reason);
            }
        }
        let Some(reason) = inside else { return false };
        self.mark_gap(source, interval.start, interval.end, reason);
        true
    }

    fn mark_gap(&mut self, source: &str, start: Timestamp, end: Timestamp, reason: String) {
        let cause = Cause::Gap(reason);
        let last = self.marks.iter_mut().rev().find(|mark| mark.source == source);
        match last.filter(|last| last.cause == cause && ns_between(last.end, start) <= self.width_ns) {
            Some(last) => last.end = last.end.max(end),
            None => self.marks.push(Mark { source: source.to_owned(), start, end, cause }),
        }
    }

    fn mark_rows(&mut self, source: &str, interval: &Interval, broken: Broken, place: usize) {
        let name = &self.lines[place].key.name;
        let mut marks = self.marks.iter_mut().rev().filter(|mark| mark.source == source);
        let same = marks.find_map(|mark| match &mut mark.cause {
            Cause::Rows(known, names) if *known == broken => {
                let lasts = mark.end == interval.start && names.len() == 1 && names.contains(name);
                (lasts || mark.start == interval.start).then_some((names, &mut mark.end))
            }
            _ => None,
        });
        if let Some((names, end)) = same {
            names.insert(name.clone());
            *end = interval.end;
        } else {
            let cause = Cause::Rows(broken, BTreeSet::from([name.clone()]));
            let (start, end) = (interval.start, interval.end);
            self.marks.push(Mark { source: source.to_owned(), start, end, cause });
        }
    }

    fn extend(&mut self, place: usize, interval: &Interval, totals: &Totals) {
        let bucket = |end: Timestamp| ns_between(self.from, end).saturating_sub(1) / self.width_ns;
        let here = bucket(interval.end);
        let last = self.lines[place].pieces.last();
        let continues = last.is_some_and(|last| last.end == interval.start && bucket(last.end) == here);
        let pieces = &mut self.lines[place].pieces;
        match pieces.last_mut().filter(|_| continues) {
            Some(last) => {
                last.end = interval.end;
                last.totals.then(totals);
            }
            None => {
                pieces.push(Piece { start: interval.start, end: interval.end, totals: *totals });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::windows::fixture;
    use iostall_model::Counter;

    #[test]
    fn a_line_is_broken_where_there_was_a_gap_or_a_reset_and_says_why() {
        let (report, series) = (fixture::report(), fixture::series());
        let line = series.lines.iter().find(|line| line.key.name == "E:\\data\\a.mdf").unwrap();
        let breaks = line.pieces.windows(2).filter(|two| two[0].end != two[1].start).count();
        assert_eq!(breaks, 2);
        let causes: Vec<&Cause> = series.marks.iter().map(|mark| &mark.cause).collect();
        let names = BTreeSet::from(["E:\\data\\a.mdf".to_owned()]);
        assert!(causes.contains(&&Cause::Rows(Broken::Reset(ResetReason::Restart), names)), "{causes:?}");
        assert!(causes.contains(&&Cause::Gap("timed out".into())), "{causes:?}");
        let drawn: u64 = line.pieces.iter().map(|piece| piece.totals.amounts.or_zero(Counter::Reads)).sum();
        let counted = report.window.groups[&line.key].totals.amounts.or_zero(Counter::Reads);
        assert!(drawn > 0 && drawn < counted, "the mean over the gap is counted and not drawn");
    }

    #[test]
    fn a_long_window_has_few_points_and_loses_nothing() {
        let mut report = fixture::report();
        report.sources[0].gaps.clear();
        let mut series = WatchSeries::of(&report, 1);
        let second = |second: i64| report.from + jiff::SignedDuration::from_secs(second);
        let row = fixture::row(&series.lines[0].key.name, Some("E:\\"));
        for tick in 0..1_800 {
            let rows = vec![(row.clone(), fixture::delta(1, 10, 20))];
            let one = Interval { start: second(tick), end: second(tick + 1), rows, grain: Grain::Samples };
            series.add(fixture::SOURCE, &one);
        }
        let pieces = &series.lines[0].pieces;
        assert!(pieces.len() <= 601, "{}", pieces.len());
        let reads: u64 = pieces.iter().map(|piece| piece.totals.amounts.or_zero(Counter::Reads)).sum();
        assert_eq!(reads, 18_000);
        assert!(pieces.windows(2).all(|two| two[0].end == two[1].start));
    }
}
