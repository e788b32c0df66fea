//! What watched files, databases, volumes and servers did in a window of time.
//!
//! Rows are summed over a group first, interval by interval, and over time then: a maximum or a threshold is
//! that of the group, not a sum of its members' maxima.

pub(crate) mod columns;
pub mod comparison;
#[cfg(test)]
pub(crate) mod fixture;
mod forms;
mod history;
mod interval;
mod page;
mod series;
mod volumes;

use std::collections::{BTreeMap, BTreeSet};

use iostall_model::{Change, Kind, ResetReason, Row, StallHistogram, Totals};
use jiff::Timestamp;
use serde::Serialize;

pub use comparison::WatchComparison;
pub use forms::{write_watch_csv, write_watch_json};
pub use history::{Gap, SourceHistory};
pub use interval::Interval;
pub use iostall_model::Level;
pub use page::{heading, sections, title};
pub use series::{Cause, Line, Mark, Piece, WatchSeries};
pub use volumes::OnVolumes;

/// What one window of time is shown with.
#[derive(Clone, Debug)]
pub struct WatchReport {
    /// Beginning.
    pub from: Timestamp,
    /// End.
    pub to: Timestamp,
    /// The numbers.
    pub window: WatchWindow,
    /// The sources, in the order they were read.
    pub sources: Vec<SourceHistory>,
    /// At most so many groups are shown.
    pub top: usize,
}

impl WatchReport {
    /// How long the window is, nanoseconds.
    pub fn length_ns(&self) -> u64 {
        interval::ns_between(self.from, self.to)
    }

    /// The share of the window, 0 to 1, about which anything is known of `source`.
    pub fn coverage(&self, source: &str) -> f64 {
        let covered_ns = self.window.covered_ns.get(source).copied().unwrap_or(0);
        share_of(covered_ns, self.length_ns())
    }
}

/// `part` of `whole`, at most 1: the clock that times samples and the calendar differ a little.
pub(crate) fn share_of(part_ns: u64, whole_ns: u64) -> f64 {
    if whole_ns == 0 { 0.0 } else { (part_ns as f64 / whole_ns as f64).min(1.0) }
}

/// A group: whose, of what kind, and what it is called.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct GroupKey {
    /// The source's name.
    pub source: String,
    /// What its rows are.
    pub kind: Kind,
    /// Its name.
    pub name: String,
}

/// What a group did in the window.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Group {
    /// Sums over rows and time.
    pub totals: Totals,
    /// The largest stall per I/O of any one interval, nanoseconds.
    pub stall_ns_max: Option<f64>,
    /// How long the stall per I/O was above the threshold, nanoseconds.
    pub over_ns: u64,
    /// The longest time it stayed there without a break, nanoseconds.
    pub over_ns_longest: u64,
    /// Reads and writes by the mean stall of their interval.
    pub ops_by_stall: StallHistogram,
    /// Intervals of rows about which nothing can be said, by reason.
    pub resets: BTreeMap<ResetReason, u64>,
    /// Where it lies, and what else was done there.
    pub on_volumes: OnVolumes,
    streak_ns: u64,
}

/// All groups of one level in one window.
#[derive(Clone, Debug)]
pub struct WatchWindow {
    /// What the rows are summed to.
    pub level: Level,
    /// Stall per I/O above which an interval is too slow, nanoseconds.
    pub threshold_ns: Option<u64>,
    /// The groups.
    pub groups: BTreeMap<GroupKey, Group>,
    /// By source, the time about which anything is known, nanoseconds.
    pub covered_ns: BTreeMap<String, u64>,
}

impl WatchWindow {
    /// A window in which nothing has happened yet.
    pub fn new(level: Level, threshold_ns: Option<u64>) -> Self {
        Self { level, threshold_ns, groups: BTreeMap::new(), covered_ns: BTreeMap::new() }
    }

    /// Adds one interval of one source.
    pub fn add<'a>(&mut self, source: &str, rows: impl Iterator<Item = (&'a Row, &'a Change)>) {
        let rows: Vec<(&Row, &Change)> = rows.collect();
        let by_volume = volumes::by_volume(self.level, &rows);
        let mut interval: BTreeMap<GroupKey, Part<'_>> = BTreeMap::new();
        let mut covered_ns = 0;
        for (row, change) in rows {
            covered_ns = covered_ns.max(change.delta().map_or(0, |totals| totals.covered_ns));
            let Some(key) = key_of(self.level, source, row) else { continue };
            match change {
                Change::Delta(totals) => {
                    let part = interval.entry(key).or_default();
                    part.totals.beside(totals);
                    part.volumes.insert(row.subject.volume.as_deref());
                }
                Change::Reset(reason) => {
                    let group = self.groups.entry(key).or_default();
                    *group.resets.entry(*reason).or_default() += 1;
                    // Nobody knows whether it stayed above the threshold meanwhile.
                    group.streak_ns = 0;
                }
                Change::Baseline => {}
            }
        }
        if covered_ns > 0 {
            *self.covered_ns.entry(source.to_owned()).or_default() += covered_ns;
        }
        for (key, part) in interval {
            let kind = key.kind;
            let group = self.groups.entry(key).or_default();
            group.then(&part.totals, self.threshold_ns);
            group.on_volumes.then(&part.volumes, kind, &by_volume);
        }
    }

    /// The groups, the largest stall per I/O first; those without one by the bytes they moved.
    pub fn worst_first(&self) -> Vec<(&GroupKey, &Group)> {
        let mut groups: Vec<_> = self.groups.iter().collect();
        let rank = |group: &Group| (stall_ns(group), group.totals.bytes_per_second().unwrap_or(0.0));
        groups.sort_by(|(_, a), (_, b)| {
            let ((stall_a, bytes_a), (stall_b, bytes_b)) = (rank(a), rank(b));
            stall_b.total_cmp(&stall_a).then(bytes_b.total_cmp(&bytes_a))
        });
        groups
    }

    /// Whether any group was above the threshold for at least `sustained_ns` without a break.
    pub fn is_over(&self, sustained_ns: u64) -> bool {
        self.groups.values().any(|group| group.over_ns_longest > 0 && group.over_ns_longest >= sustained_ns)
    }
}

