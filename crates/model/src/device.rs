//! What a block device is, wherever it is plugged in: the names that go with it, the way to it, and what it takes.
//!
//! A field is `None` where the system does not tell, never a guess.

use serde::{Deserialize, Serialize};

/// One block device.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceIdentity {
    /// Kernel name of this boot, such as `nvme0n1`; of a partition its disk's.
    pub kernel_name: String,
    /// Model, vendor in front of it where that is told apart.
    pub model: Option<String>,
    /// Serial number.
    pub serial: Option<String>,
    /// Firmware revision.
    pub firmware: Option<String>,
    /// The names it has for the whole world.
    pub names: WorldWideNames,
    /// The volume of a cloud that it is.
    pub cloud_volume: Option<CloudVolume>,
    /// How it is attached.
    pub transport: Option<Transport>,
    /// The link to it.
    pub link: Option<Link>,
    /// Discard (TRIM, UNMAP, deallocate).
    pub discard: Option<Discard>,
    /// What one request may be, and how many.
    pub queue: QueueLimits,
    /// The partition that was asked about; `None` for a whole device.
    pub partition: Option<Partition>,
}

impl DeviceIdentity {
    /// One text that names this device today and after it has moved to another slot or machine; `None` where it has no
    /// name but the kernel's. The names that are certainly unique come first, a serial number with its model last.
    pub fn key(&self) -> Option<String> {
        let names = &self.names;
        let volume =
            self.cloud_volume.as_ref().map(|volume| format!("{}:{}", volume.cloud.name(), volume.id));
        let by_kind = |kind: &str, name: &Option<String>| name.as_ref().map(|name| format!("{kind}.{name}"));
        volume
            .or_else(|| by_kind("nguid", &names.nguid))
            .or_else(|| by_kind("eui", &names.eui64))
            .or_else(|| by_kind("naa", &names.naa))
            .or_else(|| by_kind("uuid", &names.uuid))
            .or_else(|| by_kind("t10", &names.t10))
            .or_else(|| {
                Some(format!(
                    "serial.{}.{}",
                    self.model.as_deref().unwrap_or_default(),
                    self.serial.as_ref()?
                ))
            })
    }
}

/// Names that no two devices share, in lower-case hexadecimal digits without separators unless said otherwise.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorldWideNames {
    /// Network Address Authority: SCSI and SATA.
    pub naa: Option<String>,
    /// IEEE extended unique identifier of an NVMe namespace, 64 bits.
    pub eui64: Option<String>,
    /// Namespace globally unique identifier of NVMe, 128 bits.
    pub nguid: Option<String>,
    /// UUID of a namespace, an array or a mapping, as it is written.
    pub uuid: Option<String>,
    /// Vendor and name by INCITS T10, as text.
    pub t10: Option<String>,
}

/// A volume that a cloud's console knows by this name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CloudVolume {
    /// Whose.
    pub cloud: Cloud,
    /// Identifier or name, such as `vol-0123456789abcdef0`.
    pub id: String,
}

/// Clouds whose volumes tell their name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cloud {
    /// Amazon's Elastic Block Store.
    Amazon,
    /// Google's persistent disks.
    Google,
}

impl Cloud {
    /// Its stored name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Amazon => "amazon",
            Self::Google => "google",
        }
    }
}

/// How a device is attached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Transport {
    /// NVMe on PCI Express.
    NvmePcie,
    /// NVMe over TCP.
    NvmeTcp,
    /// NVMe over RDMA.
    NvmeRdma,
    /// NVMe over Fibre Channel.
    NvmeFc,
    /// Serial ATA.
    Sata,
    /// Serial attached SCSI.
    Sas,
    /// SCSI over Fibre Channel.
    FibreChannel,
    /// SCSI over TCP.
    Iscsi,
    /// USB.
    Usb,
    /// A hypervisor's paravirtual block device.
    VirtioBlock,
    /// A hypervisor's paravirtual SCSI adapter.
    VirtioScsi,
    /// Xen's virtual block device.
    Xen,
    /// SD card or eMMC.
    Mmc,
    /// A file.
    Loop,
    /// A mapping of other devices: LVM, encryption, multipath.
    Mapping,
    /// An array of the kernel's.
    Array,
}

/// What the link to a device could do and what it does: a card in a slot of half its width gives half.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Link {
    /// Lanes in use.
    pub lanes: Option<u32>,
    /// Lanes that the device has.
    pub lanes_max: Option<u32>,
    /// Mega-transfers a second of one lane: 16,000 for PCI Express 4.0, 6,000 for SATA of 6 Gbit/s.
    pub lane_mt_per_s: Option<u32>,
    /// The most that the device can do.
    pub lane_mt_per_s_max: Option<u32>,
}

impl Link {
    /// Whether it runs below what the device can do; `None` where the system does not tell both.
    pub fn is_below_its_best(&self) -> Option<bool> {
        let below = |now: Option<u32>, best: Option<u32>| Some(now? < best?);
        match (below(self.lanes, self.lanes_max), below(self.lane_mt_per_s, self.lane_mt_per_s_max)) {
            (None, None) => None,
            (lanes, speed) => Some(lanes == Some(true) || speed == Some(true)),
        }
    }
}

/// What the kernel says of discards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Discard {
    /// Largest at once, bytes; 0: the device takes none.
    pub bytes_max: u64,
    /// Unit in which the device gives space back, bytes.
    pub granularity_bytes: Option<u64>,
}

/// What one request may be, and how many wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueLimits {
    /// Logical sector, bytes.
    pub logical_sector_bytes: Option<u32>,
    /// Physical sector, bytes.
    pub physical_sector_bytes: Option<u32>,
    /// Smallest request that costs nothing extra, bytes.
    pub io_bytes_min: Option<u32>,
    /// The request that serves best (a stripe of an array), bytes; `None` also where the device has no favourite.
    pub io_bytes_optimal: Option<u32>,
    /// Largest request as set, bytes.
    pub request_bytes_max: Option<u64>,
    /// Largest request that the hardware takes, bytes.
    pub request_bytes_hardware_max: Option<u64>,
    /// Most segments of a request.
    pub segments_max: Option<u32>,
    /// Requests that wait in one queue.
    pub requests: Option<u32>,
    /// Queues to the hardware.
    pub queues: Option<u32>,
}

/// Where a partition lies on its disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Partition {
    /// Its number.
    pub number: u32,
    /// Its first byte on the disk.
    pub start_bytes: u64,
    /// Its length, bytes.
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
