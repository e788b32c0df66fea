//! The settings of this host that decide how its storage behaves.

use std::collections::BTreeMap;
use std::path::Path;

use super::device::active_scheduler;
use super::system::System;

/// Of each disk: the file below `/sys/block/DISK`, and what it is called.
const OF_DISKS: [(&str, &str); 8] = [
    ("queue/read_ahead_kb", "read-ahead KiB"),
    ("queue/nr_requests", "queue requests"),
    ("queue/max_sectors_kb", "request KiB max"),
    ("queue/write_cache", "write cache"),
    ("queue/discard_max_bytes", "discard bytes max"),
    ("queue/rq_affinity", "completion affinity"),
    ("queue/wbt_lat_usec", "write-back throttling us"),
    ("device/firmware_rev", "firmware"),
];
/// Of the whole machine.
const OF_MACHINE: [(&str, &str); 6] = [
    ("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "CPU governor"),
    ("/proc/sys/kernel/osrelease", "kernel"),
    ("/proc/sys/vm/dirty_ratio", "vm.dirty_ratio"),
    ("/proc/sys/vm/dirty_background_ratio", "vm.dirty_background_ratio"),
    ("/proc/sys/vm/dirty_bytes", "vm.dirty_bytes"),
    ("/proc/sys/vm/swappiness", "vm.swappiness"),
];

impl System {
    /// Settings by name, such as `sda scheduler` or `options of /var/lib/postgresql`.
    pub fn io_settings(&self) -> BTreeMap<String, String> {
        let machine =
            OF_MACHINE.iter().filter_map(|(path, name)| Some(((*name).to_owned(), self.line(path)?)));
        let mut all: BTreeMap<String, String> = machine.collect();
        for disk in self.names_in("/sys/block").iter().filter(|disk| !is_made_up(disk)) {
            let place = Path::new("/sys/block").join(disk);
            let scheduler = self.line(place.join("queue/scheduler"));
            if let Some(scheduler) = scheduler.and_then(|line| active_scheduler(&line)) {
                all.insert(format!("{disk} scheduler"), scheduler);
            }
            for (path, name) in OF_DISKS {
                if let Some(value) = self.line(place.join(path)) {
                    all.insert(format!("{disk} {name}"), value);
                }
            }
        }
        // A file system without a device of its own has major number 0.
        let is_on_disk = |source: &str, number: &str| {
            !number.starts_with("0:") && !source.strip_prefix("/dev/").is_some_and(is_made_up)
        };
        for mount in self.mounts() {
            if is_on_disk(&mount.source, &mount.number) {
                let name = format!("options of {}", mount.mount_point.display());
                all.entry(name).or_insert_with(|| format!("{} {}", mount.kind, mount.options()));
            }
        }
        all
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
    fn disks_mounts_and_the_machine_are_read_and_loop_devices_are_not() {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in [
            ("sys/block/sda/queue/scheduler", "none [mq-deadline]\n"),
            ("sys/block/sda/queue/read_ahead_kb", "128\n"),
            ("sys/block/loop0/queue/read_ahead_kb", "128\n"),
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
        let found: Vec<(&str, &str)> =
            found.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(
            found,
            [
                ("options of /data", "xfs rw,noatime,attr2"),
                ("sda read-ahead KiB", "128"),
                ("sda scheduler", "mq-deadline"),
                ("vm.swappiness", "60"),
            ]
        );
    }
}
