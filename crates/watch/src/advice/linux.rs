//! Rules about a Linux host.

use iostall_model::SettingVersion;

use super::facts::{Facts, evidence, evidence_beside};
use super::outcome::{Evidence, Outcome};
use super::rule::{Rule, Weight};

/// Read-ahead beyond this, in KiB, reads much that nobody asked for; below the other, a scan reads block by block.
const READ_AHEAD_KIB_MAX: u64 = 4_096;
const READ_AHEAD_KIB_MIN: u64 = 16;
/// What partitions of every common tool are multiples of, and what drives have pages of, at least.
const ALIGNMENT_BYTES: u64 = 4_096;
/// A file system with less free space than this part of it is short of it ...
const FREE_SHARE: u64 = 10;
/// With so much free space it is not short of it, however small the share is.
const FREE_ENOUGH_BYTES: u64 = 100 << 30;
/// Smaller file systems hold no databases.
const SIZE_BYTES_MIN: u64 = 1 << 30;

pub(super) static RULES: [Rule; 9] = [
    Rule {
        id: "barriers-off",
        weight: Weight::Safety,
        title: "a file system is mounted without write barriers",
        why: "a power failure can leave the journal and the data in an order in which neither is whole",
        action: "mount it without nobarrier and barrier=0; a write cache that survives power failures makes barriers cheap",
        reference: "mount(8) and the ext4 documentation of the Linux kernel, option barrier",
        check: |facts| {
            facts.check_each("mount", "options", |version| {
                has_option(&version.setting.value, &["nobarrier", "barrier=0", "barrier=none"])
            })
        },
    },
    Rule {
        id: "partition-misaligned",
        weight: Weight::Speed,
        title: "a partition does not begin at a multiple of the drive's blocks",
        why: "each write of a page touches two blocks of the drive, which reads and writes both",
        action: "make the partition anew at a multiple of 1 MiB, as parted and fdisk do today, and restore the data",
        reference: "Linux kernel, Documentation/ABI/stable/sysfs-block (physical_block_size, alignment_offset)",
        check: misaligned,
    },
    Rule {
        id: "pcie-link-narrow",
        weight: Weight::Speed,
        title: "a drive's PCIe link is narrower or slower than the drive can do",
        why: "the link limits the drive: half the lanes are half the throughput",
        action: "look at the slot, the riser and the firmware; lspci -vv names the link at both ends (LnkCap, LnkSta)",
        reference: "Linux kernel, Documentation/ABI/testing/sysfs-bus-pci (current_link_width, max_link_width)",
        check: narrow_link,
    },
    Rule {
        id: "cpu-governor-saves-power",
        weight: Weight::Speed,
        title: "the CPU governor saves power",
        why: "a CPU that must first speed up adds to each I/O that it submits and completes, most so at low load",
        action: "cpupower frequency-set -g performance, or the tuned profile throughput-performance",
        reference: "Linux kernel, Documentation/admin-guide/pm/cpufreq.rst; Red Hat Enterprise Linux 9, tuned profiles",
        check: |facts| match facts.get("", "CPU governor") {
            Some(version) => {
                let saves =
                    ["powersave", "conservative"].iter().any(|name| version.setting.value.contains(name));
                Outcome::found(saves.then(|| evidence(version)))
            }
            None => Outcome::unknown("this machine does not show its CPU governor, as most virtual ones"),
        },
    },
    Rule {
        id: "scheduler-unfit",
        weight: Weight::Speed,
        title: "a disk has an I/O scheduler that does not fit it",
        why: "an NVMe drive orders requests itself, and a fair scheduler costs it throughput; a rotating disk needs one that orders",
        action: "none for NVMe, mq-deadline for rotating disks and SATA SSDs; a udev rule keeps it",
        reference: "Red Hat Enterprise Linux 9, Managing storage devices: setting the disk scheduler",
        check: unfit_scheduler,
    },
    Rule {
        id: "read-ahead-extreme",
        weight: Weight::Speed,
        title: "the read-ahead of a disk is very short or very long",
        why: "a short one makes scans wait for each block; a long one reads what nobody asked for and takes memory from the cache",
        action: "blockdev --setra: 128 to 4096 KiB, by a comparison with `iostall load` or `iostall top`",
        reference: "Linux kernel, Documentation/ABI/stable/sysfs-block (read_ahead_kb); MongoDB and Oracle installation guides",
        check: |facts| {
            facts.check_each("disk", "read-ahead KiB", |version| {
                let kib = version.setting.value.parse::<u64>();
                kib.is_ok_and(|kib| !(READ_AHEAD_KIB_MIN..=READ_AHEAD_KIB_MAX).contains(&kib))
            })
        },
    },
    Rule {
        id: "nothing-trims",
        weight: Weight::Speed,
        title: "nothing tells a drive which blocks are free",
        why: "a drive that takes deleted data for data has less room to work in: its writes slow down and wear it more",
        action: "systemctl enable --now fstrim.timer, or the mount option discard",
        reference: "fstrim(8) of util-linux; Red Hat Enterprise Linux 9, discarding unused blocks",
        check: nothing_trims,
    },
    Rule {
        id: "atime-always",
        weight: Weight::Speed,
        title: "a file system writes the time of each read",
        why: "each read of a file makes a write of its inode",
        action: "mount it with relatime, the default, or noatime",
        reference: "mount(8), options strictatime, relatime and noatime",
        check: |facts| {
            facts.check_each("mount", "options", |version| {
                let options = &version.setting.value;
                // The kernel shows relatime and noatime; a file system with neither keeps every time.
                !has_option(options, &["ro", "relatime", "noatime"])
            })
        },
    },
    Rule {
        id: "space-short",
        weight: Weight::Care,
        title: "a file system has little space left",
        why: "a database that cannot extend a file or its log stops, and most file systems and drives write slower when they are full",
        action: "extend it or move something away; `iostall report volumes` shows who grows",
        reference: "xfs(5) and ext4 documentation of the Linux kernel; PostgreSQL documentation, Disk Full Failure",
        check: space_short,
    },
];

