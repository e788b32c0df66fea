//! Identity of a block device from sysfs: [`DeviceIdentity`].

mod link;
#[cfg(test)]
mod tests;

use std::path::Path;

use iostall_model::device::{
    Cloud, CloudVolume, DeviceIdentity, Discard, Partition, QueueLimits, WorldWideNames,
};

use super::device::{SECTOR_BYTES, name_of};
use super::system::System;
use crate::device::unit_serial;

impl System {
    /// The device that `path` is or that holds it: the disk, and the partition if it is one. A file system on
    /// several devices has no single identity; use [`System::identity_of_number`] for its members.
    pub fn identity_of(&self, path: &Path) -> Option<DeviceIdentity> {
        self.identity_of_number(&self.device_of(path)?.number)
    }

    /// The device with this `major:minor`.
    pub fn identity_of_number(&self, number: &str) -> Option<DeviceIdentity> {
        let directory = self.device_directory(number)?;
        let partition = self.partition(&directory);
        let disk = if partition.is_some() { directory.parent()? } else { &directory };
        let identity = self.disk_identity(disk)?;
        Some(DeviceIdentity { partition, ..identity })
    }

    fn disk_identity(&self, disk: &Path) -> Option<DeviceIdentity> {
        let first = |files: &[&str]| files.iter().find_map(|file| self.line(disk.join(file)));
        // An all-blank or all-zero serial number is a manufacturing error shared by every disk of the batch.
        let serial = self.serial(disk).filter(|serial| serial.chars().any(|c| c != '0' && c != ' '));
        let model =
            match (self.line(disk.join("device/vendor")), first(&["device/model", "md/level", "dm/name"])) {
                // A PCI vendor number; the model alone is more readable.
                (Some(vendor), Some(model)) if !vendor.starts_with("0x") => Some(format!("{vendor} {model}")),
                (_, model) => model,
            };
        let names = self.world_wide_names(disk);
        Some(DeviceIdentity {
            kernel_name: name_of(disk)?,
            cloud_volume: cloud_volume(model.as_deref(), serial.as_deref(), &names),
            model,
            serial,
            firmware: first(&["device/firmware_rev", "device/rev"]),
            names,
            transport: self.transport(disk),
            link: self.link(disk),
            discard: self.discard(disk),
            queue: self.queue_limits(disk),
            partition: None,
        })
    }

    fn discard(&self, disk: &Path) -> Option<Discard> {
        let bytes_max = self.number(disk.join("queue/discard_max_bytes"))?;
        let granularity = self.number(disk.join("queue/discard_granularity"));
        Some(Discard { bytes_max, granularity_bytes: granularity.filter(|bytes| *bytes > 0) })
    }

    fn queue_limits(&self, disk: &Path) -> QueueLimits {
        let queue = disk.join("queue");
        let number = |file: &str| self.number::<u32>(queue.join(file)).filter(|number| *number > 0);
        let kilobytes = |file: &str| self.number::<u64>(queue.join(file))?.checked_mul(1024);
        let queues = u32::try_from(self.names_in(disk.join("mq")).len()).ok();
        QueueLimits {
            logical_sector_bytes: number("logical_block_size"),
            physical_sector_bytes: number("physical_block_size"),
            io_bytes_min: number("minimum_io_size"),
            io_bytes_optimal: number("optimal_io_size"),
            request_bytes_max: kilobytes("max_sectors_kb"),
            request_bytes_hardware_max: kilobytes("max_hw_sectors_kb"),
            segments_max: number("max_segments"),
            requests: number("nr_requests"),
            queues: queues.filter(|count| *count > 0),
        }
    }

    /// `None` for a whole device.
    fn partition(&self, directory: &Path) -> Option<Partition> {
        let bytes = |file: &str| self.number::<u64>(directory.join(file))?.checked_mul(SECTOR_BYTES);
        Some(Partition {
            number: self.number(directory.join("partition"))?,
            start_bytes: bytes("start")?,
            size_bytes: bytes("size"),
            misaligned_bytes: self.number(directory.join("alignment_offset")),
        })
    }
}

/// The identity of the device that `path` is or that holds it; `None` if there is no single one (tmpfs,
/// network).
pub fn identity_of(path: &Path) -> Option<DeviceIdentity> {
    System::here().identity_of(path)
}

impl System {
    fn serial(&self, disk: &Path) -> Option<String> {
        let file = ["device/serial", "serial"].iter().find_map(|file| self.line(disk.join(file)));
        file.or_else(|| unit_serial(&self.bytes(disk.join("device/vpd_pg80"))?))
    }

    fn world_wide_names(&self, disk: &Path) -> WorldWideNames {
        // NVMe has a file for each kind of name; SCSI has one file with the best name, prefixed by its kind.
        let namespace = |file: &str| self.line(disk.join(file)).and_then(|text| digits(&text));
        let mut names = WorldWideNames {
            naa: None,
            eui64: namespace("eui"),
            nguid: namespace("nguid"),
            uuid: ["uuid", "dm/uuid", "md/uuid"].iter().find_map(|file| self.line(disk.join(file))),
            t10: None,
        };
        let wwid = ["device/wwid", "wwid"].iter().find_map(|file| self.line(disk.join(file)));
        let (kind, name) = wwid.as_deref().and_then(|wwid| wwid.split_once('.')).unwrap_or_default();
        match kind {
            "naa" => names.naa = digits(name),
            // 16 digits are 64 bits; a namespace whose wwid has 32 digits uses its NGUID.
            "eui" if name.len() <= 16 => names.eui64 = names.eui64.or_else(|| digits(name)),
            "eui" => names.nguid = names.nguid.or_else(|| digits(name)),
            "uuid" => names.uuid = names.uuid.or_else(|| Some(name.to_owned())),
            "t10" => names.t10 = Some(single_spaced(name)),
            _ => {}
        }
        names
    }
}

/// Lower-case hexadecimal digits without separators; `None` for anything else and for all zeros, which means
/// that the device has none.
fn digits(text: &str) -> Option<String> {
    let digits: String = text.chars().filter(|c| !matches!(c, ' ' | '-' | ':')).collect();
    let is_name = digits.chars().all(|c| c.is_ascii_hexdigit()) && digits.chars().any(|c| c != '0');
    is_name.then(|| digits.to_ascii_lowercase())
}

/// T10 pads its fields with blanks.
fn single_spaced(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The cloud volume id, if this is a cloud volume and it can be read.
fn cloud_volume(model: Option<&str>, serial: Option<&str>, names: &WorldWideNames) -> Option<CloudVolume> {
    if model == Some("Amazon Elastic Block Store") {
        // The serial number is the volume id of the console without its hyphen.
        let id = serial?.strip_prefix("vol")?;
        return Some(CloudVolume { cloud: Cloud::Amazon, id: format!("vol-{}", id.trim_start_matches('-')) });
    }
    let name = names.t10.as_deref()?.strip_prefix("Google PersistentDisk ")?;
    Some(CloudVolume { cloud: Cloud::Google, id: name.to_owned() })
}
