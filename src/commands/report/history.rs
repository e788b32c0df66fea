//! What a source did in a window, from roll-ups and raw samples, each moment from one of the two.

use iostall_model::{Change, Counters, Row, Tier};
use iostall_report::watch::{Gap, Interval, SourceHistory};
use iostall_store::{RollupRow, SourceNumber, Step, WatchStore};
use jiff::{SignedDuration, Timestamp};

use crate::store::with_hint;

/// One source in one window.
pub(super) struct Part<'a> {
    pub(super) store: &'a WatchStore,
    pub(super) source: SourceNumber,
    pub(super) from: Timestamp,
    pub(super) to: Timestamp,
}

impl Part<'_> {
    /// Gives `each` what happened, in order: hour by hour as far as raw samples are no longer kept, then from sample
    /// to sample. Intervals over an edge of the window are cut there. Returns where the hours end, if there are any.
    pub(super) fn each_interval(&self, each: &mut dyn FnMut(Interval)) -> anyhow::Result<Option<Timestamp>> {
        let mut raw_from = self.from;
        let mut hours_until = None;
        if let Some(seam) = self.store.seam(self.source).map_err(with_hint)?
            && self.from < seam
        {
            raw_from = seam;
            let until = seam.min(self.to);
            if self.each_hour(until, seam, each)? {
                hours_until = Some(until);
            }
        }
        if raw_from < self.to {
            let mut part =
                |step: Step| interval(step).within(raw_from, self.to).into_iter().for_each(&mut *each);
            self.store.steps(self.source, raw_from, self.to, &mut part).map_err(with_hint)?;
        }
        Ok(hours_until)
    }

    /// The hours that begin before `until`; the roll-ups know of nothing from `seam` on. Whether there are any.
    fn each_hour(
        &self,
        until: Timestamp,
        seam: Timestamp,
        each: &mut dyn FnMut(Interval),
    ) -> anyhow::Result<bool> {
        let second = SignedDuration::from_secs(1);
        let beyond = until.checked_add(second).unwrap_or(Timestamp::MAX);
        let rows = self
            .store
            .rollups(self.source, Tier::Hour, Tier::Hour.floor(self.from), beyond)
            .map_err(with_hint)?;
        let mut has_any = false;
        for hour in rows.chunk_by(|a, b| a.beginning == b.beginning) {
            let Some(interval) = of_hour(hour, seam).and_then(|hour| hour.within(self.from, until)) else {
                continue;
            };
            has_any = true;
            each(interval);
        }
        Ok(has_any)
    }

    /// Gaps and warnings.
    pub(super) fn history(
        &self,
        name: &str,
        hours_until: Option<Timestamp>,
    ) -> anyhow::Result<SourceHistory> {
        let gaps = self.store.gaps(self.source, self.from, self.to).map_err(with_hint)?;
        let gaps = gaps
            .into_iter()
            .map(|gap| Gap { at: gap.at, until: gap.at, beats: gap.beats, reason: gap.reason })
            .collect();
        let warnings = self.store.warnings(self.source, self.from, self.to).map_err(with_hint)?;
        Ok(SourceHistory { name: name.to_owned(), hours_until, gaps, warnings })
    }
}

/// A step by the calendar. Where somebody set the clock back meanwhile, its length is that of the clock which timed it.
fn interval(step: Step) -> Interval {
    let end = step.taken.utc;
    let covered_ns = step.taken.since_ns(&step.since).and_then(|ns| i64::try_from(ns).ok()).unwrap_or(1);
    let timed = || end.checked_sub(SignedDuration::from_nanos(covered_ns)).unwrap_or(Timestamp::MIN);
    let start = Some(step.since.utc).filter(|start| *start < end).unwrap_or_else(timed);
    Interval { start, end, rows: step.rows, is_hour: false }
}

/// The roll-ups of one hour as one interval; of the hour with the seam in it they hold what was before that.
fn of_hour(rows: &[RollupRow], seam: Timestamp) -> Option<Interval> {
    let start = rows.first()?.beginning;
    let end = start.checked_add(SignedDuration::from_secs(Tier::Hour.seconds())).ok()?.min(seam);
    let row = |one: &RollupRow| {
        let row = Row { subject: one.subject.clone(), counters: Counters::new(), age_ms: None };
        (row, Change::Delta(one.rollup.totals))
    };
    Some(Interval { start, end, rows: rows.iter().map(row).collect(), is_hour: true })
}