fn has_option(options: &str, wanted: &[&str]) -> bool {
    options.split(',').any(|option| wanted.contains(&option))
}

fn misaligned(facts: &Facts<'_>) -> Outcome {
    facts.check_each("partition", "start bytes", |version| {
        let disk = facts.value(&version.setting.subject, "disk").unwrap_or_default();
        let physical = facts.number(&format!("disk {disk}"), "physical block bytes").unwrap_or(0);
        let start = version.setting.value.parse::<u64>();
        start.is_ok_and(|start| start % ALIGNMENT_BYTES.max(physical) != 0)
    })
}

fn narrow_link(facts: &Facts<'_>) -> Outcome {
    let (mut found, mut is_about): (Vec<Evidence>, bool) = (Vec::new(), false);
    for (now, most) in [("PCIe width", "PCIe width max"), ("PCIe speed", "PCIe speed max")] {
        for version in facts.named(now) {
            let Some(limit) = facts.value(&version.setting.subject, most) else { continue };
            is_about = true;
            if let (Some(is), Some(can)) = (leading(&version.setting.value), leading(limit))
                && is < can
            {
                found.push(evidence_beside(version, format!("it can do {limit}")));
            }
        }
    }
    if is_about { Outcome::found(found) } else { Outcome::NotAbout }
}

/// `16.0 GT/s PCIe` as 16.
fn leading(text: &str) -> Option<f64> {
    text.split_whitespace().next()?.parse().ok()
}

fn unfit_scheduler(facts: &Facts<'_>) -> Outcome {
    facts.check_each("disk", "scheduler", |version| {
        let (subject, scheduler) = (version.setting.subject.as_str(), version.setting.value.as_str());
        let disk = subject.strip_prefix("disk ").unwrap_or_default();
        if disk.starts_with("nvme") {
            return !["none", "kyber"].contains(&scheduler);
        }
        // A virtual disk says that it rotates whatever is under it.
        let is_virtual = ["vd", "xvd", "dm-", "md"].iter().any(|kind| disk.starts_with(kind));
        !is_virtual && facts.value(subject, "rotational") == Some("1") && scheduler == "none"
    })
}

