//! The cells of a matrix in the order of measurement.

use iostall_measure::{BlockSize, Nanos, Percent};
use iostall_model::profile::{Access, BlockMix};
use iostall_model::{MatrixPlan, Point};

/// Total time for the cells of a quick matrix; the rest of the minute is for what comes between.
const QUICK_NS: u64 = 42_000_000_000;
/// The warm-up of a quick cell is this fraction of its time.
const QUICK_WARMUP_SHARE: u64 = 5;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cell {
    /// Share of writes: all or none.
    pub write_pct: Percent,
    pub access: Access,
    pub size: BlockSize,
    pub depth: u32,
    pub device: usize,
}

impl Cell {
    /// `random read 64 KiB, depth 8`, with the target's number if there are several.
    pub(crate) fn in_words(&self) -> String {
        let access = match self.access {
            Access::Random => "random",
            Access::Sequential => "sequential",
        };
        let op = if self.write_pct > Percent::ZERO { "write" } else { "read" };
        format!(
            "{access} {op} {}, depth {}, target {}",
            BlockMix::single(self.size).in_words(),
            self.depth,
            self.device + 1
        )
    }

    pub(crate) fn is(&self, point: &Point, workers: u32) -> bool {
        point.targets.iter().map(|index| *index as usize).eq([self.device])
            && point.block_size == BlockMix::single(self.size)
            && point.access == self.access
            && point.write_pct == self.write_pct
            && point.queue_depth == self.depth
            && point.workers == workers
    }
}

/// Reads before writes, because writes change what later cells find; devices alternate, so that other
/// activity on the machine affects them alike.
pub fn cells(plan: &MatrixPlan, devices: usize) -> Vec<Cell> {
    let mut cells = Vec::new();
    for write_pct in plan.write_pcts.iter().copied() {
        for access in plan.accesses.iter().copied() {
            for size in plan.sizes.iter().copied() {
                for depth in plan.depths.iter().copied() {
                    cells.extend((0..devices).map(|device| Cell { write_pct, access, size, depth, device }));
                }
            }
        }
    }
    cells
}

/// Has each cell measured once, and all cells of `devices` in less than a minute.
pub fn make_quick(plan: &mut MatrixPlan, devices: usize) {
    let each_ns = QUICK_NS / (cells(plan, devices).len() as u64).max(1);
    plan.warmup = Nanos(each_ns / QUICK_WARMUP_SHARE);
    plan.interval = Nanos(each_ns - plan.warmup.0);
    plan.repeats_max = 1;
}
