//! The settings of this host that decide how its storage behaves.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use iostall_model::Setting;
use rustix::fs::statvfs;

use super::device::{SECTOR_BYTES, active_scheduler};
use super::system::System;

/// Of each disk: the file below `/sys/block/DISK`, and what it is called.
const OF_DISKS: [(&str, &str); 18] = [
    ("queue/read_ahead_kb", "read-ahead KiB"),
    ("queue/nr_requests", "queue requests"),
    ("queue/max_sectors_kb", "request KiB max"),
    ("queue/rotational", "rotational"),
    ("queue/write_cache", "write cache"),
    ("queue/discard_max_bytes", "discard bytes max"),
    ("queue/rq_affinity", "completion affinity"),
    ("queue/wbt_lat_usec", "write-back throttling us"),
    ("queue/physical_block_size", "physical block bytes"),
    ("queue/atomic_write_max_bytes", "atomic write bytes max"),
    ("device/model", "model"),
    ("device/firmware_rev", "firmware"),
    ("device/rev", "firmware"),
    ("device/device/current_link_width", "PCIe width"),
    ("device/device/max_link_width", "PCIe width max"),
    ("device/device/current_link_speed", "PCIe speed"),
    ("device/device/max_link_speed", "PCIe speed max"),
    ("alignment_offset", "alignment offset bytes"),
];
const OF_MACHINE: [(&str, &str); 8] = [
    ("/proc/sys/kernel/osrelease", "kernel"),
    ("/proc/sys/vm/dirty_ratio", "vm.dirty_ratio"),
    ("/proc/sys/vm/dirty_background_ratio", "vm.dirty_background_ratio"),
    ("/proc/sys/vm/dirty_bytes", "vm.dirty_bytes"),
    ("/proc/sys/vm/dirty_expire_centisecs", "vm.dirty_expire_centisecs"),
    ("/proc/sys/vm/swappiness", "vm.swappiness"),
    ("/sys/kernel/mm/transparent_hugepage/enabled", "transparent huge pages"),
    ("/sys/module/pcie_aspm/parameters/policy", "PCIe power saving"),
];
const CPUS: &str = "/sys/devices/system/cpu";
/// Where systemd keeps what it starts, and what is there if it trims file systems every week.
const SYSTEMD_TIMERS: &str = "/etc/systemd/system/timers.target.wants";

impl System {
    pub fn io_settings(&self) -> Vec<Setting> {
        let mut all = self.machine_settings();
        for disk in self.names_in("/sys/block").iter().filter(|disk| !is_made_up(disk)) {
            self.disk_settings(disk, &mut all);
        }
        self.mount_settings(&mut all);
        all
    }

    fn machine_settings(&self) -> Vec<Setting> {
        let read = |(path, name): &(&str, &str)| {
            let line = self.line(path)?;
            Some(Setting::set("", *name, active_scheduler(&line).unwrap_or(line)))
        };
        let mut all: Vec<Setting> = OF_MACHINE.iter().filter_map(read).collect();
        let cpus = self.names_in(CPUS);
        let governor = |cpu: &String| self.line(format!("{CPUS}/{cpu}/cpufreq/scaling_governor"));
        let governors: BTreeSet<String> = cpus.iter().filter_map(governor).collect();
        if !governors.is_empty() {
            let governors: Vec<String> = governors.into_iter().collect();
            all.push(Setting::set("", "CPU governor", governors.join(" + ")));
        }
        if let Some(trim) = self.trimming() {
            all.push(Setting::set("", "periodic fstrim", trim));
        }
        all
    }

