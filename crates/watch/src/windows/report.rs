//! The report on one window of time.

use std::collections::BTreeMap;

use iostall_model::Verdict;
use iostall_model::part::{Part, PartName, verdicts};
use iostall_model::requirement::Requirement;
use jiff::Timestamp;

use super::group::{Group, GroupKey};
use super::interval::ns_between;
use super::source_history::SourceHistory;
use super::window::{Order, WatchWindow};

#[derive(Clone, Debug)]
pub struct WatchReport {
    pub from: Timestamp,
    pub to: Timestamp,
    pub window: WatchWindow,
    pub sources: Vec<SourceHistory>,
    /// At most so many groups of each source are shown; `None`: as many as the form has room for.
    pub top: Option<usize>,
    pub order: Order,
    pub verdicts: Vec<Verdict>,
}

#[derive(Debug)]
pub struct Shown<'a> {
    pub groups: Vec<(&'a GroupKey, &'a Group)>,
    pub left_out: BTreeMap<&'a str, usize>,
}

impl WatchReport {
    pub fn length_ns(&self) -> u64 {
        ns_between(self.from, self.to)
    }

    /// The groups to show, as many of each source as were asked for, or `room` where nothing was.
    pub fn shown(&self, room: usize) -> Shown<'_> {
        let top = self.top.unwrap_or(room);
        let mut shown = Shown { groups: Vec::new(), left_out: BTreeMap::new() };
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for (key, group) in self.window.worst_first(self.order) {
            let count = counts.entry(&key.source).or_default();
            *count += 1;
            if *count <= top {
                shown.groups.push((key, group));
            } else {
                *shown.left_out.entry(&key.source).or_default() += 1;
            }
        }
        shown
    }

    /// The verdict on each requirement, over all groups, shown or not.
    pub(crate) fn verdicts_on(&self, requirements: &[Requirement]) -> Vec<Verdict> {
        let several = self.sources.len() > 1;
        let part = |(key, group): (&GroupKey, &Group)| {
            let full = format!("{}.{}", key.source, key.name);
            Part {
                label: Some(if several { full.clone() } else { key.name.clone() }),
                name: PartName::OneOf(vec![key.name.clone(), full]),
                iops: group.totals.iops(),
                bytes_per_s: group.totals.bytes_per_second(),
                stall_ns: group.totals.io_stall_ns_mean(),
                may_lack: true,
                ..Part::default()
            }
        };
        let parts: Vec<Part> = self.window.groups.iter().map(part).collect();
        verdicts(&parts, requirements)
    }

    /// The share of the window, 0 to 1, for which there is data from `source`.
    pub fn coverage(&self, source: &str) -> f64 {
        let covered_ns = self.window.covered_ns.get(source).copied().unwrap_or(0);
        share_of(covered_ns, self.length_ns())
    }
}

/// `part` of `whole`, at most 1: the monotonic clock and the calendar differ slightly.
pub fn share_of(part_ns: u64, whole_ns: u64) -> f64 {
    if whole_ns == 0 { 0.0 } else { (part_ns as f64 / whole_ns as f64).min(1.0) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::windows::fixture;

    /// A window of ten minutes of which six were sampled was shown as covered whole.
    #[test]
    fn a_share_is_of_the_whole_and_never_more_than_all_of_it() {
        let near = |share: f64, wanted: f64| (share - wanted).abs() < 1e-12;
        assert!(near(share_of(6, 10), 0.6) && near(share_of(0, 10), 0.0));
        assert!(near(share_of(11, 10), 1.0), "clocks differ a little");
        assert!(near(share_of(5, 0), 0.0));
    }

    #[test]
    fn what_is_left_out_is_counted_by_its_source() {
        let mut report = fixture::report_of(1);
        report.top = Some(1);
        let shown = report.shown(10);
        assert_eq!(shown.groups.len(), 1);
        assert_eq!(shown.left_out, BTreeMap::from([(fixture::SOURCE, 2)]));
        report.top = None;
        assert_eq!(report.shown(2).left_out, BTreeMap::from([(fixture::SOURCE, 1)]));
        assert!(report.shown(3).left_out.is_empty());
    }
}
