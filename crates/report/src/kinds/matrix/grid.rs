//! What was measured in a matrix, by device, pattern, size and depth.

use iostall_measure::{BlockSize, Percent};
use iostall_model::profile::{Access, BlockMix};
use iostall_model::{MatrixOutcome, Point, Run};

use crate::facts;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Pattern {
    pub(super) access: Access,
    pub(super) write_pct: Percent,
}

impl Pattern {
    pub(super) fn writes(self) -> bool {
        self.write_pct > Percent::ZERO
    }

    /// `random write`.
    pub(super) fn name(self) -> &'static str {
        match (self.access, self.writes()) {
            (Access::Random, false) => "random read",
            (Access::Random, true) => "random write",
            (Access::Sequential, false) => "sequential read",
            (Access::Sequential, true) => "sequential write",
        }
    }
}

pub(super) struct Grid<'a> {
    pub(super) run: &'a Run,
    pub(super) outcome: &'a MatrixOutcome,
    /// `A`, `B`, …, with the path of each; a single device has no letter.
    pub(super) devices: Vec<(String, String)>,
    pub(super) used_bytes: Vec<u64>,
}

impl<'a> Grid<'a> {
    pub(super) fn of(run: &'a Run, outcome: &'a MatrixOutcome) -> Self {
        let paths = run.targets.iter().map(|target| facts::path(&target.path));
        let letters = ('A'..='Z').map(String::from).chain((27..).map(|number: u32| number.to_string()));
        let several = run.targets.len() > 1;
        let devices =
            letters.zip(paths).map(|(letter, path)| (if several { letter } else { String::new() }, path));
        let used_bytes = (0..run.targets.len()).map(|index| run.used_bytes(index)).collect();
        Self { run, outcome, devices: devices.collect(), used_bytes }
    }

    pub(super) fn patterns(&self) -> Vec<Pattern> {
        let plan = &self.outcome.plan;
        let patterns = plan.write_pcts.iter().flat_map(|write_pct| {
            plan.accesses.iter().map(|access| Pattern { access: *access, write_pct: *write_pct })
        });
        patterns.collect()
    }

    pub(super) fn cell(
        &self,
        device: usize,
        pattern: Pattern,
        size: BlockSize,
        depth: u32,
    ) -> Option<&'a Point> {
        self.place(device, pattern, size, depth).map(|index| &self.outcome.points[index])
    }

    pub(super) fn place(
        &self,
        device: usize,
        pattern: Pattern,
        size: BlockSize,
        depth: u32,
    ) -> Option<usize> {
        self.outcome.points.iter().position(|point| {
            point.targets.iter().map(|index| *index as usize).eq([device])
                && point.access == pattern.access
                && point.write_pct == pattern.write_pct
                && point.block_size == BlockMix::single(size)
                && point.queue_depth == depth
        })
    }

    /// The depth with the most IOPS.
    pub(super) fn best(&self, device: usize, pattern: Pattern, size: BlockSize) -> Option<&'a Point> {
        let depths = self.outcome.plan.depths.iter();
        let cells = depths.filter_map(|depth| self.cell(device, pattern, size, *depth));
        cells.max_by(|left, right| iops(left).total_cmp(&iops(right)))
    }

    /// `64 KiB`, or `64 KiB A` with several devices.
    pub(super) fn column(&self, size: BlockSize, device: usize) -> String {
        format!("{} {}", BlockMix::single(size).in_words(), self.devices[device].0).trim_end().to_owned()
    }

    pub(super) fn planned(&self) -> usize {
        let plan = &self.outcome.plan;
        self.patterns().len() * plan.sizes.len() * plan.depths.len() * self.devices.len()
    }
}

pub(super) fn iops(point: &Point) -> f64 {
    point.iops().unwrap_or(0.0)
}