/// What a group did in one interval, and where.
#[derive(Default)]
struct Part<'a> {
    totals: Totals,
    volumes: BTreeSet<Option<&'a str>>,
}

/// The group that `row` belongs to; `None` where it does not count at this level.
pub(crate) fn key_of(level: Level, source: &str, row: &Row) -> Option<GroupKey> {
    let name = level.group(&row.subject)?;
    Some(GroupKey { source: source.to_owned(), kind: level.kind(row.subject.kind), name })
}

fn stall_ns(group: &Group) -> f64 {
    group.totals.io_stall_ns_mean().unwrap_or(0.0)
}

impl Group {
    /// Adds the next interval.
    fn then(&mut self, totals: &Totals, threshold_ns: Option<u64>) {
        self.totals.then(totals);
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
            self.over_ns += totals.covered_ns;
            self.streak_ns += totals.covered_ns;
            self.over_ns_longest = self.over_ns_longest.max(self.streak_ns);
        } else {
            self.streak_ns = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iostall_model::{Counter, Counters, Scope, Subject};

    fn row(database: &str, name: &str, volume: &str) -> Row {
        let subject = Subject {
            kind: Kind::SqlServerFile,
            scope: Scope::Database(database.into()),
            name: name.into(),
            identity: name.into(),
            volume: Some(volume.into()),
        };
        Row { subject, counters: Counters::new(), age_ms: None }
    }

    fn delta(reads: u64, stall_ms: u64) -> Change {
        let amounts =
            Counters::new().with(Counter::Reads, reads).with(Counter::ReadStall, stall_ms * 1_000_000);
        Change::Delta(Totals { covered_ns: 60_000_000_000, amounts })
    }

    fn window(level: Level, intervals: &[[Change; 2]]) -> WatchWindow {
        let rows = [row("sales", "a.mdf", "E:\\"), row("sales", "b.mdf", "E:\\")];
        let mut window = WatchWindow::new(level, Some(20_000_000));
        for interval in intervals {
            window.add("s", rows.iter().zip(interval));
        }
        window
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
        let group =
            &window.groups[&GroupKey { source: "s".into(), kind: Kind::SqlServerFile, name: "a.mdf".into() }];
        assert_eq!(group.resets[&ResetReason::Restart], 1);
        assert_eq!(group.totals.covered_ns, 0);
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
        assert!(is_near(share(&window, "a.mdf"), 0.75), "not 30 of 540");
        assert!(is_near(share(&window, "b.mdf"), 510.0 / 540.0));
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
        window.add("s", rows.iter().zip(&changes));
        assert!(is_near(share(&window, "sales"), 0.3));
        assert!(is_near(share(&window, "other"), 0.875));
    }

    #[test]
    fn without_a_known_volume_there_is_no_share() {
        let mut window = WatchWindow::new(Level::Files, None);
        let mut rows = [row("sales", "a", "E:"), row("sales", "b", "E:")];
        rows[0].subject.volume = None;
        let changes = [delta(10, 0), delta(0, 0)];
        window.add("s", rows.iter().zip(&changes));
        assert_eq!(share(&window, "a"), None);
        assert_eq!(share(&window, "b"), None, "nothing was done on it that could be shared");
    }

    #[test]
    fn a_source_is_covered_by_the_time_that_any_of_its_rows_tells_of() {
        let reset = Change::Reset(ResetReason::Restart);
        let intervals = [[delta(1, 0), reset.clone()], [reset.clone(), reset], [delta(1, 0), delta(1, 0)]];
        assert_eq!(window(Level::Files, &intervals).covered_ns["s"], 120_000_000_000);
    }

    #[test]
    fn the_worst_comes_first() {
        let window = window(Level::Files, &[[delta(10, 10), delta(10, 90)]]);
        let names: Vec<&str> = window.worst_first().iter().map(|(key, _)| key.name.as_str()).collect();
        assert_eq!(names, ["b.mdf", "a.mdf"]);
    }
}
