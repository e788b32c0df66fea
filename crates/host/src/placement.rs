//! The devices under a volume of this host, by their identities.

use std::path::{Path, PathBuf};

use iostall_model::device::{IdentityKind, PlacedOn, Placement};

use super::system::System;

/// More mappings than this on top of each other are a loop.
const DEPTH_MAX: u32 = 16;

impl System {
    /// The devices under the volume that [`Volumes`](super::Volumes) calls `name`; `None` if this host has no such volume.
    pub fn placement(&self, name: &str) -> Option<Placement> {
        let devices = match self.directory_of_volume(name) {
            Some(directory) => {
                let mut devices = Vec::new();
                self.add_disks(&directory, DEPTH_MAX, &mut devices);
                devices
            }
            None => vec![self.export_of_volume(name)?],
        };
        Some(Placement { volume: name.to_owned(), devices })
    }

    /// `sda1 (/data)` and `sda1` begin with the name of a device.
    fn directory_of_volume(&self, name: &str) -> Option<PathBuf> {
        let device = name.split_once(" (").map_or(name, |(device, _)| device);
        if device.starts_with('/') || device.is_empty() || device.contains("..") {
            return None;
        }
        let number = self.line(format!("/sys/class/block/{}/dev", device.replace('/', "!")))?;
        self.device_directory(&number)
    }

    /// `/data (nfs4)` is an export of another host.
    fn export_of_volume(&self, name: &str) -> Option<PlacedOn> {
        let (point, kind) = name.rsplit_once(" (")?;
        let kind = kind.strip_suffix(')').filter(|kind| kind.starts_with("nfs"))?;
        let mount = self
            .mounts()
            .into_iter()
            .rev()
            .find(|mount| mount.mount_point == Path::new(point) && mount.kind == kind)?;
        Some(PlacedOn { kind: IdentityKind::Nfs, identity: mount.source, model: None })
    }

    /// The disks under a partition, a mapping or an array: what has neither members nor a file under it.
    fn add_disks(&self, directory: &Path, depth: u32, devices: &mut Vec<PlacedOn>) {
        let Some(depth) = depth.checked_sub(1) else { return };
        let members = self.names_in(directory.join("slaves"));
        for member in &members {
            let number = self.line(format!("/sys/class/block/{member}/dev"));
            if let Some(below) = number.and_then(|number| self.device_directory(&number)) {
                self.add_disks(&below, depth, devices);
            }
        }
        if !members.is_empty() {
            return;
        }
        if let Some(file) = self.backing_file(directory) {
            let below = self.device_of(&self.locate(file)).and_then(|it| self.device_directory(&it.number));
            if let Some(below) = below {
                self.add_disks(&below, depth, devices);
            }
            return;
        }
        let identity = self.line(directory.join("dev")).and_then(|number| self.identity_of_number(&number));
        let Some((identity, (kind, name))) = identity.and_then(|it| Some((it.clone(), it.strongest()?)))
        else {
            return;
        };
        let device = PlacedOn { kind, identity: name, model: identity.model };
        if !devices.contains(&device) {
            devices.push(device);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::system::made_up;
    use super::*;

    #[test]
    fn a_volume_of_a_mapping_lies_on_the_disks_under_it() {
        let (root, system) = made_up(&[
            ("sys/devices/pci/block/sda/dev", "8:0\n"),
            ("sys/devices/pci/block/sda/device/wwid", "naa.5000c500a1b2c3d4\n"),
            ("sys/devices/pci/block/sda/device/model", "Disk 9\n"),
            ("sys/devices/pci/block/sda/sda1/dev", "8:1\n"),
            ("sys/devices/pci/block/sda/sda1/partition", "1\n"),
            ("sys/devices/pci/block/sda/sda1/start", "2048\n"),
            ("sys/devices/virtual/block/dm-0/dev", "252:0\n"),
            ("sys/devices/virtual/block/dm-0/dm/uuid", "LVM-1\n"),
            ("sys/devices/virtual/block/dm-0/slaves/sda1/x", ""),
            ("proc/self/mountinfo", "30 1 0:41 / /nfs rw - nfs4 filer:/vol/db rw\n"),
        ]);
        let link = |from: &str, to: &str| {
            let from = root.path().join(from);
            std::fs::create_dir_all(from.parent().unwrap()).unwrap();
            std::os::unix::fs::symlink(root.path().join(to), from).unwrap();
        };
        for (number, name, to) in [
            ("8:0", "sda", "sys/devices/pci/block/sda"),
            ("8:1", "sda1", "sys/devices/pci/block/sda/sda1"),
            ("252:0", "dm-0", "sys/devices/virtual/block/dm-0"),
        ] {
            link(&format!("sys/dev/block/{number}"), to);
            link(&format!("sys/class/block/{name}"), to);
        }
        let disk = PlacedOn {
            kind: IdentityKind::Naa,
            identity: "5000c500a1b2c3d4".into(),
            model: Some("Disk 9".into()),
        };
        for volume in ["dm-0 (/data)", "sda1", "sda1 (/)", "sda"] {
            assert_eq!(system.placement(volume).unwrap().devices, std::slice::from_ref(&disk), "{volume}");
        }
        let export = system.placement("/nfs (nfs4)").unwrap().devices;
        assert_eq!((export[0].kind, export[0].identity.as_str()), (IdentityKind::Nfs, "filer:/vol/db"));
        for none in ["E:\\", "/tmp (tmpfs)", "/var/lib/data", "../sda", "", "sdb1 (/x)"] {
            assert_eq!(system.placement(none), None, "{none}");
        }
    }
}
