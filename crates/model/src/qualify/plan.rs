//! What a qualification measures.

use iostall_measure::{BlockSize, ByteCount, Nanos, Percent};
use serde::{Deserialize, Serialize};

/// What is tested.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum QualifyTest {
    /// Random requests a second for every mix and size, in rounds until they no longer change.
    Iops,
    /// Random writes of 4 KiB without a pause: how a drive falls from its first speed to its last.
    Saturation,
}

impl QualifyTest {
    /// As it is typed.
    pub fn name(self) -> &'static str {
        match self {
            Self::Iops => "iops",
            Self::Saturation => "saturation",
        }
    }
}

/// How thorough it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum QualifyScale {
    /// Seconds, and never a claim of a steady state.
    Quick,
    /// Fewer and shorter measurements than the specification's.
    Standard,
    /// Those of the specification.
    Full,
}

impl QualifyScale {
    /// As it is typed.
    pub fn name(self) -> &'static str {
        match self {
            Self::Quick => "quick",
            Self::Standard => "standard",
            Self::Full => "full",
        }
    }
}

/// How the target is brought into the state before its first write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Purge {
    /// Not at all.
    None,
    /// The active range is discarded: all of it, by TRIM or holes in a file.
    Discard,
}

/// What is asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct QualifyPlan {
    pub test: QualifyTest,
    pub scale: QualifyScale,
    pub purge: Purge,
    /// Shares of writes, in the order of measurement.
    pub write_pcts: Vec<Percent>,
    /// Sizes of requests, in the order of measurement.
    pub sizes: Vec<BlockSize>,
    /// Requests in flight per worker.
    pub queue_depth: u32,
    pub workers: u32,
    /// How much of the target is used, from its start; absent: all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<ByteCount>,
    /// Seed of the random sequences.
    pub seed: u64,
    /// How often the active range is written in order before the first round.
    pub passes: u32,
    /// Length of one measurement of a round.
    pub cell: Nanos,
    /// Most rounds.
    pub rounds_max: u32,
    /// The rounds end when they have written this much.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_limit: Option<ByteCount>,
}

impl QualifyPlan {
    /// Size of the sequential writes before the rounds.
    pub const PASS_BYTES: u32 = 128 << 10;

    /// The shares of writes and sizes of a round, in the order of measurement.
    pub fn cells(&self) -> impl Iterator<Item = (Percent, BlockSize)> + '_ {
        let sizes = &self.sizes;
        self.write_pcts.iter().flat_map(move |write_pct| sizes.iter().map(move |size| (*write_pct, *size)))
    }

    /// Length of a round without what comes between its measurements, nanoseconds.
    pub fn round_ns(&self) -> u64 {
        self.cell.0.saturating_mul(self.cells().count() as u64)
    }

    /// The part of a round's time that writes.
    pub fn write_share(&self) -> f64 {
        let (count, sum) = self
            .cells()
            .fold((0.0, 0.0), |(count, sum), (write_pct, _)| (count + 1.0, sum + write_pct.fraction()));
        if count > 0.0 { sum / count } else { 0.0 }
    }
}
