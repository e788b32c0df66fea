//! Groups of one level in one window of time.
//!
//! Rows are first summed over a group, interval by interval, and then over time: a maximum or a threshold is
//! that of the group, not a sum of its members' maxima.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use iostall_model::{Change, Counter, Level, Totals};

use super::group::{Group, GroupKey, key_of};
use super::interval::{Grain, Interval};
use super::volumes;

#[derive(Clone, Debug)]
pub struct WatchWindow {
    pub level: Level,
    pub threshold_ns: Option<u64>,
    pub groups: BTreeMap<GroupKey, Group>,
    pub covered_ns: BTreeMap<String, u64>,
}

impl WatchWindow {
    pub fn new(level: Level, threshold_ns: Option<u64>) -> Self {
        Self { level, threshold_ns, groups: BTreeMap::new(), covered_ns: BTreeMap::new() }
    }

    pub fn add(&mut self, source: &str, interval: &Interval) {
        let by_volume = volumes::by_volume(self.level, &interval.rows);
        let mut parts: BTreeMap<GroupKey, Part<'_>> = BTreeMap::new();
        let mut sizes: BTreeMap<GroupKey, u64> = BTreeMap::new();
        let mut covered_ns = 0;
        for (row, change) in &interval.rows {
            covered_ns = covered_ns.max(change.delta().map_or(0, |totals| totals.covered_ns));
            let Some(key) = key_of(self.level, source, row) else { continue };
            if let Some(size) = row.counters.get(Counter::SizeBytes) {
                let sum = sizes.entry(key.clone()).or_default();
                *sum = sum.saturating_add(size);
            }
            match change {
                Change::Delta(totals) => {
                    let part = parts.entry(key).or_default();
                    part.totals.beside(totals);
                    part.volumes.insert(row.subject.volume.as_deref());
                }
                Change::Reset(reason) => {
                    let group = self.groups.entry(key).or_default();
                    *group.resets.entry(*reason).or_default() += 1;
                    // It is unknown whether the stall stayed above the threshold meanwhile.
                    group.streak_ns = 0;
                }
                Change::NotRead => {
                    let group = self.groups.entry(key).or_default();
                    group.unread += 1;
                    group.streak_ns = 0;
                }
                Change::Baseline => self.groups.entry(key).or_default().began += 1,
            }
        }
        if covered_ns > 0 && interval.grain != Grain::Late {
            *self.covered_ns.entry(source.to_owned()).or_default() += covered_ns;
        }
        for (key, part) in parts {
            let kind = key.kind;
            let group = self.groups.entry(key).or_default();
            group.then(&part.totals, self.threshold_ns, interval);
            group.on_volumes.then(&part.volumes, kind, &by_volume);
        }
        for (key, size) in sizes {
            if let Some(group) = self.groups.get_mut(&key).filter(|_| interval.grain == Grain::Samples) {
                group.size_bytes = Some((group.size_bytes.map_or(size, |(first, _)| first), size));
            }
        }
    }

    /// The groups, the worst first; those without a stall come last, by the bytes they moved.
    pub fn worst_first(&self, order: Order) -> Vec<(&GroupKey, &Group)> {
        let mut groups: Vec<_> = self.groups.iter().collect();
        groups.sort_by(|(_, a), (_, b)| order.rank(b).cmp_ranks(&order.rank(a)));
        groups
    }

    /// Whether any group was above the threshold for at least `sustained_ns` without a break.
    pub fn is_over(&self, sustained_ns: u64) -> bool {
        self.groups.values().any(|group| group.over_ns_longest > 0 && group.over_ns_longest >= sustained_ns)
    }
}

#[derive(Default)]
struct Part<'a> {
    totals: Totals,
    volumes: BTreeSet<Option<&'a str>>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// More time waited each second: what the users of the storage lose.
    #[default]
    StallTime,
    /// More time waited for each read or write, among those with enough of them to tell.
    StallPerIo,
}

/// Stall per I/O of fewer reads and writes than this is chance.
const OPS_ENOUGH: u64 = 100;

/// Numbers that decide one after the other, the larger the worse.
struct Rank([f64; 3]);

impl Order {
    fn rank(self, group: &Group) -> Rank {
        let totals = &group.totals;
        let bytes = totals.bytes_per_second().unwrap_or(0.0);
        Rank(match self {
            // What is not measured is not 0: it comes after what was measured and did not wait.
            Self::StallTime => [totals.stall_per_second().unwrap_or(-1.0), bytes, 0.0],
            Self::StallPerIo => {
                let is_enough = if totals.timed_ops() >= OPS_ENOUGH { 1.0 } else { 0.0 };
                [is_enough, totals.io_stall_ns_mean().unwrap_or(-1.0), bytes]
            }
        })
    }
}