    /// Who trims file systems now and then; `None` where that cannot be known.
    fn trimming(&self) -> Option<&'static str> {
        let is_in_cron = ["daily", "weekly", "monthly"]
            .iter()
            .any(|often| self.exists(format!("/etc/cron.{often}/fstrim")));
        if is_in_cron {
            return Some("cron");
        }
        self.exists("/etc/systemd/system").then(|| {
            if self.exists(format!("{SYSTEMD_TIMERS}/fstrim.timer")) { "fstrim.timer" } else { "none" }
        })
    }

    fn disk_settings(&self, disk: &str, all: &mut Vec<Setting>) {
        let place = Path::new("/sys/block").join(disk);
        let subject = format!("disk {disk}");
        let scheduler = self.line(place.join("queue/scheduler"));
        if let Some(scheduler) = scheduler.and_then(|line| active_scheduler(&line)) {
            all.push(Setting::set(&subject, "scheduler", scheduler));
        }
        let mut names = BTreeSet::new();
        for (path, name) in OF_DISKS {
            if let Some(value) = self.line(place.join(path))
                && names.insert(name)
            {
                all.push(Setting::set(&subject, name, value));
            }
        }
        for name in self.names_in(&place) {
            let part = place.join(&name);
            if self.exists(part.join("partition"))
                && let Some(start) = self.number::<u64>(part.join("start"))
            {
                let (subject, start) = (format!("partition {name}"), start.saturating_mul(SECTOR_BYTES));
                all.push(Setting::set(&subject, "start bytes", start.to_string()));
                all.push(Setting::set(&subject, "disk", disk));
            }
        }
    }

    fn mount_settings(&self, all: &mut Vec<Setting>) {
        // A file system without a device of its own has major number 0.
        let is_on_disk = |source: &str, number: &str| {
            !number.starts_with("0:") && !source.strip_prefix("/dev/").is_some_and(is_made_up)
        };
        let mut seen = BTreeSet::new();
        for mount in self.mounts() {
            // Only what is on a disk of this machine is looked at: a server of files that is gone would not answer.
            if !is_on_disk(&mount.source, &mount.number)
                || !seen.insert(mount.mount_point.clone())
                || self.locate(&mount.mount_point).is_file()
            {
                continue;
            }
            let subject = format!("mount {}", mount.mount_point.display());
            all.push(Setting::set(&subject, "file system", &mount.kind));
            all.push(Setting::set(&subject, "options", mount.options()));
            if let Some(disk) = self.disk_of(&mount.number) {
                all.push(Setting::set(&subject, "disk", disk));
            }
            if let Ok(space) = statvfs(self.locate(&mount.mount_point)) {
                let bytes = |blocks: u64| blocks.saturating_mul(space.f_frsize).to_string();
                all.push(Setting::measured(&subject, "free bytes", bytes(space.f_bavail)));
                all.push(Setting::measured(&subject, "size bytes", bytes(space.f_blocks)));
            }
        }
    }

    /// The name of the disk that the device `number` is, or is a partition of.
    fn disk_of(&self, number: &str) -> Option<String> {
        let place: PathBuf = self.device_directory(number)?;
        let disk = if self.exists(place.join("partition")) { place.parent()? } else { &place };
        Some(disk.file_name()?.to_str()?.to_owned())
    }
}

/// Whether a disk is a file or memory: such ones come and go with every package and image.
fn is_made_up(disk: &str) -> bool {
    ["loop", "ram", "zram"].iter().any(|kind| disk.starts_with(kind))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn disks_partitions_mounts_and_the_machine_are_read_and_loop_devices_are_not() {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in [
            ("sys/block/sda/queue/scheduler", "none [mq-deadline]\n"),
            ("sys/block/sda/queue/read_ahead_kb", "128\n"),
            ("sys/block/sda/device/rev", "2.1 \n"),
            ("sys/block/sda/sda1/partition", "1\n"),
            ("sys/block/sda/sda1/start", "63\n"),
            ("sys/block/loop0/queue/read_ahead_kb", "128\n"),
            ("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n"),
            ("sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "performance\n"),
            ("etc/systemd/system/timers.target.wants/logrotate.timer", ""),
            ("proc/sys/vm/swappiness", "60\n"),
            (
                "proc/self/mountinfo",
                "30 1 8:1 / /data rw,noatime - xfs /dev/sda1 rw,attr2\n31 1 0:5 / /run rw - tmpfs tmpfs rw\n\
                 32 1 7:0 / /snap/core ro - squashfs /dev/loop0 ro\n",
            ),
        ] {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let found = System::at(root.path()).io_settings();
        let found: Vec<(String, &str)> =
            found.iter().map(|setting| (setting.full_name(), setting.value.as_str())).collect();
        let found: Vec<(&str, &str)> = found.iter().map(|(name, value)| (name.as_str(), *value)).collect();
        assert_eq!(
            found,
            [
                ("vm.swappiness", "60"),
                ("CPU governor", "performance + powersave"),
                ("periodic fstrim", "none"),
                ("disk sda scheduler", "mq-deadline"),
                ("disk sda read-ahead KiB", "128"),
                ("disk sda firmware", "2.1"),
                ("partition sda1 start bytes", "32256"),
                ("partition sda1 disk", "sda"),
                ("mount /data file system", "xfs"),
                ("mount /data options", "rw,noatime,attr2"),
            ]
        );
    }
}
