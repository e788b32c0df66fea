//! What a stack promises about writes that are not torn, and what cuts of power showed.

use serde::{Deserialize, Serialize};

/// Sizes of writes with `RWF_ATOMIC`: powers of two, aligned to their size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AtomicUnits {
    /// Bytes; 0: none.
    pub min_bytes: u64,
    /// Bytes; 0: none.
    pub max_bytes: u64,
}

impl AtomicUnits {
    pub fn takes(&self, bytes: u64) -> bool {
        self.max_bytes > 0 && (self.min_bytes..=self.max_bytes).contains(&bytes) && bytes.is_power_of_two()
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AtomicQueue {
    pub units: AtomicUnits,
    /// Of a whole request, bytes; 0: the device promises nothing.
    pub request_bytes_max: u64,
    /// A write may not cross a multiple of this, bytes; 0: it may.
    pub boundary_bytes: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NvmePowerFail {
    /// AWUPF, bytes.
    pub controller_bytes: u64,
    /// NAWUPF, bytes; `None` if the namespace has no units of its own.
    pub namespace_bytes: Option<u64>,
    /// NABSPF: a write may not cross a multiple of this, bytes; 0: it may.
    pub boundary_bytes: u64,
}

impl NvmePowerFail {
    pub fn bytes(&self) -> u64 {
        self.namespace_bytes.unwrap_or(self.controller_bytes)
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AtomicLayer {
    pub device: String,
    /// The level of an array, or the name of a mapping or a drive.
    pub model: Option<String>,
    pub logical_sector_bytes: Option<u32>,
    pub physical_sector_bytes: Option<u32>,
    /// Where a partition begins on its disk, bytes; `None` for other devices.
    pub start_bytes: Option<u64>,
    /// `None` if the kernel does not say, and for a partition, whose disk has the queue.
    pub queue: Option<AtomicQueue>,
    /// `None` for other drives, without nvme-cli, and for who is not root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nvme: Option<NvmePowerFail>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AtomicFileSystem {
    pub kind: String,
    pub block_bytes: u64,
    /// Bytes that are replaced as a whole whoever writes them: the record of a file on ZFS.
    pub record_bytes: Option<u64>,
    /// Whether the file is written in place although the file system would write elsewhere (btrfs).
    pub is_in_place: Option<bool>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AtomicCondition {
    pub text: String,
    /// `None` if it cannot be seen from here.
    pub is_met: Option<bool>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProtectionAdvice {
    LeaveOn,
    /// It may be turned off if the condition holds.
    OffIf,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageProtection {
    pub engine: String,
    pub setting: String,
    pub page_bytes: u64,
    pub is_promised: bool,
    pub advice: ProtectionAdvice,
    pub why: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PageProof {
    pub page_bytes: u64,
    /// Cuts while writes of at least that size went on.
    pub cuts: u64,
    pub torn_cuts: u64,
    /// With a confidence of 95 %, at most this share of cuts tears a page; `None` if one did, or none was seen.
    pub torn_share_max: Option<f64>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TornProof {
    /// Cuts on this target that say something.
    pub cuts: u64,
    /// Cuts in the file that are of other targets, or say nothing.
    pub other_cuts: u64,
    pub torn_cuts: u64,
    /// The smallest pieces, bytes.
    pub torn_bytes: Option<u32>,
    /// From the smallest page to the largest.
    pub pages: Vec<PageProof>,
}

impl TornProof {
    pub fn tore(&self, bytes: u64) -> bool {
        self.torn_bytes.is_some_and(|pieces| u64::from(pieces) < bytes)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequiredUnit {
    pub bytes: u64,
    /// Promised, and no cut tore it.
    pub is_met: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AtomicReport {
    pub target: String,
    pub kernel: Option<String>,
    /// `None` for a device.
    pub file_system: Option<AtomicFileSystem>,
    /// Of `statx`; `None` if the kernel or the file system does not say.
    pub statx: Option<AtomicUnits>,
    /// From above to the drives; empty where there is no block device.
    pub layers: Vec<AtomicLayer>,
    pub conditions: Vec<AtomicCondition>,
    pub protections: Vec<PageProtection>,
    pub proof: Option<TornProof>,
    pub required: Option<RequiredUnit>,
}

impl AtomicReport {
    /// What the stack takes untorn with `RWF_ATOMIC`. The kernel has asked every layer; and XFS takes more than the device does,
    /// because it can write elsewhere first.
    pub fn units(&self) -> Option<AtomicUnits> {
        self.statx.filter(|units| units.max_bytes > 0)
    }

    pub fn is_by_file_system(&self) -> bool {
        let device_max = self.layers.iter().find_map(|layer| layer.queue).map(|queue| queue.units.max_bytes);
        self.units().zip(device_max).is_some_and(|(units, device)| units.max_bytes > device)
    }

    /// Bytes that every drive below writes whole: a logical sector; `None` if one does not say.
    pub fn sector_bytes(&self) -> Option<u32> {
        let drives = self.layers.iter().map(|layer| layer.logical_sector_bytes);
        drives.reduce(|one, other| Some(one?.min(other?))).flatten()
    }

    pub fn promises(&self, bytes: u64) -> bool {
        let record = self.file_system.as_ref().and_then(|found| found.record_bytes);
        let is_power = bytes.is_power_of_two();
        is_power
            && (self.units().is_some_and(|units| units.takes(bytes))
                || self.sector_bytes().is_some_and(|sector| bytes <= u64::from(sector))
                || record.is_some_and(|record| bytes <= record && record.is_multiple_of(bytes)))
    }

    pub fn is_disproved(&self) -> bool {
        let proof = self.proof.as_ref();
        proof.is_some_and(|proof| {
            proof.pages.iter().any(|page| page.torn_cuts > 0 && self.promises(page.page_bytes))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(statx: u64, device: u64) -> AtomicReport {
        let units = |max_bytes: u64| AtomicUnits { min_bytes: 4096.min(max_bytes), max_bytes };
        let layer = AtomicLayer {
            logical_sector_bytes: Some(512),
            queue: Some(AtomicQueue { units: units(device), request_bytes_max: device, boundary_bytes: 0 }),
            ..AtomicLayer::default()
        };
        AtomicReport {
            target: "t".to_owned(),
            kernel: None,
            file_system: None,
            statx: Some(units(statx)),
            layers: vec![layer],
            conditions: Vec::new(),
            protections: Vec::new(),
            proof: None,
            required: None,
        }
    }

    #[test]
    fn what_is_promised_is_what_statx_says_and_a_sector() {
        let all = report(16_384, 16_384);
        assert!(all.promises(4096) && all.promises(16_384) && !all.is_by_file_system());
        assert!(!all.promises(12_288) && !all.promises(1 << 20) && !all.promises(0));
        // ext4 with blocks of 4 KiB on a drive that takes more, and XFS on one that takes nothing.
        assert!(!report(4096, 16_384).promises(16_384));
        assert!(report(16_384, 0).promises(16_384) && report(16_384, 0).is_by_file_system());
        let none = report(0, 0);
        assert!(none.promises(512) && !none.promises(1024) && !none.is_by_file_system());
        let mut unknown = report(0, 0);
        unknown.layers[0].logical_sector_bytes = None;
        assert!(!unknown.promises(512));
    }

    #[test]
    fn a_record_that_is_replaced_whole_promises_pages_that_divide_it() {
        let mut report = report(0, 0);
        let zfs = |record| AtomicFileSystem {
            kind: "zfs".to_owned(),
            block_bytes: 512,
            record_bytes: record,
            is_in_place: None,
        };
        report.file_system = Some(zfs(Some(16_384)));
        assert!(report.promises(8192) && report.promises(16_384) && !report.promises(32_768));
        report.file_system = Some(zfs(None));
        assert!(!report.promises(8192));
    }
}
