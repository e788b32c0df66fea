//! Compares two windows: how a change affected the load, and the stall under that load.
//!
//! Windows may differ in length and coverage, so rates are compared, never sums.

use std::collections::{BTreeMap, BTreeSet};

use iostall_model::{Counter, Kind, Totals};

use super::group::{Group, GroupKey};
use super::report::{WatchReport, share_of};

#[derive(Clone, Debug)]
pub struct WatchComparison {
    pub before: WatchReport,
    pub after: WatchReport,
}

#[derive(Clone, Copy)]
pub struct Pair<'a> {
    pub key: &'a GroupKey,
    pub before: Option<&'a Group>,
    pub after: Option<&'a Group>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    Both,
    Before,
    After,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Values {
    pub before: Option<f64>,
    pub after: Option<f64>,
}

/// All groups of a source and kind together, with reads and writes weighted as in the first window.
#[derive(Clone, Debug, PartialEq)]
pub struct Overall {
    pub source: String,
    pub kind: Kind,
    pub stall_ns: Values,
    /// The share of the first window's I/O that both numbers cover, 0 to 1.
    pub ops_share: f64,
}

impl WatchComparison {
    /// At most the requested number of groups of each source, or `room`, sorted by how much their stall grew: the added stall per I/O
    /// at the same mix, times the I/O. Groups without a result come last, by name.
    pub fn pairs(&self, room: usize) -> Vec<Pair<'_>> {
        let keys: BTreeSet<&GroupKey> =
            self.before.window.groups.keys().chain(self.after.window.groups.keys()).collect();
        let mut pairs: Vec<Pair<'_>> = keys
            .into_iter()
            .map(|key| Pair {
                key,
                before: self.before.window.groups.get(key),
                after: self.after.window.groups.get(key),
            })
            .collect();
        let rank = |pair: &Pair<'_>| pair.added_stall().unwrap_or(f64::NEG_INFINITY);
        pairs.sort_by(|a, b| rank(b).total_cmp(&rank(a)));
        let (top, mut counts) = (self.after.top.unwrap_or(room), BTreeMap::<&str, usize>::new());
        pairs.retain(|pair| {
            let count = counts.entry(&pair.key.source).or_default();
            *count += 1;
            *count <= top
        });
        pairs
    }

    pub fn sources(&self) -> BTreeSet<&str> {
        let all = self.before.sources.iter().chain(&self.after.sources);
        all.map(|source| source.name.as_str()).collect()
    }

    /// All groups together, by source and kind, unless that would count I/O twice: devices are stacked.
    pub fn overall(&self) -> Vec<Overall> {
        let groups = self.before.window.groups.iter();
        let mut parts: BTreeSet<(&str, Kind)> =
            groups.map(|(key, _)| (key.source.as_str(), key.kind)).collect();
        parts.retain(|(_, kind)| *kind != Kind::LinuxDevice);
        parts.into_iter().filter_map(|(source, kind)| self.overall_of(source, kind)).collect()
    }

    fn overall_of(&self, source: &str, kind: Kind) -> Option<Overall> {
        let (mut ops, mut all_ops, mut before_ns, mut after_ns) = (0.0, 0.0, 0.0, 0.0);
        let of_part =
            self.before.window.groups.iter().filter(|(key, _)| key.source == source && key.kind == kind);
        for (key, before) in of_part {
            let after = self.after.window.groups.get(key);
            for (op, stall_ns) in OPS {
                let weight = before.totals.amounts.or_zero(op) as f64;
                all_ops += weight;
                let stalls = stall_ns(&before.totals).zip(after.and_then(|after| stall_ns(&after.totals)));
                if let Some((stall_before, stall_after)) = stalls {
                    ops += weight;
                    before_ns += weight * stall_before;
                    after_ns += weight * stall_after;
                }
            }
        }
        (ops > 0.0).then(|| Overall {
            source: source.to_owned(),
            kind,
            stall_ns: Values { before: Some(before_ns / ops), after: Some(after_ns / ops) },
            ops_share: ops / all_ops,
        })
    }
}

/// Stall per operation, nanoseconds; `None` if there were none or the stall is not reported.
type StallPer = fn(&Totals) -> Option<f64>;

/// Operations with a stall, and how to compute it.
const OPS: [(Counter, StallPer); 2] =
    [(Counter::Reads, Totals::read_stall_ns_mean), (Counter::Writes, Totals::write_stall_ns_mean)];

