//! Which device is part of which, so that no request is counted twice.

use std::collections::HashMap;
use std::path::Path;

use iostall_model::DeviceRole;

/// What `/sys` says of the block devices, by `major:minor`.
#[derive(Clone, Debug, Default)]
pub struct Topology {
    devices: HashMap<String, Device>,
}

#[derive(Clone, Debug, Default)]
struct Device {
    is_partition: bool,
    is_stacked: bool,
    /// World-wide name, UUID of the mapping or disk sequence number: tells a device from its successor.
    identity: String,
}

impl Topology {
    /// Reads it below `root`; what cannot be read is left out.
    pub(super) fn read(root: &Path) -> Self {
        let mut devices = HashMap::new();
        let entries = std::fs::read_dir(root.join("sys/class/block")).into_iter().flatten().flatten();
        for entry in entries {
            let path = entry.path();
            let text =
                |name: &str| std::fs::read_to_string(path.join(name)).map(|text| text.trim().to_owned()).ok();
            let Some(number) = text("dev") else { continue };
            let has_slaves =
                std::fs::read_dir(path.join("slaves")).is_ok_and(|mut slaves| slaves.next().is_some());
            // A loop device has no slaves, but a file, whose device counts the same I/O.
            let has_file = path.join("loop/backing_file").exists();
            let identity = ["dm/uuid", "wwid", "device/wwid", "device/serial", "diskseq"]
                .into_iter()
                .find_map(|name| text(name).filter(|text| !text.is_empty()))
                .unwrap_or_default();
            let (is_partition, is_stacked) = (text("partition").is_some(), has_slaves || has_file);
            devices.insert(number, Device { is_partition, is_stacked, identity });
        }
        Self { devices }
    }

    /// What the device is to the others.
    pub fn role(&self, number: &str) -> DeviceRole {
        match self.devices.get(number) {
            Some(device) if device.is_partition => DeviceRole::Partition,
            Some(device) if device.is_stacked => DeviceRole::Stacked,
            _ => DeviceRole::Disk,
        }
    }

    /// What tells this device from another that later has its number.
    pub fn identity(&self, number: &str) -> &str {
        self.devices.get(number).map_or("", |device| device.identity.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_and_stacks_are_told_from_the_disks_under_them() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/host");
        let topology = Topology::read(&root);
        assert_eq!(topology.role("259:0"), DeviceRole::Disk);
        assert_eq!(topology.role("259:1"), DeviceRole::Partition);
        assert_eq!(topology.role("252:0"), DeviceRole::Stacked);
        assert_eq!(
            topology.role("7:0"),
            DeviceRole::Stacked,
            "a loop device was a disk, and its I/O counted twice"
        );
        assert_eq!(topology.identity("259:0"), "eui.0011223344556677");
        assert_eq!(topology.role("1:1"), DeviceRole::Disk, "what sysfs does not know is taken as it is");
    }
}
