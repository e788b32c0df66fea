//! The cells of a matrix in the order of measurement.

use iostall_measure::{BlockSize, Percent};
use iostall_model::profile::{Access, BlockMix};
use iostall_model::{MatrixPlan, Point};

/// One cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cell {
    /// Share of writes: all or none.
    pub write_pct: Percent,
    /// Random or sequential.
    pub access: Access,
    pub size: BlockSize,
    /// Requests in flight.
    pub depth: u32,
    /// Index of the target.
    pub device: usize,
}

impl Cell {
    /// `random read 64K, depth 8`, with the target's number if there are several.
    pub(crate) fn in_words(&self) -> String {
        let access = match self.access {
            Access::Random => "random",
            Access::Sequential => "sequential",
        };
        let op = if self.write_pct > Percent::ZERO { "write" } else { "read" };
        format!(
            "{access} {op} {}, depth {}, target {}",
            BlockMix::single(self.size),
            self.depth,
            self.device + 1
        )
    }

    /// Whether `point` belongs to this cell.
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