impl Rank {
    fn cmp_ranks(&self, other: &Self) -> Ordering {
        let pairs = self.0.iter().zip(&other.0);
        pairs
            .map(|(mine, theirs)| mine.total_cmp(theirs))
            .find(|order| order.is_ne())
            .unwrap_or(Ordering::Equal)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::windows::fixture;
    use iostall_model::{Counters, Kind, ResetReason, Row, Scope};
    use jiff::Timestamp;

    fn row(database: &str, name: &str, volume: &str) -> Row {
        let mut row = fixture::row(name, Some(volume));
        row.subject.scope = Scope::Database(database.into());
        row
    }

    fn delta(reads: u64, stall_ms: u64) -> Change {
        let amounts =
            Counters::new().with(Counter::Reads, reads).with(Counter::ReadStall, stall_ms * 1_000_000);
        Change::Delta(Totals { covered_ns: 60_000_000_000, amounts })
    }

    fn window(level: Level, intervals: &[[Change; 2]]) -> WatchWindow {
        let rows = [row("sales", "a.mdf", "E:\\"), row("sales", "b.mdf", "E:\\")];
        let mut window = WatchWindow::new(level, Some(20_000_000));
        for (minute, changes) in (0..).zip(intervals) {
            window.add("s", &interval(minute, &rows, changes));
        }
        window
    }

    fn interval(minute: i64, rows: &[Row], changes: &[Change]) -> Interval {
        let at = |minute: i64| Timestamp::from_second(minute * 60).unwrap();
        let rows = rows.iter().cloned().zip(changes.iter().cloned()).collect();
        Interval { start: at(minute), end: at(minute + 1), rows, grain: Grain::Samples }
    }

    #[test]
    fn files_of_a_volume_are_summed_in_their_interval_and_not_over_its_length() {
        let window = window(Level::Volumes, &[[delta(60, 600), delta(60, 0)], [delta(0, 0), delta(120, 0)]]);
        let group = window.groups.values().next().unwrap();
        assert_eq!(group.totals.covered_ns, 120_000_000_000);
        assert_eq!(group.totals.amounts.get(Counter::Reads), Some(240));
        assert_eq!(
            group.stall_ns_max.map(f64::to_bits),
            Some(5_000_000_f64.to_bits()),
            "600 ms over 120 reads"
        );
    }

    #[test]
    fn sustained_means_without_a_break() {
        let (slow, fast) = (delta(10, 400), delta(10, 10));
        let idle = delta(0, 0);
        let order = [&slow, &slow, &fast, &slow, &idle];
        let intervals: Vec<[Change; 2]> =
            order.iter().map(|change| [(*change).clone(), delta(0, 0)]).collect();
        let window = window(Level::Files, &intervals);
        let group = window.groups.values().next().unwrap();
        assert_eq!((group.over_ns, group.over_ns_longest), (180_000_000_000, 120_000_000_000));
        assert!(window.is_over(120_000_000_000) && !window.is_over(121_000_000_000));
    }

    #[test]
    fn what_is_not_known_is_a_break() {
        let slow = delta(10, 400);
        let reset = Change::Reset(ResetReason::Restart);
        let intervals = [slow.clone(), slow.clone(), reset, slow].map(|change| [change, delta(0, 0)]);
        let window = window(Level::Files, &intervals);
        let group = window.groups.values().next().unwrap();
        assert_eq!((group.over_ns, group.over_ns_longest), (180_000_000_000, 120_000_000_000));
    }

    #[test]
    fn a_reset_is_counted_and_adds_nothing() {
        let reset = Change::Reset(ResetReason::Restart);
        let window = window(Level::Files, &[[reset, delta(5, 5)]]);
        let group = &window.groups
            [&GroupKey { source: "s".into(), kind: Kind::SqlServerFile, name: "sales: a.mdf".into() }];
        assert_eq!(group.resets[&ResetReason::Restart], 1);
        assert_eq!(group.totals.covered_ns, 0);
    }

    /// The story: a staging table was made, filled and dropped between samples, a file was copied by ALTER TABLE, and the report said of both
    /// that they had done nothing.
    #[test]
    fn what_began_between_two_samples_is_a_gap_of_unknown_size_and_not_nothing() {
        let window = window(Level::Files, &[[Change::Baseline, delta(5, 5)], [delta(1, 1), delta(5, 5)]]);
        let began = |name: &str| {
            window.groups.iter().find(|(key, _)| key.name.ends_with(name)).map(|(_, group)| group.began)
        };
        assert_eq!((began("a.mdf"), began("b.mdf")), (Some(1), Some(0)));
    }

    /// The story: files whose time nobody measures stood before those that had been measured and had not waited.
    #[test]
    fn what_is_not_measured_does_not_stand_before_what_did_not_wait() {
        let untold = Change::Delta(Totals {
            covered_ns: 60_000_000_000,
            amounts: Counters::new().with(Counter::Reads, 9_000).with(Counter::ReadBytes, 1 << 30),
        });
        let window = window(Level::Files, &[[untold, delta(500, 0)]]);
        assert_eq!(names(&window, Order::StallTime), ["sales: b.mdf", "sales: a.mdf"]);
    }

    fn share(window: &WatchWindow, name: &str) -> Option<f64> {
        let (_, group) = window.groups.iter().find(|(key, _)| key.name == name).unwrap();
        group.on_volumes.ops_share(&group.totals)
    }

    fn is_near(value: Option<f64>, wanted: f64) -> bool {
        value.is_some_and(|value| (value - wanted).abs() < 1e-12)
    }

    #[test]
    fn the_share_of_a_file_is_of_the_intervals_in_which_it_was_counted() {
        let reset = Change::Reset(ResetReason::Reattach);
        let window = window(Level::Files, &[[delta(30, 0), delta(10, 0)], [reset, delta(500, 0)]]);
        assert!(is_near(share(&window, "sales: a.mdf"), 0.75), "not 30 of 540");
        assert!(is_near(share(&window, "sales: b.mdf"), 510.0 / 540.0));
    }

    #[test]
    fn a_database_on_two_volumes_has_its_share_of_both_and_counts_none_twice() {
        let mut window = WatchWindow::new(Level::Databases, None);
        let rows = [
            row("sales", "a", "E:"),
            row("sales", "b", "E:"),
            row("sales", "c", "F:"),
            row("other", "d", "F:"),
        ];
        let changes = [delta(10, 0), delta(10, 0), delta(10, 0), delta(70, 0)];
        window.add("s", &interval(0, &rows, &changes));
        assert!(is_near(share(&window, "sales"), 0.3));
        assert!(is_near(share(&window, "other"), 0.875));
    }

    #[test]
    fn without_a_known_volume_there_is_no_share() {
        let mut window = WatchWindow::new(Level::Files, None);
        let mut rows = [row("sales", "a", "E:"), row("sales", "b", "E:")];
        rows[0].subject.volume = None;
        let changes = [delta(10, 0), delta(0, 0)];
        window.add("s", &interval(0, &rows, &changes));
        assert_eq!(share(&window, "sales: a"), None);
        assert_eq!(share(&window, "sales: b"), None, "nothing was done on it that could be shared");
    }

    #[test]
    fn a_source_is_covered_by_the_time_that_any_of_its_rows_tells_of() {
        let reset = Change::Reset(ResetReason::Restart);
        let intervals = [[delta(1, 0), reset.clone()], [reset.clone(), reset], [delta(1, 0), delta(1, 0)]];
        assert_eq!(window(Level::Files, &intervals).covered_ns["s"], 120_000_000_000);
    }

    fn names(window: &WatchWindow, order: Order) -> Vec<&str> {
        window.worst_first(order).iter().map(|(key, _)| key.name.as_str()).collect()
    }

    /// A file with two reads came first, and the one whose 2,071 reads a second waited came last.
    #[test]
    fn the_file_that_is_waited_for_longest_comes_first_and_two_slow_reads_last() {
        let busy_and_idle = window(Level::Files, &[[delta(124_260, 149_112), delta(2, 60)]]);
        assert_eq!(names(&busy_and_idle, Order::StallTime), ["sales: a.mdf", "sales: b.mdf"]);
        assert_eq!(
            names(&busy_and_idle, Order::StallPerIo),
            ["sales: a.mdf", "sales: b.mdf"],
            "two reads tell nothing"
        );
        let both_busy = window(Level::Files, &[[delta(10_000, 12_000), delta(200, 6_000)]]);
        assert_eq!(names(&both_busy, Order::StallTime), ["sales: a.mdf", "sales: b.mdf"]);
        assert_eq!(names(&both_busy, Order::StallPerIo), ["sales: b.mdf", "sales: a.mdf"]);
    }

    #[test]
    fn a_window_without_an_interval_over_the_threshold_is_not_over_it_for_any_time() {
        let fast = window(Level::Files, &[[delta(100, 100), delta(100, 100)]]);
        assert!(!fast.is_over(0));
        let slow = window(Level::Files, &[[delta(100, 100), delta(100, 9_000)]]);
        assert!(slow.is_over(0) && slow.is_over(60_000_000_000) && !slow.is_over(60_000_000_001));
    }
}
