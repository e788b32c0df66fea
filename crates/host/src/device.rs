//! Block devices in sysfs, from a file system or device node down to the hardware.

use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use iostall_measure::platform::Device;

use super::system::{System, device_number};

/// A deeper stack than this is treated as a loop in sysfs.
const DEPTH_MAX: u32 = 12;

/// Unit of `/sys/block/*/size`, whatever the device's sector size.
pub(crate) const SECTOR_BYTES: u64 = 512;

impl System {
    /// The block device that `path` is, or that its file system is on, down to the hardware.
    ///
    /// A btrfs on several devices is reported as one device of kind `btrfs` on top of them; an overlay by the
    /// device of its writable layer.
    pub fn device_of(&self, path: &Path) -> Option<Device> {
        self.device_below_path(path, DEPTH_MAX)
    }

    fn device_below_path(&self, path: &Path, depth: u32) -> Option<Device> {
        let depth = depth.checked_sub(1)?;
        let metadata = std::fs::metadata(path).ok()?;
        if metadata.file_type().is_block_device() {
            return self.device_by_number(&device_number(metadata.rdev()), depth);
        }
        let number = device_number(metadata.dev());
        if let Some(device) = self.device_by_number(&number, depth) {
            return Some(device);
        }
        // btrfs and overlay have device numbers of their own; their mount says what they are on.
        let mount = self.mount_of(path)?;
        if mount.kind == "overlay" {
            return self.device_below_path(Path::new(mount.super_option("upperdir")?), depth);
        }
        let source = std::fs::metadata(&mount.source).ok()?;
        let source = source.file_type().is_block_device().then(|| device_number(source.rdev()))?;
        let device = self.device_by_number(&source, depth)?;
        let members = self.btrfs_members(&device.name);
        if members.len() < 2 {
            return Some(device);
        }
        let below = members.iter().filter_map(|name| self.device_by_name(name, depth)).collect();
        Some(Device { name: "btrfs".into(), number, below, ..Device::default() })
    }

    /// Names of all devices of the mounted btrfs that `name` belongs to; empty if there is none.
    pub fn btrfs_members(&self, name: &str) -> Vec<String> {
        self.names_in("/sys/fs/btrfs")
            .into_iter()
            .map(|id| self.names_in(format!("/sys/fs/btrfs/{id}/devices")))
            .find(|members| members.iter().any(|member| member == name))
            .unwrap_or_default()
    }

    fn device_by_name(&self, name: &str, depth: u32) -> Option<Device> {
        let number = self.line(format!("/sys/class/block/{name}/dev"))?;
        self.device_by_number(&number, depth)
    }

    fn device_by_number(&self, number: &str, depth: u32) -> Option<Device> {
        let directory = self.device_directory(number)?;
        self.device_at(&directory, depth)
    }

    /// The sysfs directory of a device, such as `/sys/devices/.../block/sda/sda1`.
    pub fn device_directory(&self, number: &str) -> Option<PathBuf> {
        self.resolve(format!("/sys/dev/block/{number}"))
    }

    fn device_at(&self, directory: &Path, depth: u32) -> Option<Device> {
        let depth = depth.checked_sub(1)?;
        let name = name_of(directory)?;
        let number = self.line(directory.join("dev"))?;
        let size_bytes =
            self.number::<u64>(directory.join("size")).and_then(|sectors| sectors.checked_mul(SECTOR_BYTES));
        if self.exists(directory.join("partition")) {
            // A partition has no queue or model of its own; those of its disk apply.
            let disk = self.device_at(directory.parent()?, depth)?;
            return Some(Device { name, number, size_bytes, below: vec![disk.clone()], ..disk });
        }
        let below = self.devices_below(directory, depth);
        let mut device = Device { name, number, size_bytes, below, ..self.queue_facts(directory) };
        self.add_identity(directory, &mut device);
        Some(device)
    }

    /// Members of an array or mapping, or the device under the file behind a loop device.
    fn devices_below(&self, directory: &Path, depth: u32) -> Vec<Device> {
        if let Some(file) = self.backing_file(directory) {
            return self.device_below_path(&self.locate(file), depth).into_iter().collect();
        }
        let slaves = self.names_in(directory.join("slaves"));
        slaves.iter().filter_map(|name| self.device_by_name(name, depth)).collect()
    }

    /// The file behind a loop device; `None` for other devices, or if the file has been deleted.
    pub fn backing_file(&self, directory: &Path) -> Option<PathBuf> {
        let line = self.text(directory.join("loop/backing_file"))?;
        let name = line.strip_suffix('\n').unwrap_or(&line);
        (!name.is_empty() && !name.ends_with(" (deleted)")).then(|| PathBuf::from(name))
    }

