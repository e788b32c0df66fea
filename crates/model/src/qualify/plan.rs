//! What a qualification measures.

use iostall_measure::{BlockSize, ByteCount, Nanos, Percent, named};
use serde::{Deserialize, Serialize};

named! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum QualifyTest {
        /// Random requests a second for every mix and size, in rounds until they no longer change.
        Iops = "iops",
        /// Random writes of 4 KiB without a pause: how a drive falls from its first speed to its last.
        Saturation = "saturation",
        /// Large requests in order: MB a second.
        Throughput = "throughput",
        /// One request at a time: how long it takes.
        Latency = "latency",
        /// Random writes with pauses: how far a drive recovers in them.
        IdleRecovery = "idle-recovery",
        /// Large writes in order, small ones at random, and the first again: how long the others are felt.
        CrossStimulus = "cross-stimulus",
        /// Threads times depth: latency against requests a second.
        Demand = "demand",
        /// Random writes to a smaller and smaller part of the target.
        ActiveRange = "active-range",
        /// Requests of 4 KiB beside those of 8 KiB.
        Sizes = "sizes",
        Depth = "depth",
        /// Writes with and without a guarantee that they are durable when they return.
        WriteCache = "write-cache",
        /// Writes in order until the fast part of the drive is full, and again after rests.
        FastCache = "fast-cache",
    }
}

impl QualifyTest {
    pub const NAMES: [&'static str; 12] = [
        "iops",
        "saturation",
        "throughput",
        "latency",
        "idle-recovery",
        "cross-stimulus",
        "demand",
        "active-range",
        "sizes",
        "depth",
        "write-cache",
        "fast-cache",
    ];

    pub fn is_specified(self) -> bool {
        match self {
            Self::Iops
            | Self::Saturation
            | Self::Throughput
            | Self::Latency
            | Self::IdleRecovery
            | Self::CrossStimulus
            | Self::Demand => true,
            Self::ActiveRange | Self::Sizes | Self::Depth | Self::WriteCache | Self::FastCache => false,
        }
    }

    pub fn is_saturation(self) -> bool {
        self == Self::Saturation
    }
}

named! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum QualifyScale {
        /// Seconds, and never a claim of a steady state.
        Quick = "quick",
        /// Fewer and shorter measurements than the specification's.
        Standard = "standard",
        /// Those of the specification.
        Full = "full",
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Purge {
    None,
    /// The active range is discarded: all of it, by TRIM or holes in a file.
    Discard,
    /// An NVMe drive is formatted with erasure of user data, in the format that it has.
    Format,
    /// A whole NVMe drive erases itself: its blocks, or if it cannot do that, its key.
    Sanitize,
}

impl Purge {
    pub const NAMES: [&'static str; 4] = ["none", "discard", "format", "sanitize"];
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct QualifyPlan {
    pub test: QualifyTest,
    pub scale: QualifyScale,
    pub purge: Purge,
    pub write_pcts: Vec<Percent>,
    pub sizes: Vec<BlockSize>,
    pub queue_depth: u32,
    pub workers: u32,
    /// How much of the target is used, from its start; absent: all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<ByteCount>,
    pub seed: u64,
    /// How often the active range is written in order before the first round.
    pub passes: u32,
    pub cell: Nanos,
    pub rounds_max: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_limit: Option<ByteCount>,
    /// How large a backup is that is to be loaded onto the drive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backup_size: Option<ByteCount>,
}

impl QualifyPlan {
    /// Size of the sequential writes before the rounds.
    pub const PASS_BYTES: u32 = 128 << 10;

    /// The shares of writes and sizes of a round, in the order of measurement.
    pub fn cells(&self) -> impl Iterator<Item = (Percent, BlockSize)> + '_ {
        let sizes = &self.sizes;
        self.write_pcts.iter().flat_map(move |write_pct| sizes.iter().map(move |size| (*write_pct, *size)))
    }
}
