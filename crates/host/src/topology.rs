//! Which device is part of which, so that no request is counted twice.

use std::collections::HashMap;
use std::path::Path;

use iostall_model::DeviceRole;

use super::system::System;

/// Relations between block devices according to `/sys`, by `major:minor`.
#[derive(Clone, Debug, Default)]
pub struct Topology {
    devices: HashMap<String, Device>,
}

#[derive(Clone, Debug, Default)]
struct Device {
    name: String,
    /// The kernel's number of this use of the device, which changes when a loop device gets another file.
    sequence: Option<u64>,
    is_partition: bool,
    is_stacked: bool,
    /// World-wide name, mapping UUID or disk sequence number, which distinguishes a device from its
    /// successor.
    identity: String,
}

impl Topology {
    pub fn role(&self, number: &str) -> DeviceRole {
        match self.devices.get(number) {
            Some(device) if device.is_partition => DeviceRole::Partition,
            Some(device) if device.is_stacked => DeviceRole::Stacked,
            _ => DeviceRole::Disk,
        }
    }

    /// Distinguishes this device from another that later gets its number.
    pub fn identity(&self, number: &str) -> &str {
        self.devices.get(number).map_or("", |device| device.identity.as_str())
    }
}

impl System {
    /// Reads every block device that is not in `topology` as it is now; unreadable ones are left out. A sample every second must not
    /// read ten files of each device for facts that stay as they are as long as the device is in the same use.
    pub fn update_topology(&self, topology: &mut Topology) {
        let before = std::mem::take(&mut topology.devices);
        let mut known: HashMap<String, (String, Device)> =
            before.into_iter().map(|(number, device)| (device.name.clone(), (number, device))).collect();
        for name in self.names_in("/sys/class/block") {
            let path = Path::new("/sys/class/block").join(&name);
            let sequence = self.number(path.join("diskseq"));
            let is_same = |known: &(String, Device)| sequence.is_some() && known.1.sequence == sequence;
            if let Some((number, device)) = known.remove(&name).filter(is_same) {
                topology.devices.insert(number, device);
            } else if let Some(number) = self.line(path.join("dev")) {
                topology.devices.insert(number, self.device_facts(name, &path, sequence));
            }
        }
    }

    fn device_facts(&self, name: String, path: &Path, sequence: Option<u64>) -> Device {
        let has_slaves = !self.names_in(path.join("slaves")).is_empty();
        // A loop device has no slaves; the device under its file counts the same I/O.
        let is_stacked = has_slaves || self.exists(path.join("loop/backing_file"));
        let is_partition = self.exists(path.join("partition"));
        let identity = ["dm/uuid", "wwid", "device/wwid", "device/serial", "diskseq"]
            .into_iter()
            .find_map(|file| self.line(path.join(file)))
            .unwrap_or_default();
        Device { name, sequence, is_partition, is_stacked, identity }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::made_up;

    #[test]
    fn parts_and_stacks_are_told_from_the_disks_under_them() {
        let (_root, system) = made_up(&[
            ("sys/class/block/nvme0n1/dev", "259:0\n"),
            ("sys/class/block/nvme0n1/wwid", "eui.0011223344556677\n"),
            ("sys/class/block/nvme0n1p1/dev", "259:1\n"),
            ("sys/class/block/nvme0n1p1/partition", "1\n"),
            ("sys/class/block/dm-0/dev", "252:0\n"),
            ("sys/class/block/dm-0/dm/uuid", "LVM-1\n"),
            ("sys/class/block/dm-0/slaves/nvme0n1p1/x", ""),
            ("sys/class/block/loop0/dev", "7:0\n"),
            ("sys/class/block/loop0/loop/backing_file", "/data/file\n"),
            ("sys/class/block/odd/size", "1\n"),
        ]);
        let mut topology = Topology::default();
        system.update_topology(&mut topology);
        assert_eq!(topology.role("259:0"), DeviceRole::Disk);
        assert_eq!(topology.role("259:1"), DeviceRole::Partition);
        assert_eq!(topology.role("252:0"), DeviceRole::Stacked);
        assert_eq!(
            topology.role("7:0"),
            DeviceRole::Stacked,
            "a loop device was a disk, and its I/O counted twice"
        );
        assert_eq!(topology.identity("259:0"), "eui.0011223344556677");
        assert_eq!((topology.identity("252:0"), topology.identity("259:1")), ("LVM-1", ""));
        assert_eq!(topology.role("1:1"), DeviceRole::Disk, "what sysfs does not know is taken as it is");
    }

    /// A loop device that gets another file keeps its name and number, and a new disk may get those of one that was pulled out.
    #[test]
    fn a_device_in_another_use_is_read_again_and_one_in_the_same_use_is_not() {
        let (root, system) = made_up(&[
            ("sys/class/block/sda/dev", "8:0\n"),
            ("sys/class/block/sda/diskseq", "5\n"),
            ("sys/class/block/sda/wwid", "naa.1\n"),
            ("sys/class/block/dm-0/dev", "252:0\n"),
            ("sys/class/block/dm-0/dm/uuid", "LVM-1\n"),
        ]);
        let write = |file: &str, text: &str| {
            std::fs::write(root.path().join("sys/class/block").join(file), text).unwrap();
        };
        let mut topology = Topology::default();
        system.update_topology(&mut topology);
        write("sda/wwid", "naa.2\n");
        write("dm-0/dm/uuid", "LVM-2\n");
        system.update_topology(&mut topology);
        assert_eq!(topology.identity("8:0"), "naa.1", "nothing says that it is in another use");
        assert_eq!(topology.identity("252:0"), "LVM-2", "an old kernel does not number uses");
        write("sda/diskseq", "6\n");
        system.update_topology(&mut topology);
        assert_eq!(topology.identity("8:0"), "naa.2");
        std::fs::remove_dir_all(root.path().join("sys/class/block/sda")).unwrap();
        system.update_topology(&mut topology);
        assert_eq!(topology.identity("8:0"), "");
    }
}