    fn queue_facts(&self, directory: &Path) -> Device {
        let queue = directory.join("queue");
        let flag = |file: &str| match self.line(queue.join(file)).as_deref() {
            Some("0") => Some(false),
            Some("1") => Some(true),
            _ => None,
        };
        Device {
            rotational: flag("rotational"),
            scheduler: self.line(queue.join("scheduler")).and_then(|line| active_scheduler(&line)),
            write_cache: self.line(queue.join("write_cache")),
            fua: flag("fua"),
            logical_sector_bytes: self.number(queue.join("logical_block_size")),
            physical_sector_bytes: self.number(queue.join("physical_block_size")),
            max_segments: self.number(queue.join("max_segments")),
            max_request_bytes: self
                .number::<u64>(queue.join("max_sectors_kb"))
                .and_then(|kilobytes| kilobytes.checked_mul(1024)),
            queue_requests: self.number(queue.join("nr_requests")),
            ..Device::default()
        }
    }

    /// Adds model, serial number, firmware and NUMA node, which are in a different place for each kind of
    /// device.
    fn add_identity(&self, directory: &Path, device: &mut Device) {
        let first = |files: &[&str]| files.iter().find_map(|file| self.line(directory.join(file)));
        // An array has no model; its RAID level is shown instead.
        device.model = first(&["device/model", "md/level", "dm/name"]);
        device.serial = first(&["device/serial", "serial"])
            .or_else(|| unit_serial(&self.bytes(directory.join("device/vpd_pg80"))?));
        device.firmware = first(&["device/firmware_rev", "device/rev"]);
        // -1 means no node and does not parse as u32 either.
        let nodes = ["device/numa_node", "device/device/numa_node"];
        device.numa_node = nodes.iter().find_map(|file| self.number(directory.join(file)));
    }
}

/// Last component of a sysfs directory. The kernel replaces `/` in device names by `!`.
pub fn name_of(directory: &Path) -> Option<String> {
    Some(directory.file_name()?.to_str()?.replace('!', "/"))
}

/// `none [mq-deadline] kyber`: the active one is in brackets. A single word without brackets is the only
/// scheduler.
pub(super) fn active_scheduler(line: &str) -> Option<String> {
    match line.split_once('[').and_then(|(_, rest)| rest.split_once(']')) {
        Some((name, _)) => Some(name.to_owned()),
        None => (!line.contains(' ')).then(|| line.to_owned()),
    }
}