/// The stall per I/O of `after` as it would be with the reads and writes of `before`, nanoseconds, so that a
/// change of the mix alone has no effect. `None` if `after` has no stall for an operation that `before` has.
pub fn stall_ns_at_mix(before: &Totals, after: &Totals) -> Option<f64> {
    let (mut ops, mut sum_ns) = (0.0, 0.0);
    for (op, stall_ns) in OPS {
        let weight = before.amounts.or_zero(op) as f64;
        if weight > 0.0 {
            ops += weight;
            sum_ns += weight * stall_ns(after)?;
        }
    }
    (ops > 0.0).then(|| sum_ns / ops)
}

impl Pair<'_> {
    pub fn presence(&self) -> Presence {
        match (self.before, self.after) {
            (Some(_), None) => Presence::Before,
            (None, Some(_)) => Presence::After,
            _ => Presence::Both,
        }
    }

    pub fn is_idle(&self) -> bool {
        [self.before, self.after]
            .into_iter()
            .flatten()
            .all(|group| group.totals.iops().is_some_and(|iops| iops <= 0.0))
    }

    /// Stall per I/O in both windows at the mix of the first, milliseconds.
    pub fn stall_ms_at_mix(&self) -> Values {
        let before = self.before.and_then(|group| stall_ns_at_mix(&group.totals, &group.totals));
        let after = self
            .before
            .zip(self.after)
            .and_then(|(before, after)| stall_ns_at_mix(&before.totals, &after.totals));
        Values { before: before.map(|ns| ns / 1e6), after: after.map(|ns| ns / 1e6) }
    }

    /// How much of each window the group's numbers cover, in percent.
    pub fn covered_pct(&self, of: &WatchComparison) -> Values {
        let pct = |group: Option<&Group>, report: &WatchReport| {
            group.map(|group| share_of(group.totals.covered_ns, report.length_ns()) * 100.0)
        };
        Values { before: pct(self.before, &of.before), after: pct(self.after, &of.after) }
    }

    /// Additional wait per second of wall time, milliseconds, at the same mix.
    fn added_stall(&self) -> Option<f64> {
        self.stall_ms_at_mix().change().zip(self.after?.totals.iops()).map(|(ms, iops)| ms * iops)
    }
}

impl Values {
    pub fn change(self) -> Option<f64> {
        Some(self.after? - self.before?)
    }

