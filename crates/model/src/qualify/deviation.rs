//! What a qualification did otherwise than the specification that it follows.

use serde::{Deserialize, Serialize};

use super::health::Disturbance;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Deviation {
    /// The drive kept what was written before.
    NotPurged,
    /// It was told to discard the active range, which is no secure erase.
    Discarded,
    /// Holes were made in the file; the drive may not know of them.
    Punched,
    FewerPasses {
        passes: u32,
    },
    ShortCells {
        cell_ns: u64,
        #[serde(default = "minute_ns")]
        specified_ns: u64,
    },
    /// Not all mixes and sizes of the specification.
    FewerCells {
        cells: u32,
    },
    SizeLeftOut {
        bytes: u32,
        align: u32,
    },
    /// Windows of tenths of a fill, in place of a minute in every thirty.
    WindowsByFill,
    /// Another number of requests in flight than is recommended.
    InFlight {
        queue_depth: u32,
        workers: u32,
        #[serde(default = "queue_depth_wanted")]
        queue_depth_wanted: u32,
        #[serde(default = "workers_wanted")]
        workers_wanted: u32,
    },
    /// More requests in flight than the block layer's queue of the device takes: the others wait before it.
    DeeperThanQueue {
        in_flight: u32,
        queue: u32,
    },
    FewerBursts {
        bursts: u32,
        specified: u32,
    },
    OwnTest,
    /// The write cache was neither switched off nor on: writes that must be durable stand for a drive without one.
    CacheByWriteThrough,
    PartOfDevice {
        used_bytes: u64,
        device_bytes: u64,
    },
    /// Nobody knows what device is under the target, or how large it is.
    DeviceUnknown,
    /// A file: the file system decides where blocks lie, and the device has other data too.
    InFileSystem {
        name: String,
        options: String,
    },
    /// Spare area is what is discarded, and nobody knows whether the rest of the device is.
    RestUnknown {
        rest_bytes: u64,
    },
    WriteCache {
        mode: String,
    },
    WriteCacheUnknown,
    /// The machine is virtual, and so may the device be.
    Virtual {
        hypervisor: String,
    },
    /// The test was interrupted, and the drive idle, before this round.
    Interrupted {
        before_round: u32,
        idle_ns: u64,
    },
    Disturbed {
        by: Disturbance,
    },
}

// The tests of old runs.
fn minute_ns() -> u64 {
    60_000_000_000
}

fn queue_depth_wanted() -> u32 {
    32
}

fn workers_wanted() -> u32 {
    4
}
