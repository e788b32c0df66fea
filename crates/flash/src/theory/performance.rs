//! From write amplification to speed and life.

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NandTimes {
    pub read_us: f64,
    pub program_us: f64,
    pub erase_us: f64,
}

impl NandTimes {
    /// Chips with two or three bits a cell, as MQSim's sample configuration has them.
    pub const TYPICAL: Self = Self { read_us: 75.0, program_us: 750.0, erase_us: 3800.0 };

    /// How long a plane is busy for each page that the host writes, microseconds, with blocks of `pages` pages.
    pub fn write_us(&self, write_amplification: f64, pages: u32) -> f64 {
        self.program_us
            + (write_amplification - 1.0) * (self.read_us + self.program_us)
            + write_amplification / f64::from(pages) * self.erase_us
    }

    /// Random writes a second, over those of a device that moves nothing.
    pub fn iops_ratio(&self, write_amplification: f64, pages: u32) -> f64 {
        self.write_us(1.0, pages) / self.write_us(write_amplification, pages)
    }
}

/// Bytes that the host can write until the blocks have been erased `cycles` times on average over `wear_spread`, the largest
/// number of erases of a block over the mean, at least 1.
pub fn lifetime_bytes(cycles: f64, physical_bytes: f64, write_amplification: f64, wear_spread: f64) -> f64 {
    cycles * physical_bytes / (write_amplification * wear_spread.max(1.0))
}
