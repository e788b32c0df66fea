//! Divides a file into extents to move, holes, and ranges that are already at the destination.

use std::collections::VecDeque;
use std::ops::Range;

use iostall_engine::FileIndex;

use crate::pipeline::{Extent, Source, Step};

/// All boundaries between data, holes and resumed ranges are multiples of this, bytes: a memory page, the
/// block size of most file systems, and a multiple of every sector size in use.
pub const PLAN_ALIGN: u64 = 4096;

/// Index of the source among the engine's files.
pub const SOURCE: FileIndex = FileIndex(0);
/// Index of the destination, from which resumed ranges are read.
pub const TARGET: FileIndex = FileIndex(1);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Content {
    Hole,
    Data,
    /// Already at the destination; read only for its checksum.
    Resumed,
}

/// The steps of a file in ascending order. They cover it from 0 to its size without gap or overlap.
#[derive(Clone, Debug)]
pub struct Plan {
    parts: VecDeque<(Range<u64>, Content)>,
    transfer_bytes: u32,
}

impl Plan {
    pub fn whole(size_bytes: u64, transfer_bytes: u32) -> Self {
        Self::new(size_bytes, std::slice::from_ref(&(0..size_bytes)), &[], transfer_bytes)
    }

    /// For a file of `size_bytes` with data in the ranges `data` and holes between, of which the ranges
    /// `resumed` are already at the destination. Both lists ascend and do not overlap; ranges beyond the size
    /// are ignored. Data ranges are widened and resumed ranges narrowed to [`PLAN_ALIGN`]; the transfer size
    /// is rounded up to it.
    pub fn new(size_bytes: u64, data: &[Range<u64>], resumed: &[Range<u64>], transfer_bytes: u32) -> Self {
        let data = widen(data, size_bytes);
        let resumed: Vec<_> = resumed.iter().filter_map(|range| narrow(range, size_bytes)).collect();
        let mut parts = VecDeque::new();
        let mut at = 0;
        for range in data {
            if at < range.start {
                parts.push_back((at..range.start, Content::Hole));
            }
            at = range.end;
            cut_out(range, &resumed, &mut parts);
        }
        if at < size_bytes {
            parts.push_back((at..size_bytes, Content::Hole));
        }
        let align = u32::try_from(PLAN_ALIGN).unwrap_or(1);
        Self { parts, transfer_bytes: transfer_bytes.max(1).next_multiple_of(align) }
    }

    /// Leaves out the resumed ranges, which need not be read if nothing is hashed.
    pub fn without_resumed(mut self) -> Self {
        for (_, content) in &mut self.parts {
            if *content == Content::Resumed {
                *content = Content::Hole;
            }
        }
        self
    }

    pub fn hole_bytes(&self) -> u64 {
        let holes = self.parts.iter().filter(|(_, content)| *content == Content::Hole);
        holes.map(|(range, _)| range.end - range.start).sum()
    }

    pub fn holes(&self) -> Vec<Range<u64>> {
        let holes = self.parts.iter().filter(|(_, content)| *content == Content::Hole);
        holes.map(|(range, _)| range.clone()).collect()
    }

    pub fn ranges_to_write(&self) -> Vec<Range<u64>> {
        let data = self.parts.iter().filter(|(_, content)| *content == Content::Data);
        data.map(|(range, _)| range.clone()).collect()
    }
}

impl Source for Plan {
    fn next(&mut self) -> Option<Step> {
        let (range, content) = self.parts.front_mut()?;
        let offset = range.start;
        match *content {
            Content::Hole => {
                let length = range.end - offset;
                self.parts.pop_front();
                Some(Step::Hole { file: SOURCE, offset, length })
            }
            content => {
                let transfer_bytes = u64::from(self.transfer_bytes);
                // Up to the next multiple of the transfer size, so that extents of equal size are aligned on
                // the device whatever the holes before them.
                let end = ((offset / transfer_bytes + 1) * transfer_bytes).min(range.end);
                range.start = end;
                if range.is_empty() {
                    self.parts.pop_front();
                }
                let length = u32::try_from(end - offset).unwrap_or(self.transfer_bytes);
                let file = if content == Content::Resumed { TARGET } else { SOURCE };
                Some(Step::Read(Extent { file, offset, length }))
            }
        }
    }
}

/// Data ranges widened to the grid, the last one ending at the size, neighbours joined.
fn widen(data: &[Range<u64>], size_bytes: u64) -> Vec<Range<u64>> {
    let mut wide: Vec<Range<u64>> = Vec::with_capacity(data.len());
    for range in data.iter().filter(|range| range.start < size_bytes) {
        let start = range.start / PLAN_ALIGN * PLAN_ALIGN;
        let end = range.end.next_multiple_of(PLAN_ALIGN).min(size_bytes);
        match wide.last_mut() {
            Some(last) if start <= last.end => last.end = last.end.max(end),
            _ if start < end => wide.push(start..end),
            _ => {}
        }
    }
    wide
}

