//! `iostall drive flash`.

use serde::{Deserialize, Serialize};

use super::outcome::Outcome;
use crate::capacity::Capacity;
use crate::entry::Summary;
use crate::flash::FlashSettings;
use crate::measured::Measured;
use crate::outcome::EngineUse;
use crate::point::Point;
use crate::profile::Profile;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FlashOutcome {
    /// What was simulated: fewer pages than the device has, if that makes no difference.
    pub settings: FlashSettings,
    /// Bytes that the host can address on the device that was asked for.
    pub device_bytes: u64,
    pub memory_bytes: u64,
    pub elapsed_ns: u64,
    /// After every page was written once in order: each a tenth of a fill of the device, in order.
    pub tenths: Vec<FlashTenth>,
    /// How many of `tenths` are left out of the figures: the device does not yet move as much as it will.
    pub tenths_left_out: u32,
    /// Pages programmed for each page of the host. `None` if too little was simulated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_amplification: Option<Between>,
    pub closed_forms: Vec<ClosedForm>,
    pub wear: FlashWear,
    /// What the device did beside collection; `None` if it was asked for nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upkeep: Option<FlashUpkeep>,
    pub nand: Nand,
    /// Random writes a second, over those of a device that moves nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iops_ratio: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub life: Option<FlashLife>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spare_for: Option<SpareFor>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlashTenth {
    pub host_pages: u64,
    pub moved_pages: u64,
    /// Pages of the host that a cache took and that never came to the blocks behind it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub absorbed_pages: u64,
    pub erased_blocks: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl FlashTenth {
    /// Pages programmed, without those of a cache, for each page of the host; `None` if it wrote none.
    pub fn write_amplification(&self) -> Option<f64> {
        let programmed = self.host_pages.saturating_sub(self.absorbed_pages) + self.moved_pages;
        (self.host_pages > 0).then(|| programmed as f64 / self.host_pages as f64)
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlashUpkeep {
    pub host_pages: u64,
    /// Pages moved to level wear, or because a block was old or much read.
    pub refreshed_pages: u64,
    /// Pages of the host that a cache took and that never came to the blocks behind it.
    pub absorbed_pages: u64,
    pub bad_blocks: u32,
    /// Good blocks at the beginning.
    pub blocks: u32,
}

/// A number with its 95 % confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Between {
    pub mean: f64,
    pub low: f64,
    pub high: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClosedForm {
    /// What it assumes, in words.
    pub name: String,
    pub write_amplification: f64,
    /// Whether it is for what was simulated, and not only for something near.
    pub is_same: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FlashWear {
    pub erases_mean: f64,
    pub erases_min: u32,
    pub erases_max: u32,
}

impl FlashWear {
    pub fn of(erases: &[u32]) -> Self {
        let sum: u64 = erases.iter().copied().map(u64::from).sum();
        Self {
            erases_mean: if erases.is_empty() { 0.0 } else { sum as f64 / erases.len() as f64 },
            erases_min: erases.iter().copied().min().unwrap_or(0),
            erases_max: erases.iter().copied().max().unwrap_or(0),
        }
    }

    /// The most erases of a block over the mean; `None` before anything was erased.
    pub fn spread(&self) -> Option<f64> {
        (self.erases_mean > 0.0).then(|| f64::from(self.erases_max) / self.erases_mean)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Nand {
    pub read_us: f64,
    pub program_us: f64,
    pub erase_us: f64,
    /// Erases that a block bears.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cycles: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct FlashLife {
    pub written_bytes: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub daily_bytes: Option<u64>,
}

impl FlashLife {
    pub fn days(&self) -> Option<f64> {
        self.daily_bytes.filter(|bytes| *bytes > 0).map(|bytes| self.written_bytes / bytes as f64)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SpareFor {
    pub write_amplification: f64,
    /// Spare area over user area.
    pub spare: Between,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spare_by_form: Option<f64>,
}

impl Outcome for FlashOutcome {
    fn kind(&self) -> &'static str {
        "flash"
    }

    fn used_bytes(&self, _index: usize, _whole_bytes: u64) -> Option<u64> {
        None
    }

    fn profile(&self) -> Option<&Profile> {
        None
    }

    // It computes, and reads and writes nothing.
    fn engines(&self) -> Vec<&EngineUse> {
        Vec::new()
    }

    fn points(&self) -> &[Point] {
        &[]
    }

    fn measured(&self) -> Vec<Measured> {
        Vec::new()
    }

    fn capacities(&self, _targets: usize) -> Vec<Capacity> {
        Vec::new()
    }

    // Nothing was measured on a device.
    fn summary(&self) -> Summary {
        Summary::default()
    }
}
