//! What the kernel says of the health of a drive: its link, its temperature, failed requests, and resets in its log.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use iostall_model::qualify::DriveHealth;
use rustix::fs::{Mode, OFlags};

use super::system::System;

/// What the kernel's log says when a device is reset or does not answer.
const TROUBLES: [&str; 7] =
    ["reset", "timeout", "timed out", "I/O error", "aborting", "link is slow", "failed command"];
/// No more of the log is read at a time, bytes.
const LOG_BYTES_MAX: usize = 16 << 20;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogPlace(u64);

impl System {
    /// The health of the disk with this kernel name, such as `nvme0n1`. `since`: where the kernel's log ended before; `None` if it may
    /// not be read.
    pub fn drive_health(&self, disk: &str, since: Option<LogPlace>) -> DriveHealth {
        let directory = Path::new("/sys/class/block").join(disk);
        let number = self.line(directory.join("dev"));
        let identity = number.as_deref().and_then(|number| self.identity_of_number(number));
        let device = directory.join("device");
        let sensors = self.sensors(&device);
        let hottest = |file: &str| {
            let millis = sensors.iter().filter_map(|sensor| self.number::<i64>(beside(sensor, file)));
            millis.max().map(|millis| millis as f64 / 1e3)
        };
        let coolest_max = || {
            let millis = sensors.iter().filter_map(|sensor| self.number::<i64>(beside(sensor, "_max")));
            // Sensors without a limit report one that no drive survives.
            millis.filter(|millis| (1..150_000).contains(millis)).min().map(|millis| millis as f64 / 1e3)
        };
        let resets = since.and_then(|since| {
            let log = self.kernel_log()?;
            Some(troubles(&log, since, &self.names_in_log(disk, &device)))
        });
        DriveHealth {
            link: identity.and_then(|identity| identity.link),
            celsius: hottest("_input"),
            celsius_max: coolest_max(),
            throttled: None,
            too_hot_min: None,
            media_errors: None,
            request_errors: self.request_errors(&device),
            resets,
        }
    }

    /// Where the kernel's log ends now; `None` if it may not be read.
    pub fn log_place(&self) -> Option<LogPlace> {
        let log = self.kernel_log()?;
        Some(LogPlace(records(&log).map(|(number, _)| number + 1).max().unwrap_or(0)))
    }

    fn sensors(&self, device: &Path) -> Vec<PathBuf> {
        let own = self.names_in(device).into_iter().filter(|name| is_monitor(name));
        let below = self.names_in(device.join("hwmon")).into_iter().filter(|name| is_monitor(name));
        let directories = own
            .map(|name| device.join(name))
            .chain(below.map(|name| device.join("hwmon").join(name)))
            .collect::<Vec<_>>();
        let of = |directory: &PathBuf| {
            let names = self.names_in(directory).into_iter();
            let sensors = names.filter_map(|name| {
                let sensor = name.strip_suffix("_input").filter(|sensor| sensor.starts_with("temp"))?;
                Some(directory.join(sensor))
            });
            sensors.collect::<Vec<_>>()
        };
        directories.iter().flat_map(of).collect()
    }

    /// The counters of SCSI devices, which are hexadecimal.
    fn request_errors(&self, device: &Path) -> Option<u64> {
        let counter = |file: &str| {
            let line = self.line(device.join(file))?;
            u64::from_str_radix(line.trim_start_matches("0x"), 16).ok()
        };
        let all = [counter("ioerr_cnt"), counter("iotmo_cnt")];
        all.into_iter().flatten().reduce(u64::saturating_add)
    }

    /// How the log calls a disk: by its name, and an NVMe namespace by that of its controller, a SATA disk by its port.
    fn names_in_log(&self, disk: &str, device: &Path) -> Vec<String> {
        let mut names = vec![disk.to_owned()];
        let real = self.resolve(device);
        let above = real.iter().flat_map(|path| path.components());
        let parts = above.filter_map(|part| part.as_os_str().to_str());
        names.extend(
            parts.filter(|part| is_numbered(part, "nvme") || is_numbered(part, "ata")).map(str::to_owned),
        );
        names.dedup();
        names
    }

    fn kernel_log(&self) -> Option<String> {
        let path = self.locate("/dev/kmsg");
        // What is not there yet is not waited for.
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let mut file = File::from(rustix::fs::open(&path, flags, Mode::empty()).ok()?);
        let mut bytes = Vec::new();
        let mut record = [0; 8192];
        while bytes.len() < LOG_BYTES_MAX {
            match file.read(&mut record) {
                Ok(0) => break,
                Ok(length) => bytes.extend_from_slice(record.get(..length)?),
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                // A record was overwritten before it was read.
                Err(error) if matches!(error.kind(), ErrorKind::BrokenPipe | ErrorKind::Interrupted) => {}
                Err(_) => return None,
            }
        }
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }
}