/// The blocks of the grid that lie entirely in the range; the last one may end at the size.
fn narrow(range: &Range<u64>, size_bytes: u64) -> Option<Range<u64>> {
    let start = range.start.next_multiple_of(PLAN_ALIGN);
    let end = if range.end >= size_bytes { size_bytes } else { range.end / PLAN_ALIGN * PLAN_ALIGN };
    (start < end).then_some(start..end)
}

fn cut_out(range: Range<u64>, resumed: &[Range<u64>], parts: &mut VecDeque<(Range<u64>, Content)>) {
    let mut at = range.start;
    for there in resumed {
        let (start, end) = (there.start.max(at), there.end.min(range.end));
        if start >= end {
            continue;
        }
        if at < start {
            parts.push_back((at..start, Content::Data));
        }
        parts.push_back((start..end, Content::Resumed));
        at = end;
    }
    if at < range.end {
        parts.push_back((at..range.end, Content::Data));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn steps(mut plan: Plan) -> Vec<Step> {
        std::iter::from_fn(|| plan.next()).collect()
    }

    #[test]
    fn a_file_without_holes_is_cut_at_multiples_of_the_transfer_size() {
        let steps = steps(Plan::whole(10_000, 4096));
        let read = |offset, length| Step::Read(Extent { file: SOURCE, offset, length });
        assert_eq!(steps, [read(0, 4096), read(4096, 4096), read(8192, 1808)]);
    }

    #[test]
    fn an_empty_file_has_no_steps() {
        assert_eq!(steps(Plan::whole(0, 1 << 20)), []);
    }

    #[test]
    fn a_file_that_is_all_hole_moves_nothing() {
        let steps = steps(Plan::new(5000, &[], &[], 4096));
        assert_eq!(steps, [Step::Hole { file: SOURCE, offset: 0, length: 5000 }]);
    }

    /// What each unit of 512 bytes is: 'h'ole, 's'ource or 'r'esumed, from the lists alone.
    fn oracle(size: u64, data: &[Range<u64>], resumed: &[Range<u64>]) -> Vec<char> {
        let touches = |ranges: &[Range<u64>], block: Range<u64>| {
            ranges.iter().any(|range| range.start < block.end.min(size) && block.start < range.end.min(size))
        };
        let covers = |ranges: &[Range<u64>], block: Range<u64>| {
            ranges.iter().any(|range| range.start <= block.start && block.end.min(size) <= range.end)
        };
        (0..size)
            .step_by(512)
            .map(|at| {
                let start = at / PLAN_ALIGN * PLAN_ALIGN;
                let block = start..start + PLAN_ALIGN;
                match () {
                    () if !touches(data, block.clone()) => 'h',
                    () if covers(resumed, block) => 'r',
                    () => 's',
                }
            })
            .collect()
    }

    fn ranges(limit: u64) -> impl Strategy<Value = Vec<Range<u64>>> {
        proptest::collection::vec(0..limit, 0..8).prop_map(|mut points| {
            points.sort_unstable();
            points.dedup();
            points.chunks_exact(2).map(|pair| pair[0]..pair[1]).collect()
        })
    }

    proptest! {
        #[test]
        fn steps_cover_the_file_once_and_agree_with_the_oracle(
            size in 1u64..200_000,
            data in ranges(220_000),
            resumed in ranges(220_000),
            transfer in prop::sample::select(vec![4096u32, 8192, 65536]),
        ) {
            let mut at = 0;
            let mut seen = Vec::new();
            for step in steps(Plan::new(size, &data, &resumed, transfer)) {
                let (offset, length, what) = match step {
                    Step::Hole { offset, length, .. } => (offset, length, 'h'),
                    Step::Fill(_) => unreachable!("a plan fills nothing"),
                    Step::Read(Extent { file, offset, length }) => {
                        prop_assert!(length <= transfer);
                        prop_assert_eq!(offset % PLAN_ALIGN, 0);
                        let what = if file == TARGET { 'r' } else { 's' };
                        (offset, u64::from(length), what)
                    }
                };
                prop_assert_eq!(offset, at);
                prop_assert!(length > 0);
                at += length;
                let blocks = at.div_ceil(512) - seen.len() as u64;
                seen.extend(std::iter::repeat_n(what, usize::try_from(blocks).unwrap()));
            }
            prop_assert_eq!(at, size);
            prop_assert_eq!(seen, oracle(size, &data, &resumed));
        }
    }
}
