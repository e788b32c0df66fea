//! What a drive says of its own wear at one time.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::warning::Warning;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DriveLink {
    Sata,
    Sas,
    Nvme,
}

impl DriveLink {
    /// What no drive of this sort can take in, bytes a second: SATA 6 Gbit/s, SAS 24 Gbit/s, four lanes of PCIe 5.
    pub fn bytes_per_s_max(self) -> u64 {
        match self {
            Self::Sata => 600_000_000,
            Self::Sas => 2_400_000_000,
            Self::Nvme => 16_000_000_000,
        }
    }
}

/// So many characters of so few kinds are no number of a single drive: `AA000000000000000001`.
const FILLED_CHARS_MIN: usize = 8;
const FILLED_KINDS_MAX: usize = 3;
/// `123456`, `0123456789ABCDEF` up to its letters.
const COUNTED_CHARS_MIN: usize = 6;
/// What stands in place of a serial number, in lower case and without punctuation.
const NO_SERIALS: [&str; 12] = [
    "redacted",
    "removed",
    "hidden",
    "anonymous",
    "unknown",
    "none",
    "na",
    "default",
    "serial",
    "serialnumber",
    "tobefilledbyoem",
    "0123456789abcdef",
];

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DriveIdentity {
    pub model: String,
    /// The family in the database of smartmontools, which decides what an attribute means.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub family: Option<String>,
    /// Its serial number, or a name given to a document without one.
    pub serial: String,
    /// Where it was read, if the serial number is none that a maker gave: the same name elsewhere is another drive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub firmware: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<DriveLink>,
    /// What a host can address, bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity_bytes: Option<u64>,
}

impl DriveIdentity {
    /// Whether its serial number is one that a maker gives a single drive. Cheap drives, bridges and hypervisors fill in zeros,
    /// documents that were made anonymous a word, and a document without one has the name of its file or device.
    pub fn has_serial(&self) -> bool {
        let serial: Vec<char> = self.serial.chars().filter(char::is_ascii_alphanumeric).collect();
        let mut kinds = serial.clone();
        kinds.sort_unstable();
        kinds.dedup();
        let is_filled = serial.len() >= FILLED_CHARS_MIN && kinds.len() <= FILLED_KINDS_MAX;
        let is_counted = serial.len() >= COUNTED_CHARS_MIN
            && serial.windows(2).all(|pair| {
                matches!(pair, ['9', '0']) || matches!(pair, [a, b] if u32::from(*b) == u32::from(*a) + 1)
            });
        let word: String = serial.iter().map(char::to_ascii_lowercase).collect();
        let is_word = NO_SERIALS.contains(&word.as_str());
        let is_path = self.serial.starts_with('/');
        !(serial.is_empty() || is_filled || is_counted || is_word || is_path)
    }

    /// Whether readings of both are of one drive, as far as they say. A log of its own has no model and no capacity.
    pub fn is_same(&self, other: &Self) -> bool {
        fn agree<T: PartialEq>(one: Option<T>, other: Option<T>) -> bool {
            one.zip(other).is_none_or(|(one, other)| one == other)
        }
        let model = |drive: &Self| Some(drive.model.clone()).filter(|model| !model.is_empty());
        self.serial == other.serial
            && agree(model(self), model(other))
            && agree(self.capacity_bytes, other.capacity_bytes)
            && agree(self.place.as_ref(), other.place.as_ref())
    }
}

/// Bytes since the drive was made, and which of its counters says so.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CountedBytes {
    pub bytes: u64,
    /// Such as `attribute 241 x 32 MiB`.
    pub origin: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CountedPercent {
    /// A whole number, as drives count it. It may be more than 100.
    pub percent: u64,
    pub origin: String,
}

/// The counters of a drive. What it does not count is absent, which is different from zero.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wear {
    /// Written by hosts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<CountedBytes>,
    /// Programmed into the flash.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nand: Option<CountedBytes>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used: Option<CountedPercent>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spare_percent: Option<u64>,
    /// Below this the drive warns, percent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spare_threshold_percent: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power_on_hours: Option<u64>,
    /// Minutes in which it worked on commands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub busy_minutes: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub erase_cycles: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media_errors: Option<u64>,
    /// The bits of NVMe's critical warning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub critical_warning: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passed: Option<bool>,
}

impl Wear {
    pub fn host_bytes(&self) -> Option<u64> {
        self.host.as_ref().map(|counted| counted.bytes)
    }

    pub fn nand_bytes(&self) -> Option<u64> {
        self.nand.as_ref().map(|counted| counted.bytes)
    }

    pub fn used_percent(&self) -> Option<u64> {
        self.used.as_ref().map(|counted| counted.percent)
    }

    /// Takes from `other` what is absent here: another log of the same drive at the same time.
    pub fn fill_from(&mut self, other: Self) {
        fn fill<T>(mine: &mut Option<T>, theirs: Option<T>) {
            if mine.is_none() {
                *mine = theirs;
            }
        }
        fill(&mut self.host, other.host);
        fill(&mut self.nand, other.nand);
        fill(&mut self.used, other.used);
        fill(&mut self.spare_percent, other.spare_percent);
        fill(&mut self.spare_threshold_percent, other.spare_threshold_percent);
        fill(&mut self.power_on_hours, other.power_on_hours);
        fill(&mut self.busy_minutes, other.busy_minutes);
        fill(&mut self.erase_cycles, other.erase_cycles);
        fill(&mut self.media_errors, other.media_errors);
        fill(&mut self.critical_warning, other.critical_warning);
        fill(&mut self.passed, other.passed);
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DriveReading {
    pub drive: DriveIdentity,
    /// `None` if the document does not say when it was taken.
    pub taken_utc: Option<Timestamp>,
    pub wear: Wear,
    pub warnings: Vec<Warning>,
}