/// Serial number in a SCSI unit serial number page (SPC, page 80h): a four-byte header, whose last two bytes
/// are the length of the text.
pub(crate) fn unit_serial(page: &[u8]) -> Option<String> {
    let (header, text) = page.split_at_checked(4)?;
    let length = usize::from(u16::from_be_bytes([header[2], header[3]]));
    let text = std::str::from_utf8(text.get(..length)?).ok()?;
    let serial = text.trim_matches(['\0', ' ']);
    (header[1] == 0x80 && !serial.is_empty()).then(|| serial.to_owned())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::super::system::made_up;
    use super::*;

    /// A disk with a partition, and a mapping over the partition.
    fn stack() -> (tempfile::TempDir, System) {
        let (root, system) = made_up(&[
            ("sys/devices/pci/nvme/nvme0/model", "FastDisk 9\n"),
            ("sys/devices/pci/nvme/nvme0/serial", " S123 \n"),
            ("sys/devices/pci/nvme/nvme0/firmware_rev", "1.0\n"),
            ("sys/devices/pci/nvme/nvme0/device/numa_node", "-1\n"),
            ("sys/devices/pci/nvme/block/nvme0n1/dev", "259:0\n"),
            ("sys/devices/pci/nvme/block/nvme0n1/size", "2048\n"),
            ("sys/devices/pci/nvme/block/nvme0n1/queue/rotational", "0\n"),
            ("sys/devices/pci/nvme/block/nvme0n1/queue/scheduler", "none [mq-deadline] kyber\n"),
            ("sys/devices/pci/nvme/block/nvme0n1/queue/write_cache", "write back\n"),
            ("sys/devices/pci/nvme/block/nvme0n1/queue/fua", "1\n"),
            ("sys/devices/pci/nvme/block/nvme0n1/queue/logical_block_size", "512\n"),
            ("sys/devices/pci/nvme/block/nvme0n1/queue/physical_block_size", "odd\n"),
            ("sys/devices/pci/nvme/block/nvme0n1/queue/max_sectors_kb", "1280\n"),
            ("sys/devices/pci/nvme/block/nvme0n1/queue/max_segments", "127\n"),
            ("sys/devices/pci/nvme/block/nvme0n1/nvme0n1p1/dev", "259:1\n"),
            ("sys/devices/pci/nvme/block/nvme0n1/nvme0n1p1/size", "1024\n"),
            ("sys/devices/pci/nvme/block/nvme0n1/nvme0n1p1/partition", "1\n"),
            ("sys/devices/virtual/block/dm-0/dev", "253:0\n"),
            ("sys/devices/virtual/block/dm-0/dm/name", "vg-data\n"),
            ("sys/devices/virtual/block/dm-0/slaves/nvme0n1p1/x", ""),
            ("sys/dev/block/README", ""),
            ("sys/class/block/README", ""),
        ]);
        let sys = root.path().join("sys");
        symlink("../../nvme0", sys.join("devices/pci/nvme/block/nvme0n1/device")).unwrap();
        for (number, name, to) in [
            ("259:0", "nvme0n1", "devices/pci/nvme/block/nvme0n1"),
            ("259:1", "nvme0n1p1", "devices/pci/nvme/block/nvme0n1/nvme0n1p1"),
            ("253:0", "dm-0", "devices/virtual/block/dm-0"),
        ] {
            symlink(Path::new("../..").join(to), sys.join("dev/block").join(number)).unwrap();
            symlink(Path::new("../..").join(to), sys.join("class/block").join(name)).unwrap();
        }
        (root, system)
    }

    #[test]
    fn a_mapping_stands_on_a_partition_that_stands_on_its_disk() {
        let (_root, system) = stack();
        let mapped = system.device_by_number("253:0", DEPTH_MAX).unwrap();
        assert_eq!((mapped.name.as_str(), mapped.model.as_deref()), ("dm-0", Some("vg-data")));
        let part = &mapped.below[0];
        assert_eq!((part.name.as_str(), part.size_bytes), ("nvme0n1p1", Some(1024 * 512)));
        assert_eq!(part.scheduler.as_deref(), Some("mq-deadline"), "a partition obeys its disk's queue");
        let disk = &part.below[0];
        assert_eq!((disk.name.as_str(), disk.size_bytes), ("nvme0n1", Some(2048 * 512)));
        assert_eq!((disk.model.as_deref(), disk.serial.as_deref()), (Some("FastDisk 9"), Some("S123")));
        assert_eq!(
            (disk.firmware.as_deref(), disk.write_cache.as_deref()),
            (Some("1.0"), Some("write back"))
        );
        assert_eq!((disk.rotational, disk.fua, disk.numa_node), (Some(false), Some(true), None));
        assert_eq!((disk.logical_sector_bytes, disk.physical_sector_bytes), (Some(512), None));
        assert_eq!((disk.max_request_bytes, disk.max_segments), (Some(1280 * 1024), Some(127)));
        assert!(disk.below.is_empty());
        assert_eq!(system.device_by_number("1:1", DEPTH_MAX), None);
    }

    #[test]
    fn devices_that_name_each_other_end() {
        let (root, system) = stack();
        let sys = root.path().join("sys");
        fs::create_dir_all(sys.join("devices/pci/nvme/block/nvme0n1/slaves/dm-0")).unwrap();
        assert!(system.device_by_number("253:0", DEPTH_MAX).is_some());
    }

    #[test]
    fn the_scheduler_in_brackets_is_the_active_one() {
        assert_eq!(active_scheduler("[none] mq-deadline").as_deref(), Some("none"));
        assert_eq!(active_scheduler("none").as_deref(), Some("none"));
        assert_eq!(active_scheduler("none mq-deadline"), None);
    }

    #[test]
    fn a_unit_serial_page_is_read_and_a_cut_one_is_not() {
        assert_eq!(unit_serial(b"\0\x80\0\x06 AB12 ").as_deref(), Some("AB12"));
        assert_eq!(unit_serial(b"\0\x80\0\x09 AB12 "), None);
        assert_eq!(unit_serial(b"\0\x83\0\x02AB"), None);
        assert_eq!(unit_serial(b"\0"), None);
    }

    #[test]
    fn deleted_backing_files_are_not_followed() {
        let (_root, system) =
            made_up(&[("l0/loop/backing_file", "/a b\n"), ("l1/loop/backing_file", "/a (deleted)\n")]);
        assert_eq!(system.backing_file(Path::new("/l0")), Some(PathBuf::from("/a b")));
        assert_eq!(system.backing_file(Path::new("/l1")), None);
        assert_eq!(system.backing_file(Path::new("/l2")), None);
    }
}
