//! Identity of a block device, wherever it is attached: its names, its connection, and its limits.
//!
//! A field is `None` if the system does not report it; nothing is guessed.

use iostall_measure::named;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceIdentity {
    /// Kernel name of this boot, such as `nvme0n1`; for a partition that of its disk.
    pub kernel_name: String,
    /// Model, preceded by the vendor if reported separately.
    pub model: Option<String>,
    pub serial: Option<String>,
    pub firmware: Option<String>,
    pub names: WorldWideNames,
    pub cloud_volume: Option<CloudVolume>,
    pub transport: Option<Transport>,
    pub link: Option<Link>,
    pub discard: Option<Discard>,
    pub queue: QueueLimits,
    /// The partition in question; `None` for a whole device.
    pub partition: Option<Partition>,
}

impl DeviceIdentity {
    /// A text that identifies this device, even after it moves to another slot or machine; `None` if it has
    /// only a kernel name. Certainly unique names come first, a serial number with its model last.
    pub fn key(&self) -> Option<String> {
        let (kind, identity) = self.strongest()?;
        Some(if kind == IdentityKind::Cloud { identity } else { format!("{}.{identity}", kind.name()) })
    }

    /// The same as a kind and a name of that kind.
    pub fn strongest(&self) -> Option<(IdentityKind, String)> {
        let names = &self.names;
        let volume =
            self.cloud_volume.as_ref().map(|volume| format!("{}:{}", volume.cloud.name(), volume.id));
        let serial = self
            .serial
            .as_ref()
            .map(|serial| format!("{}.{serial}", self.model.as_deref().unwrap_or_default()));
        let all = [
            (IdentityKind::Cloud, &volume),
            (IdentityKind::Nguid, &names.nguid),
            (IdentityKind::Eui, &names.eui64),
            (IdentityKind::Naa, &names.naa),
            (IdentityKind::Uuid, &names.uuid),
            (IdentityKind::T10, &names.t10),
            (IdentityKind::Serial, &serial),
        ];
        all.into_iter().find_map(|(kind, name)| Some((kind, name.clone()?)))
    }
}

named! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum IdentityKind {
        Cloud = "cloud",
        Nguid = "nguid",
        Eui = "eui",
        Naa = "naa",
        Uuid = "uuid",
        T10 = "t10",
        Serial = "serial",
        /// Windows' own name of a volume, as SQL Server reports it.
        SqlServerVolume = "sqlserver-volume",
        /// A server and a directory that it exports.
        Nfs = "nfs",
        Tag = "tag",
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlacedOn {
    pub kind: IdentityKind,
    pub identity: String,
    pub model: Option<String>,
}

/// A volume and what it lies on: several devices if it spans them; none if nothing identifies them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Placement {
    pub volume: String,
    pub devices: Vec<PlacedOn>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Greeting {
    pub hostname: String,
    pub version: String,
    /// The clock of who says so.
    pub now: jiff::Timestamp,
}

/// Names that no two devices share, in lower-case hexadecimal digits without separators unless noted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorldWideNames {
    /// Network Address Authority: SCSI and SATA.
    pub naa: Option<String>,
    /// IEEE extended unique identifier of an NVMe namespace, 64 bits.
    pub eui64: Option<String>,
    /// Namespace globally unique identifier of NVMe, 128 bits.
    pub nguid: Option<String>,
    /// UUID of a namespace, an array or a mapping, as reported.
    pub uuid: Option<String>,
    /// INCITS T10 vendor and name, as text.
    pub t10: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CloudVolume {
    pub cloud: Cloud,
    /// Id or name in the cloud's console, such as `vol-0123456789abcdef0`.
    pub id: String,
}

named! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum Cloud {
        /// Amazon's Elastic Block Store.
        Amazon = "amazon",
        /// Google's persistent disks.
        Google = "google",
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Transport {
    NvmePcie,
    NvmeTcp,
    NvmeRdma,
    NvmeFc,
    Sata,
    Sas,
    FibreChannel,
    Iscsi,
    Usb,
    /// A hypervisor's paravirtual block device.
    VirtioBlock,
    /// A hypervisor's paravirtual SCSI adapter.
    VirtioScsi,
    Xen,
    Mmc,
    Loop,
    /// A mapping of other devices: LVM, encryption, multipath.
    Mapping,
    /// A kernel RAID array.
    Array,
}

/// The maximum and actual speed of the link to a device: a card in a slot of half its width gives half.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Link {
    pub lanes: Option<u32>,
    pub lanes_max: Option<u32>,
    /// Mega-transfers per second of one lane: 16,000 for PCI Express 4.0, 6,000 for SATA with 6 Gbit/s.
    pub lane_mt_per_s: Option<u32>,
    pub lane_mt_per_s_max: Option<u32>,
}

impl Link {
    /// Whether it runs below what the device supports; `None` if the system does not report both.
    pub fn is_below_its_best(&self) -> Option<bool> {
        let below = |now: Option<u32>, best: Option<u32>| Some(now? < best?);
        match (below(self.lanes, self.lanes_max), below(self.lane_mt_per_s, self.lane_mt_per_s_max)) {
            (None, None) => None,
            (lanes, speed) => Some(lanes == Some(true) || speed == Some(true)),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Discard {
    /// Largest discard, bytes; 0 if unsupported.
    pub bytes_max: u64,
    /// Unit in which the device frees space, bytes.
    pub granularity_bytes: Option<u64>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueLimits {
    pub logical_sector_bytes: Option<u32>,
    pub physical_sector_bytes: Option<u32>,
    /// Smallest request without a penalty, bytes.
    pub io_bytes_min: Option<u32>,
    /// Preferred request size (a stripe of an array), bytes; also `None` if the device has no preference.
    pub io_bytes_optimal: Option<u32>,
    pub request_bytes_max: Option<u64>,
    pub request_bytes_hardware_max: Option<u64>,
    pub segments_max: Option<u32>,
    /// Queue length.
    pub requests: Option<u32>,
    pub queues: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Partition {
    pub number: u32,
    pub start_bytes: u64,
    pub size_bytes: Option<u64>,
    /// Bytes from its start to the disk's next natural boundary; anything but 0 makes the disk read before it writes.
    pub misaligned_bytes: Option<u64>,
}

impl Partition {
    /// Whether it begins at a multiple of `unit_bytes`, such as an erase block or an array's stripe.
    pub fn is_aligned_to(&self, unit_bytes: u64) -> bool {
        unit_bytes > 0 && self.start_bytes.is_multiple_of(unit_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_is_the_strongest_name_there_is() {
        let mut device = DeviceIdentity { kernel_name: "sda".into(), ..DeviceIdentity::default() };
        assert_eq!(device.key(), None, "the kernel's name is another after a boot");
        device.serial = Some("S1".into());
        assert_eq!(device.key().as_deref(), Some("serial..S1"));
        device.model = Some("Disk 9".into());
        assert_eq!(device.key().as_deref(), Some("serial.Disk 9.S1"));
        device.names.t10 = Some("ATA Disk".into());
        assert_eq!(device.key().as_deref(), Some("t10.ATA Disk"));
        device.names.uuid = Some("u".into());
        assert_eq!(device.key().as_deref(), Some("uuid.u"));
        device.names.naa = Some("5000c5".into());
        assert_eq!(device.key().as_deref(), Some("naa.5000c5"));
        device.names.eui64 = Some("0011".into());
        assert_eq!(device.key().as_deref(), Some("eui.0011"));
        device.names.nguid = Some("2233".into());
        assert_eq!(device.key().as_deref(), Some("nguid.2233"));
        device.cloud_volume = Some(CloudVolume { cloud: Cloud::Amazon, id: "vol-1".into() });
        assert_eq!(device.key().as_deref(), Some("amazon:vol-1"));
        device.cloud_volume = Some(CloudVolume { cloud: Cloud::Google, id: "data".into() });
        assert_eq!(device.key().as_deref(), Some("google:data"));
    }

    #[test]
    fn a_link_of_half_its_width_is_below_its_best() {
        let link = |lanes, speed| Link {
            lanes: Some(lanes),
            lanes_max: Some(4),
            lane_mt_per_s: Some(speed),
            lane_mt_per_s_max: Some(16_000),
        };
        assert_eq!(link(4, 16_000).is_below_its_best(), Some(false));
        assert_eq!(link(2, 16_000).is_below_its_best(), Some(true));
        assert_eq!(link(4, 8_000).is_below_its_best(), Some(true));
        assert_eq!(Link { lanes: Some(4), ..Link::default() }.is_below_its_best(), None);
    }

    #[test]
    fn a_partition_is_aligned_where_its_start_is_a_multiple() {
        let old = Partition { number: 1, start_bytes: 63 * 512, size_bytes: None, misaligned_bytes: None };
        assert!(old.is_aligned_to(512) && !old.is_aligned_to(4096) && !old.is_aligned_to(0));
        assert!(Partition { start_bytes: 1 << 20, ..old }.is_aligned_to(1 << 20));
    }
}