fn nothing_trims(facts: &Facts<'_>) -> Outcome {
    let trims = facts.value("", "periodic fstrim");
    let takes_discards = |version: &&SettingVersion| {
        let disk = facts.value(&version.setting.subject, "disk").unwrap_or_default();
        let bytes = facts.number(&format!("disk {disk}"), "discard bytes max");
        bytes.is_some_and(|bytes| bytes > 0) && !has_option(&version.setting.value, &["ro"])
    };
    let able: Vec<_> = facts
        .named("options")
        .filter(|version| version.setting.subject.starts_with("mount "))
        .filter(takes_discards)
        .collect();
    match trims {
        _ if able.is_empty() => Outcome::NotAbout,
        None => Outcome::unknown("what trims file systems on this machine is not known"),
        Some("none") => {
            let is_bare = |version: &&&SettingVersion| {
                !version.setting.value.split(',').any(|option| option.starts_with("discard"))
            };
            Outcome::found(able.iter().filter(is_bare).map(|version| evidence(version)))
        }
        Some(_) => Outcome::Fine,
    }
}

fn space_short(facts: &Facts<'_>) -> Outcome {
    facts.check_each("mount", "free bytes", |version| {
        let subject = &version.setting.subject;
        let is_read_only =
            facts.value(subject, "options").is_some_and(|options| has_option(options, &["ro"]));
        let (free, size) = (version.setting.value.parse::<u64>().ok(), facts.number(subject, "size bytes"));
        free.zip(size).is_some_and(|(free, size)| !is_read_only && is_short(free, size))
    })
}

pub(super) fn is_short(free_bytes: u64, size_bytes: u64) -> bool {
    size_bytes >= SIZE_BYTES_MIN && free_bytes < size_bytes / FREE_SHARE && free_bytes < FREE_ENOUGH_BYTES
}

#[cfg(test)]
mod tests {
    use iostall_model::Setting;

    use super::*;
    use crate::advice::facts::fixture;

    fn said(id: &str, all: &[(&str, &str, &str)]) -> Result<Vec<String>, Outcome> {
        let all: Vec<Setting> =
            all.iter().map(|(subject, name, value)| Setting::set(*subject, *name, *value)).collect();
        fixture::said(&RULES, id, &all)
    }

    fn found(id: &str, all: &[(&str, &str, &str)]) -> Vec<String> {
        said(id, all).unwrap_or_else(|other| panic!("{id}: {other:?}"))
    }

