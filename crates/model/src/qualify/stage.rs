//! The stages of a qualification: what each measures, and when it is over.

use iostall_measure::{BlockSize, Durability, Nanos, Percent};

use crate::profile::Access;

#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    pub write_pct: Percent,
    pub size: BlockSize,
    pub access: Access,
    pub queue_depth: u32,
    pub workers: u32,
    /// The part of the active range that is used, from its start.
    pub range_pct: Percent,
    pub durability: Durability,
    pub length: Nanos,
    pub pause: Nanos,
}

impl Cell {
    /// Length with the pause after it, nanoseconds.
    fn whole_ns(&self) -> u64 {
        self.length.0.saturating_add(self.pause.0)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Figure {
    Iops,
    MbPerS,
    LatencyMs,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Stage {
    /// In words, such as `128K`; empty if the test has only one.
    pub name: String,
    /// How often its range is written in order before it, and in requests of how many bytes.
    pub passes: (u32, u32),
    pub rest: Nanos,
    pub cells: Vec<Cell>,
    /// Indices of the cells that must be steady. Empty: the number of rounds is fixed.
    pub tracked: Vec<usize>,
    pub figure: Figure,
    /// A window is made of parts of what is written. Else of rounds.
    pub by_fill: bool,
    pub rounds_max: u32,
    /// It ends when it has written its range this often.
    pub fills_max: Option<u32>,
}

/// A window, and the one that confirms it.
const ROUNDS_MIN: u32 = 10;

impl Stage {
    pub fn range_pct(&self) -> Percent {
        let largest =
            |left: Percent, right: &Cell| if right.range_pct > left { right.range_pct } else { left };
        self.cells.iter().fold(Percent::ZERO, largest)
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a share of a u64 fits a u64"
    )]
    pub fn range_bytes(&self, active_bytes: u64) -> u64 {
        (active_bytes as f64 * self.range_pct().fraction()).round() as u64
    }

    pub fn is_until_steady(&self) -> bool {
        !self.tracked.is_empty()
    }

    pub fn rounds_min(&self, is_quick: bool) -> u32 {
        if self.is_until_steady() && !is_quick { ROUNDS_MIN.min(self.rounds_max) } else { self.rounds_max }
    }

    /// Length of a round without what comes between its measurements, nanoseconds.
    pub fn round_ns(&self) -> u64 {
        self.cells.iter().map(Cell::whole_ns).fold(0, u64::saturating_add)
    }

    /// The part of a round's time that writes.
    pub fn write_share(&self) -> f64 {
        let writing_ns: f64 =
            self.cells.iter().map(|cell| cell.length.0 as f64 * cell.write_pct.fraction()).sum();
        writing_ns / (self.round_ns().max(1)) as f64
    }
}
