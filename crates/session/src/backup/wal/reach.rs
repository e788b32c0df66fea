//! How far the log in an archive leads from a base backup.

use iostall_connect::postgres::Lsn;

use super::inventory::{Ancestor, Inventory, Segment};
use super::name::SegmentName;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Base {
    pub(super) timeline: u32,
    pub(super) start: Lsn,
    pub(super) stop: Lsn,
    /// Whether the last segment that it has may have been copied before it was full: a standby ends none.
    pub(super) from_standby: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Missing {
    pub(super) first: SegmentName,
    pub(super) last: SegmentName,
    pub(super) count: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Reach {
    /// The position after the last record that can be replayed.
    pub(super) end: Lsn,
    /// The last transaction end among them, microseconds since 1970.
    pub(super) last_us: Option<i64>,
    /// What is missing then, if there is something after it.
    pub(super) missing: Option<Missing>,
}

/// The way of a recovery: which timeline a segment is read from.
#[derive(Clone, Debug)]
pub(super) struct Way {
    steps: Vec<(u32, u64)>,
    ancestors: Vec<Ancestor>,
}

impl Way {
    /// To the end of `timeline`. `None` if its history is not in the archive.
    pub(super) fn to(inventory: &Inventory, timeline: u32) -> Option<Self> {
        let ancestors = match inventory.histories.get(&timeline) {
            Some(ancestors) => ancestors.clone(),
            // The first one has none.
            None if timeline == 1 => Vec::new(),
            None => return None,
        };
        let mut steps = Vec::new();
        let mut first = 0;
        for ancestor in &ancestors {
            steps.push((ancestor.timeline, first));
            first = ancestor.until.0 / inventory.cluster.segment_bytes;
        }
        steps.push((timeline, first));
        Some(Self { steps, ancestors })
    }

    /// Along `timeline` alone, whose history is not known.
    pub(super) fn along(timeline: u32) -> Self {
        Self { steps: vec![(timeline, 0)], ancestors: Vec::new() }
    }

    /// Whether a recovery of `base` can take it: the base is of one of its timelines, and from before that was left.
    pub(super) fn leads_from(&self, base: &Base) -> bool {
        let is_it = |ancestor: &&Ancestor| ancestor.timeline == base.timeline;
        match self.ancestors.iter().find(is_it) {
            Some(ancestor) => base.stop <= ancestor.until,
            None => self.timeline() == base.timeline,
        }
    }

    pub(super) fn timeline(&self) -> u32 {
        self.steps.last().map_or(1, |(timeline, _)| *timeline)
    }

    pub(super) fn owner(&self, number: u64) -> u32 {
        let step = self.steps.iter().rev().find(|(_, first)| *first <= number);
        step.map_or(1, |(timeline, _)| *timeline)
    }

    fn segment<'a>(&self, inventory: &'a Inventory, number: u64) -> Option<&'a Segment> {
        inventory.segments.get(&(self.owner(number), number))
    }

    fn next(&self, inventory: &Inventory, number: u64) -> Option<u64> {
        let of_step = |(at, (timeline, first)): (usize, &(u32, u64))| {
            let end = self.steps.get(at + 1).map_or(u64::MAX, |(_, next)| *next);
            let from = number.max(*first);
            if from >= end {
                return None;
            }
            let range = inventory.segments.range((*timeline, from)..(*timeline, end));
            range.map(|((_, number), _)| *number).next()
        };
        self.steps.iter().enumerate().filter_map(of_step).min()
    }

    /// From segment `number` up to the one before `next`.
    fn missing(&self, inventory: &Inventory, number: u64, next: u64) -> Missing {
        Missing {
            first: inventory.name(self.owner(number), number),
            last: inventory.name(self.owner(next - 1), next - 1),
            count: next - number,
        }
    }

    pub(super) fn reach(&self, inventory: &Inventory, base: &Base) -> Reach {
        let bytes = inventory.cluster.segment_bytes;
        // The base has the segments up to its own end, and those count even where the archive has lost them.
        let first = base.start.0 / bytes;
        let own = base.stop.0.saturating_sub(1) / bytes;
        let mut reach = Reach { end: base.stop, ..Reach::default() };
        let mut number = first;
        loop {
            let Some(segment) = self.segment(inventory, number) else {
                if number < own || (number == own && !base.from_standby) {
                    number += 1;
                    continue;
                }
                reach.missing =
                    self.next(inventory, number).map(|next| self.missing(inventory, number, next));
                return reach;
            };
            reach.end = reach.end.max(Lsn(segment.facts.end_lsn));
            reach.last_us = reach.last_us.max(segment.facts.times_us.map(|(_, last_us)| last_us));
            if segment.is_partial {
                reach.missing =
                    self.next(inventory, number + 1).map(|next| self.missing(inventory, number, next));
                return reach;
            }
            number += 1;
        }
    }
}

#[cfg(test)]
mod tests;
