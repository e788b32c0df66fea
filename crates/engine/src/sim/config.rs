//! What a simulated device is like.

use iostall_measure::Durability;

/// A simulated device, its files and its faults. Start from [`SimConfig::default`] and change what matters:
///
/// ```
/// use iostall_engine::sim::{SimConfig, SimFile, Stall};
///
/// let config = SimConfig {
///     seed: 7,
///     files: vec![SimFile { size_bytes: 1 << 20, ..SimFile::default() }],
///     stalls: vec![Stall { from_ns: 1_000_000_000, to_ns: 1_500_000_000 }],
///     ..SimConfig::default()
/// };
/// assert_eq!(config.channels, 32);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct SimConfig {
    /// All that is random follows from it: the same seed and the same requests give the same run. A test that
    /// fails prints it.
    pub seed: u64,
    /// Its files, in the order that [`FileIndex`](crate::FileIndex) counts.
    pub files: Vec<SimFile>,
    /// Requests served at the same time; the rest queue. At least 1.
    pub channels: u32,
    /// Shortest service of a read or write, nanoseconds.
    pub service_ns_base: u64,
    /// Mean of the exponential part on top of it, nanoseconds; 0 makes service constant.
    pub service_ns_tail_mean: u64,
    /// Service of a sync call, nanoseconds.
    pub sync_ns: u64,
    /// Times in which no request makes progress.
    pub stalls: Vec<Stall>,
    /// What goes wrong.
    pub faults: Faults,
}

impl Default for SimConfig {
    /// A small solid-state drive: 32 channels, reads and writes of 80 µs and an exponential 20 µs more, syncs of
    /// 500 µs, one file of 1 GiB, no faults.
    fn default() -> Self {
        Self {
            seed: 0,
            files: vec![SimFile::default()],
            channels: 32,
            service_ns_base: 80_000,
            service_ns_tail_mean: 20_000,
            sync_ns: 500_000,
            stalls: Vec::new(),
            faults: Faults::default(),
        }
    }
}

/// A file on it. What was never written reads as zeroes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SimFile {
    /// Size at the start; writes behind it make it grow.
    pub size_bytes: u64,
    /// Where space ends: a write that reaches over it is short, one that begins there fails with `ENOSPC`.
    pub space_bytes: Option<u64>,
    /// Whether each write is durable when it completes.
    pub durability: Durability,
}

impl Default for SimFile {
    fn default() -> Self {
        Self { size_bytes: 1 << 30, space_bytes: None, durability: Durability::None }
    }
}

/// A time in which no request makes progress, on the device's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stall {
    /// First nanosecond.
    pub from_ns: u64,
    /// First nanosecond after it.
    pub to_ns: u64,
}

/// What goes wrong, and how often.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Faults {
    /// Requests that fail with `EIO`, by the order in which the device got them, from 0.
    pub eio_at: Vec<u64>,
    /// Share of requests that fail with `EIO`, 0 to 1.
    pub eio_probability: f64,
    /// Share of reads and writes of more than a sector that move only some of their sectors, 0 to 1.
    pub short_probability: f64,
}