#[cfg(test)]
mod tests {
    use super::*;
    use iostall_model::{Counter, Epoch, Kind, Moment, Sample, Subject, Totals};
    use iostall_store::Retention;

    /// Reads a minute: one a second, so that no cut needs to round.
    const READS: u64 = 60;

    fn at(minute: u64) -> Timestamp {
        let start: Timestamp = "2026-03-01T09:58:20Z".parse().unwrap();
        start + SignedDuration::from_mins(i64::try_from(minute).unwrap())
    }

    fn sample(minute: u64) -> Sample {
        let subject = Subject {
            kind: Kind::SqlServerFile,
            database: "db".into(),
            name: "file".into(),
            identity: "1".into(),
            volume: None,
        };
        let counters = Counters::new().with(Counter::Reads, 1_000 + minute * READS);
        let epoch = Epoch {
            instance: "one".into(),
            version: 15,
            process_start: "1".into(),
            counters_since: vec!["1".into()],
            uptime_s: None,
        };
        Sample {
            taken: Moment { utc: at(minute), clock: "c".into(), clock_ns: 5 + minute * 60_000_000_000 },
            epoch,
            rows: vec![Row { subject, counters, age_ms: None }],
            warnings: Vec::new(),
        }
    }

    fn sum(store: &WatchStore, source: SourceNumber, from: Timestamp, to: Timestamp) -> (u64, u64) {
        let mut sum = Totals::default();
        let mut end_before = from;
        let mut add = |interval: Interval| {
            assert!(interval.start >= end_before && interval.end <= to, "in order, and inside");
            end_before = interval.end;
            for (_, change) in &interval.rows {
                sum.then(change.delta().unwrap());
            }
        };
        Part { store, source, from, to }.each_interval(&mut add).unwrap();
        (sum.amounts.or_zero(Counter::Reads), sum.covered_ns / 1_000_000_000)
    }

    /// Windows of every beginning, over hours that are rolled up and raw samples, some of which are rolled up too:
    /// hours that a running collector had not rolled up yet were missing.
    fn assert_complete(store: &WatchStore, source: SourceNumber, last: u64) {
        for first in (17..last).step_by(17) {
            let (reads, seconds) = sum(store, source, at(first), at(last));
            assert_eq!(
                (reads, seconds),
                ((last - first) * READS, (last - first) * 60),
                "from minute {first}"
            );
        }
        let middle = at(last / 2) + SignedDuration::from_secs(13);
        // Of an hour that is covered in part nobody knows which: the window begins with that hour.
        let start = Tier::Hour.floor(at(0));
        let (early, late) = (sum(store, source, start, middle), sum(store, source, middle, at(last)));
        let whole = sum(store, source, start, at(last));
        assert_eq!(whole, (last * READS, last * 60));
        assert_eq!(early.0 + late.0, whole.0, "neighbours share what is between them");
    }

    #[test]
    fn hours_and_raw_samples_together_are_complete_and_count_nothing_twice() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("watch.db");
        let mut store = WatchStore::open(&path).unwrap();
        let source = store.source("s").unwrap();
        for minute in 0..=400 {
            store.add_sample(source, sample(minute)).unwrap();
        }
        assert_complete(&store, source, 400);
        // The older half of the raw samples goes; the open hour is in no roll-up yet.
        let forget = |store: &mut WatchStore, minutes| {
            let retention = Retention { raw: SignedDuration::from_mins(minutes), ..Retention::default() };
            store.forget(&retention, at(400)).unwrap();
        };
        forget(&mut store, 200);
        assert!(store.seam(source).unwrap().is_some_and(|seam| seam > at(190)));
        assert_complete(&store, source, 400);
        // The collector ends well in the midst of an hour, and raw samples of that hour alone are left.
        store.finish().unwrap();
        forget(&mut store, 1);
        assert_complete(&store, source, 400);
        // And another goes on in that hour.
        let mut store = WatchStore::open(&path).unwrap();
        let source = store.source("s").unwrap();
        for minute in 401..=410 {
            store.add_sample(source, sample(minute)).unwrap();
            assert_complete(&store, source, minute);
        }
    }
}
