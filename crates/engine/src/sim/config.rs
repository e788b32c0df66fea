//! Configuration of a simulated device.

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
    /// Determines everything random: the same seed and the same requests give the same run. A failing test
    /// prints it.
    pub seed: u64,
    /// In the order of [`FileIndex`](crate::FileIndex).
    pub files: Vec<SimFile>,
    /// Requests served in parallel; the rest queue. At least 1.
    pub channels: u32,
    pub service_ns_base: u64,
    /// Mean of the exponential part added to it, nanoseconds; 0 makes the service time constant.
    pub service_ns_tail_mean: u64,
    pub sync_ns: u64,
    pub stalls: Vec<Stall>,
    pub faults: Faults,
}

impl Default for SimConfig {
    /// A small solid-state drive: 32 channels, reads and writes of 80 µs plus an exponential 20 µs, syncs of
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

/// A file on the device. Unwritten parts read as zeroes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SimFile {
    /// Initial size; writes beyond it extend the file.
    pub size_bytes: u64,
    /// End of the available space: a write across it is short, one beyond it fails with `ENOSPC`.
    pub space_bytes: Option<u64>,
    pub durability: Durability,
}

impl Default for SimFile {
    fn default() -> Self {
        Self { size_bytes: 1 << 30, space_bytes: None, durability: Durability::None }
    }
}

/// A period without progress on any request, on the device's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stall {
    /// First nanosecond.
    pub from_ns: u64,
    /// Exclusive.
    pub to_ns: u64,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Faults {
    /// Requests that fail with `EIO`, by arrival order from 0.
    pub eio_at: Vec<u64>,
    /// Probability that a request fails with `EIO`, 0 to 1.
    pub eio_probability: f64,
    /// Probability that a read or write of more than one sector moves only some of them, 0 to 1.
    pub short_probability: f64,
    /// Whether a write that must be durable when it ends stays in the cache, as on a drive that ignores FUA.
    pub ignores_write_through: bool,
}
