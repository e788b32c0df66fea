//! What watched files, databases, volumes and servers did in a window of time.
//!
//! Rows are summed over a group first, interval by interval, and over time then: a maximum or a threshold is
//! that of the group, not a sum of its members' maxima.

mod table;

use std::collections::BTreeMap;

use iostall_model::{Change, Kind, ResetReason, Row, StallHistogram, Subject, Totals};
use serde::Serialize;

pub use table::{write_watch_csv, write_watch_json, write_watch_text};

/// What the rows are summed to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    /// Files, tables and indexes.
    Files,
    /// Databases.
    Databases,
    /// Volumes and devices.
    Volumes,
    /// Whole servers.
    Server,
}

impl Level {
    /// The group that a row belongs to at this level; `None` where it does not count there.
    fn group(self, subject: &Subject) -> Option<String> {
        let whole = |label: &str| Some(label.to_owned());
        match (self, subject.kind) {
            (
                Self::Files,
                Kind::SqlServerFile | Kind::MysqlFile | Kind::PostgresTable | Kind::PostgresIndex,
            ) => Some(match subject.kind {
                Kind::PostgresTable | Kind::PostgresIndex => {
                    format!("{}: {}", subject.database, subject.name)
                }
                _ => subject.name.clone(),
            }),
            (Self::Databases, Kind::SqlServerFile | Kind::MysqlFile | Kind::PostgresDatabase) => {
                (!subject.database.is_empty()).then(|| subject.database.clone())
            }
            (Self::Volumes, Kind::LinuxDevice) => Some(match &subject.volume {
                Some(point) => format!("{} ({point})", subject.name),
                None => subject.name.clone(),
            }),
            (
                Self::Volumes,
                Kind::SqlServerFile | Kind::MysqlFile | Kind::PostgresTable | Kind::PostgresIndex,
            ) => subject.volume.clone(),
            (Self::Server, Kind::SqlServerFile) => whole("all files"),
            (Self::Server, Kind::PostgresIo | Kind::PostgresIoBlocks) => whole("all backends"),
            (
                Self::Server,
                Kind::MysqlInnodb | Kind::MysqlRedo | Kind::PostgresWal | Kind::PostgresCheckpointer,
            ) => Some(subject.name.clone()),
            // Partitions and stacked devices are counted again in the disks under them.
            (Self::Server, Kind::LinuxDevice) => (subject.database == "disk").then(|| "all disks".to_owned()),
            _ => None,
        }
    }
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
}

impl WatchWindow {
    /// A window in which nothing has happened yet.
    pub fn new(level: Level, threshold_ns: Option<u64>) -> Self {
        Self { level, threshold_ns, groups: BTreeMap::new() }
    }

    /// Adds one interval of one source.
    pub fn add<'a>(&mut self, source: &str, rows: impl Iterator<Item = (&'a Row, &'a Change)>) {
        let mut interval: BTreeMap<GroupKey, Totals> = BTreeMap::new();
        for (row, change) in rows {
            let Some(name) = self.level.group(&row.subject) else { continue };
            let kind = match (self.level, row.subject.kind) {
                // Blocks of a volume are those of its tables and its indexes together.
                (Level::Volumes, Kind::PostgresIndex) => Kind::PostgresTable,
                (_, kind) => kind,
            };
            let key = GroupKey { source: source.to_owned(), kind, name };
            match change {
                Change::Delta(totals) => interval.entry(key).or_default().beside(totals),
                Change::Reset(reason) => {
                    *self.groups.entry(key).or_default().resets.entry(*reason).or_default() += 1;
                }
                Change::Baseline => {}
            }
        }
        for (key, totals) in interval {
            self.groups.entry(key).or_default().then(&totals, self.threshold_ns);
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
            self.ops_by_stall.record(stall_ns as u64, ops(totals));
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

fn ops(totals: &Totals) -> u64 {
    use iostall_model::Counter::{Reads, Writes};
    totals.amounts.or_zero(Reads).saturating_add(totals.amounts.or_zero(Writes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use iostall_model::{Counter, Counters};

    fn row(database: &str, name: &str, volume: &str) -> Row {
        let subject = Subject {
            kind: Kind::SqlServerFile,
            database: database.into(),
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
    fn a_reset_is_counted_and_adds_nothing() {
        let reset = Change::Reset(ResetReason::Restart);
        let window = window(Level::Files, &[[reset, delta(5, 5)]]);
        let group =
            &window.groups[&GroupKey { source: "s".into(), kind: Kind::SqlServerFile, name: "a.mdf".into() }];
        assert_eq!(group.resets[&ResetReason::Restart], 1);
        assert_eq!(group.totals.covered_ns, 0);
    }

    #[test]
    fn the_worst_comes_first() {
        let window = window(Level::Files, &[[delta(10, 10), delta(10, 90)]]);
        let names: Vec<&str> = window.worst_first().iter().map(|(key, _)| key.name.as_str()).collect();
        assert_eq!(names, ["b.mdf", "a.mdf"]);
    }
}