    /// The change in percent of before; `None` if that was zero.
    pub fn change_pct(self) -> Option<f64> {
        let before = self.before.filter(|before| *before > 0.0)?;
        self.change().map(|change| change / before * 100.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iostall_model::Counters;

    use crate::windows::fixture;

    fn totals(reads: u64, read_ms: u64, writes: u64, write_ms: u64) -> Totals {
        let amounts = Counters::new()
            .with(Counter::Reads, reads)
            .with(Counter::ReadStall, reads * read_ms * 1_000_000)
            .with(Counter::Writes, writes)
            .with(Counter::WriteStall, writes * write_ms * 1_000_000);
        Totals { covered_ns: 60_000_000_000, amounts }
    }

    fn is_near(value: Option<f64>, wanted: f64) -> bool {
        value.is_some_and(|value| (value - wanted).abs() < 1e-6 * wanted.abs().max(1.0))
    }

    #[test]
    fn a_change_of_the_mix_alone_is_no_change_of_the_stall() {
        let (before, after) = (totals(90, 1, 10, 11), totals(10, 1, 90, 11));
        assert!(is_near(before.io_stall_ns_mean(), 2e6) && is_near(after.io_stall_ns_mean(), 10e6));
        assert!(is_near(stall_ns_at_mix(&before, &after), 2e6));
    }

    #[test]
    fn without_the_stall_of_an_operation_there_is_no_stall_at_that_mix() {
        assert_eq!(stall_ns_at_mix(&totals(90, 1, 10, 1), &totals(90, 1, 0, 0)), None);
        assert!(is_near(stall_ns_at_mix(&totals(90, 1, 0, 0), &totals(10, 4, 10, 9)), 4e6));
    }

    #[test]
    fn what_is_in_one_window_alone_is_told_so_and_has_no_change() {
        let comparison = fixture::comparison();
        let pairs = comparison.pairs(usize::MAX);
        let presence =
            |name: &str| pairs.iter().find(|pair| pair.key.name.contains(name)).unwrap().presence();
        assert_eq!(
            (presence("t.ibd"), presence("new.ibd"), presence("a.mdf")),
            (Presence::Before, Presence::After, Presence::Both)
        );
        let gone = pairs.iter().find(|pair| pair.presence() == Presence::Before).unwrap();
        assert_eq!(gone.stall_ms_at_mix().change(), None);
    }

    #[test]
    fn the_group_whose_stall_grew_most_in_all_comes_first() {
        let comparison = fixture::comparison();
        let pairs = comparison.pairs(usize::MAX);
        assert_eq!(pairs[0].key.name, "E:\\data\\a.mdf");
        assert!(is_near(pairs[0].stall_ms_at_mix().change_pct(), 200.0));
    }

    #[test]
    fn the_whole_is_weighted_by_the_io_of_before() {
        let comparison = fixture::comparison();
        let all = comparison.overall();
        let files = all.iter().find(|one| one.kind == Kind::SqlServerFile).unwrap();
        assert!(is_near(files.stall_ns.change_pct(), 200.0));
        assert!(is_near(Some(files.ops_share), 1.0));
        assert!(all.iter().all(|one| one.kind != Kind::MysqlFile), "no file of it is in both");
    }

    /// A window over one file a name, with what it did.
    fn window_of(files: &[(&str, Totals)]) -> WatchReport {
        let mut report = fixture::report();
        report.window.groups.clear();
        for (name, totals) in files {
            let key = GroupKey { source: "s".into(), kind: Kind::SqlServerFile, name: (*name).into() };
            report.window.groups.entry(key).or_default().totals = *totals;
        }
        report
    }

    /// The file whose stall grew by 90 ms did next to nothing; the one that held everybody up grew by 4 ms.
    #[test]
    fn growth_counts_by_how_much_io_waits_for_it_and_what_cannot_be_compared_is_last() {
        let before = [("a", totals(6, 10, 0, 0)), ("b", totals(600, 2, 600, 2)), ("c", totals(600, 5, 0, 0))];
        let after = [
            ("a", totals(6, 100, 0, 0)),
            ("b", totals(6_000, 6, 6_000, 6)),
            ("c", totals(600, 1, 0, 0)),
            ("d", totals(9_000, 9, 0, 0)),
        ];
        let comparison = WatchComparison { before: window_of(&before), after: window_of(&after) };
        let pairs = comparison.pairs(20);
        assert_eq!(pairs.iter().map(|pair| pair.key.name.as_str()).collect::<Vec<_>>(), ["b", "a", "c", "d"]);
        assert_eq!(pairs[0].stall_ms_at_mix(), Values { before: Some(2.0), after: Some(6.0) });
        assert_eq!(pairs[2].stall_ms_at_mix().change(), Some(-4.0));
        let covered = pairs[3].covered_pct(&comparison);
        assert_eq!(covered.before, None);
        assert!(is_near(covered.after, 60.0 / 1_800.0 * 100.0));
    }

    #[test]
    fn the_whole_is_the_mean_over_the_requests_of_before_that_have_a_stall_in_both() {
        let before =
            [("a", totals(300, 2, 100, 4)), ("b", totals(600, 10, 0, 0)), ("gone", totals(1_000, 1, 0, 0))];
        let after = [("a", totals(9, 4, 9, 8)), ("b", totals(1, 20, 0, 0))];
        let comparison = WatchComparison { before: window_of(&before), after: window_of(&after) };
        let [overall] = &comparison.overall()[..] else { panic!("one kind of one source") };
        // 300 of 2 ms, 100 of 4 ms and 600 of 10 ms: 7 ms; twice that after.
        assert!(
            is_near(overall.stall_ns.before, 7e6) && is_near(overall.stall_ns.after, 14e6),
            "{overall:?}"
        );
        assert!(is_near(Some(overall.ops_share), 0.5), "half of the requests were to a file that is gone");
    }

    #[test]
    fn a_pair_is_idle_where_nothing_was_done_in_either_window() {
        let still = totals(0, 0, 0, 0);
        let idle = |before: Totals, after: Totals| {
            let comparison =
                WatchComparison { before: window_of(&[("a", before)]), after: window_of(&[("a", after)]) };
            comparison.pairs(1)[0].is_idle()
        };
        assert!(idle(still, still));
        assert!(!idle(totals(1, 1, 0, 0), still) && !idle(still, totals(0, 0, 1, 1)));
        assert_eq!(stall_ns_at_mix(&still, &totals(1, 1, 1, 1)), None, "no requests, no mix");
    }

    #[test]
    fn a_change_from_nothing_has_no_percentage() {
        assert_eq!(Values { before: Some(0.0), after: Some(3.0) }.change_pct(), None);
        assert!(is_near(Values { before: Some(4.0), after: Some(3.0) }.change_pct(), -25.0));
    }
}