fn beside(sensor: &Path, suffix: &str) -> PathBuf {
    let mut name = sensor.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

fn is_monitor(name: &str) -> bool {
    is_numbered(name, "hwmon")
}

/// `nvme` and a number, and nothing more.
fn is_numbered(name: &str, prefix: &str) -> bool {
    let rest = name.strip_prefix(prefix).unwrap_or_default();
    !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit())
}

/// Number and message of each record: `6,1234,5678901,-;nvme nvme0: resetting controller`. Lines that begin with a space belong to the
/// record before.
fn records(log: &str) -> impl Iterator<Item = (u64, &str)> {
    log.lines().filter_map(|line| {
        let (head, message) = line.split_once(';')?;
        let number = head.split(',').nth(1)?.parse().ok()?;
        Some((number, message))
    })
}

/// How many records from `since` on say that a device of these names was reset or did not answer.
fn troubles(log: &str, since: LogPlace, names: &[String]) -> u64 {
    let is_named = |message: &str| {
        let mut words = message.split(|c: char| !c.is_ascii_alphanumeric());
        words.any(|word| names.iter().any(|name| word == name))
    };
    let is_trouble = |message: &str| TROUBLES.iter().any(|trouble| message.contains(trouble));
    let found = records(log)
        .filter(|(number, message)| *number >= since.0 && is_named(message) && is_trouble(message));
    found.count() as u64
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::system::made_up;

    const DISK: &str = "sys/devices/pci0000:00/0000:01:00.0/nvme/nvme0";

    /// A machine with one NVMe drive, and these files below its controller.
    fn machine(files: &[(&str, &str)], log: &str) -> (tempfile::TempDir, System) {
        let own = files.iter().map(|(path, text)| (format!("{DISK}/{path}"), *text));
        let all: Vec<(String, &str)> = own
            .chain([
                (format!("{DISK}/nvme0n1/dev"), "259:0\n"),
                (format!("{DISK}/transport"), "pcie\n"),
                ("sys/dev/block/README".to_owned(), ""),
                ("sys/class/block/README".to_owned(), ""),
                ("dev/kmsg".to_owned(), log),
            ])
            .collect();
        let all: Vec<(&str, &str)> = all.iter().map(|(path, text)| (path.as_str(), *text)).collect();
        let (root, system) = made_up(&all);
        let place = |path: &str| root.path().join(path);
        let disk = "pci0000:00/0000:01:00.0/nvme/nvme0/nvme0n1";
        symlink(Path::new("../../devices").join(disk), place("sys/dev/block/259:0")).unwrap();
        symlink(Path::new("../../devices").join(disk), place("sys/class/block/nvme0n1")).unwrap();
        symlink("..", place(&format!("{DISK}/nvme0n1/device"))).unwrap();
        (root, system)
    }

    #[test]
    fn the_hottest_sensor_counts_and_the_lowest_of_the_limits() {
        let (_root, system) = machine(
            &[
                ("hwmon3/temp1_input", "45850\n"),
                ("hwmon3/temp1_max", "81850\n"),
                ("hwmon3/temp2_input", "62850\n"),
                ("hwmon3/temp2_max", "65261850\n"),
                ("hwmon3/name", "nvme\n"),
            ],
            "",
        );
        let found = system.drive_health("nvme0n1", None);
        assert_eq!((found.celsius, found.celsius_max), (Some(62.85), Some(81.85)));
        assert_eq!((found.resets, found.request_errors), (None, None));
    }

    #[test]
    fn resets_of_this_drive_after_the_run_began_are_counted_and_no_others() {
        let before = "6,10,100,-;nvme nvme0: I/O 5 QID 1 timeout, aborting\n";
        let (root, system) = machine(&[], before);
        let place = system.log_place();
        assert_eq!(place, Some(LogPlace(11)));
        assert_eq!(system.drive_health("nvme0n1", place).resets, Some(0));
        let more = "6,11,200,-;nvme nvme0: I/O 7 QID 1 timeout, reset controller\n SUBSYSTEM=nvme\n\
                    4,12,300,-;nvme nvme01: resetting controller\n3,13,400,-;blk_update_request: I/O error, dev nvme0n1, sector 0\n\
                    6,14,500,-;nvme nvme0: 8/0/0 default/read/poll queues\nno record\n";
        std::fs::write(root.path().join("dev/kmsg"), format!("{before}{more}")).unwrap();
        assert_eq!(system.drive_health("nvme0n1", place).resets, Some(2));
    }

    #[test]
    fn the_counters_of_a_scsi_disk_are_hexadecimal() {
        let (root, system) = made_up(&[
            ("sys/class/block/sda/device/ioerr_cnt", "0x1f\n"),
            ("sys/class/block/sda/device/iotmo_cnt", "0x1\n"),
            ("sys/class/block/sda/device/hwmon/hwmon0/temp1_input", "31000\n"),
        ]);
        let found = system.drive_health("sda", None);
        assert_eq!((found.request_errors, found.celsius), (Some(32), Some(31.0)));
        drop(root);
        assert_eq!(System::at("/nowhere").drive_health("sda", Some(LogPlace(0))), DriveHealth::default());
    }
}