    fn mount(options: &'static str) -> [(&'static str, &'static str, &'static str); 2] {
        [("mount /data", "options", options), ("mount /data", "disk", "sda")]
    }

    #[test]
    fn mount_options_that_cost_data_or_time_are_found() {
        assert_eq!(found("barriers-off", &mount("rw,nobarrier")), ["mount /data rw,nobarrier"]);
        assert_eq!(said("barriers-off", &mount("rw,relatime")), Err(Outcome::Fine));
        assert_eq!(said("barriers-off", &[]), Err(Outcome::NotAbout));
        assert_eq!(found("atime-always", &mount("rw")), ["mount /data rw"]);
        for fine in ["rw,relatime", "rw,noatime", "ro"] {
            assert_eq!(said("atime-always", &mount(fine)), Err(Outcome::Fine), "{fine}");
        }
    }

    #[test]
    fn a_partition_of_the_old_kind_is_misaligned_and_one_at_a_mebibyte_is_not() {
        let part = |start| {
            [
                ("partition sda1", "start bytes", start),
                ("partition sda1", "disk", "sda"),
                ("disk sda", "physical block bytes", "16384"),
            ]
        };
        assert_eq!(found("partition-misaligned", &part("32256")), ["partition sda1 32256"]);
        assert_eq!(found("partition-misaligned", &part("4096")).len(), 1, "the drive has blocks of 16 KiB");
        assert_eq!(said("partition-misaligned", &part("1048576")), Err(Outcome::Fine));
    }

    #[test]
    fn a_link_below_its_width_or_speed_is_found_with_what_it_can_do() {
        let link = |width, speed| {
            [
                ("disk nvme0n1", "PCIe width", width),
                ("disk nvme0n1", "PCIe width max", "4"),
                ("disk nvme0n1", "PCIe speed", speed),
                ("disk nvme0n1", "PCIe speed max", "16.0 GT/s PCIe"),
            ]
        };
        assert_eq!(found("pcie-link-narrow", &link("2", "16.0 GT/s PCIe")), ["disk nvme0n1 2"]);
        assert_eq!(found("pcie-link-narrow", &link("4", "8.0 GT/s PCIe")), ["disk nvme0n1 8.0 GT/s PCIe"]);
        assert_eq!(said("pcie-link-narrow", &link("4", "16.0 GT/s PCIe")), Err(Outcome::Fine));
        assert_eq!(said("pcie-link-narrow", &[]), Err(Outcome::NotAbout));
    }

    #[test]
    fn a_governor_that_saves_power_is_found_and_none_is_not_known() {
        assert_eq!(
            found("cpu-governor-saves-power", &[("", "CPU governor", "performance + powersave")]).len(),
            1
        );
        assert_eq!(
            said("cpu-governor-saves-power", &[("", "CPU governor", "performance")]),
            Err(Outcome::Fine)
        );
        assert!(matches!(said("cpu-governor-saves-power", &[]), Err(Outcome::Unknown { .. })));
    }

    #[test]
    fn a_scheduler_is_judged_by_the_kind_of_disk_and_a_virtual_disk_is_believed_nothing() {
        let disk =
            |name, scheduler, rotational| [(name, "scheduler", scheduler), (name, "rotational", rotational)];
        assert_eq!(found("scheduler-unfit", &disk("disk nvme0n1", "bfq", "0")), ["disk nvme0n1 bfq"]);
        assert_eq!(found("scheduler-unfit", &disk("disk sda", "none", "1")), ["disk sda none"]);
        for (name, scheduler, rotational) in
            [("disk nvme0n1", "none", "0"), ("disk sda", "mq-deadline", "1"), ("disk vda", "none", "1")]
        {
            assert_eq!(
                said("scheduler-unfit", &disk(name, scheduler, rotational)),
                Err(Outcome::Fine),
                "{name}"
            );
        }
    }

    #[test]
    fn a_very_short_or_long_read_ahead_is_found() {
        let disk = |kib| [("disk sda", "read-ahead KiB", kib)];
        for kib in ["0", "8", "65536"] {
            assert_eq!(found("read-ahead-extreme", &disk(kib)).len(), 1, "{kib}");
        }
        for kib in ["16", "128", "4096"] {
            assert_eq!(said("read-ahead-extreme", &disk(kib)), Err(Outcome::Fine), "{kib}");
        }
    }

    #[test]
    fn nobody_who_trims_is_found_only_where_a_drive_takes_discards() {
        let host = |trims: &'static str, options, bytes| {
            let mut all = mount(options).to_vec();
            all.extend([("disk sda", "discard bytes max", bytes), ("", "periodic fstrim", trims)]);
            all
        };
        assert_eq!(found("nothing-trims", &host("none", "rw", "512")).len(), 1);
        assert_eq!(said("nothing-trims", &host("none", "rw,discard=async", "512")), Err(Outcome::Fine));
        assert_eq!(said("nothing-trims", &host("fstrim.timer", "rw", "512")), Err(Outcome::Fine));
        assert_eq!(said("nothing-trims", &host("none", "rw", "0")), Err(Outcome::NotAbout));
        let mut unknown = host("none", "rw", "512");
        unknown.pop();
        assert!(matches!(said("nothing-trims", &unknown), Err(Outcome::Unknown { .. })));
    }

    #[test]
    fn little_space_is_found_by_share_unless_it_is_much() {
        assert!(is_short(5 << 30, 100 << 30) && !is_short(20 << 30, 100 << 30));
        assert!(!is_short(200 << 30, 10 << 40) && !is_short(1, 100 << 20));
        let space = |options| {
            let mut all = mount(options).to_vec();
            all.extend([("mount /data", "free bytes", "1000"), ("mount /data", "size bytes", "10737418240")]);
            all
        };
        assert_eq!(found("space-short", &space("rw")), ["mount /data 1000"]);
        assert_eq!(said("space-short", &space("ro")), Err(Outcome::Fine));
    }
}
