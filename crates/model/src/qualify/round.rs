//! What was measured, round by round.

use iostall_measure::{BlockSize, Percent};
use serde::{Deserialize, Serialize};

use crate::point::Point;
use crate::profile::BlockMix;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Purged {
    #[default]
    None,
    Discarded,
    /// Holes were made in the file. Its file system discards them on the device at once, later, or never.
    Punched,
    Formatted,
    BlocksErased,
    /// The key of the drive's encryption was erased by Sanitize.
    KeyErased,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Preconditioning {
    pub purged: Purged,
    /// Written to make the file, bytes; 0 if it was there.
    pub made_bytes: u64,
    /// Written in order over the active range, bytes.
    pub written_bytes: u64,
    pub elapsed_ns: u64,
}

/// One round: every mix and size once. A sample of the write saturation is a round with one measurement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct QualifyRound {
    /// Index of its stage; absent: the first one.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub stage: u32,
    /// Time without load before it, nanoseconds, because the test was interrupted there: a drive recovers in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_ns: Option<u64>,
    /// Written by the rounds up to its end, bytes.
    pub written_bytes: u64,
    pub points: Vec<Point>,
}

impl QualifyRound {
    pub fn point(&self, write_pct: Percent, size: BlockSize) -> Option<&Point> {
        let mix = BlockMix::single(size);
        self.points.iter().find(|point| point.write_pct == write_pct && point.block_size == mix)
    }

    pub fn own_written_bytes(&self) -> u64 {
        let written = |point: &Point| {
            let bytes: u64 = point.repeats.iter().map(|repeat| repeat.bytes).sum();
            share(bytes, point.write_pct)
        };
        self.points.iter().map(written).sum()
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of a u64 fits a u64")]
fn share(bytes: u64, write_pct: Percent) -> u64 {
    (bytes as f64 * write_pct.fraction()).round() as u64
}

/// Rounds in a row, numbered from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoundSpan {
    pub first: u32,
    /// Included.
    pub last: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stopped {
    Steady,
    Rounds,
    WriteLimit,
    /// Everything else was steady, but the drive was disturbed, which more rounds do not mend.
    Disturbed,
    Interrupted,
}
