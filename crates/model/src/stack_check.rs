//! How the layers under a file or device fit solid-state drives: TRIM, free space, alignment, units.

use iostall_measure::platform::FileSystem;
use serde::{Deserialize, Serialize};

/// What the kernel says about the layout of a device, bytes. `None` if it does not.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockLayout {
    /// Where a partition begins on its disk; `None` for other devices.
    pub start_bytes: Option<u64>,
    /// How far the device is from where its drive would have it; 0: it is aligned.
    pub misaligned_bytes: Option<u64>,
    /// 0: no TRIM.
    pub discard_bytes_max: Option<u64>,
    pub discard_unit_bytes: Option<u64>,
    /// The chunk or the stripe of an array.
    pub optimal_io_bytes: Option<u64>,
    /// What one drive of an array has of a stripe.
    pub chunk_bytes: Option<u64>,
    /// What is erased at once, where a drive says so (eMMC, SD).
    pub erase_bytes: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StackLayer {
    pub device: String,
    pub model: Option<String>,
    /// 0 for the uppermost.
    pub depth: u32,
    pub physical_sector_bytes: Option<u32>,
    #[serde(flatten)]
    pub layout: BlockLayout,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StackAnswer {
    Good,
    Unknown,
    Caution,
    Bad,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StackCheck {
    pub name: String,
    pub answer: StackAnswer,
    pub found: String,
    pub advice: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StackReport {
    pub target: String,
    /// `None` for a device.
    pub file_system: Option<FileSystem>,
    /// From above to the drives.
    pub layers: Vec<StackLayer>,
    pub checks: Vec<StackCheck>,
}

impl StackReport {
    pub fn is_bad(&self) -> bool {
        self.checks.iter().any(|check| check.answer == StackAnswer::Bad)
    }
}
