//! Checks whether a block device is in use: mounts, holders, swap, loop devices. No flag overrides these.

use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use iostall_host::{System, device_number, name_of};

use super::refusal::Refusal;

/// A block device related to the target: the target itself, its partitions, or the disk that it is a
/// partition of.
struct Related {
    name: String,
    number: String,
    directory: PathBuf,
}

/// Refuses a block device that is in use. `number` is its `major:minor`.
///
/// Other partitions of the same disk do not matter; what uses the whole disk does.
pub(super) fn check_unused(system: &System, path: &Path, number: &str) -> Result<(), Refusal> {
    let related = related(system, number);
    let is_related = |other: &str| other == number || related.iter().any(|device| device.number == other);
    check_not_mounted(system, path, &is_related)?;
    for device in &related {
        if !system.btrfs_members(&device.name).is_empty() {
            // Only a mounted btrfs lists its members there; the mount table shows just one of several
            // devices.
            return Err(Refusal::InBtrfs { path: path.to_owned(), device: device.name.clone() });
        }
        if let Some(holder) = system.names_in(device.directory.join("holders")).into_iter().next() {
            return Err(Refusal::Held { path: path.to_owned(), device: device.name.clone(), holder });
        }
    }
    check_not_swap(system, path, |swap| number_of(swap).is_some_and(|other| is_related(&other)))?;
    check_not_under_loop(system, path, |file| number_of(file).is_some_and(|other| is_related(&other)))
}

/// The target itself first. Empty if sysfs does not know it; the kernel's exclusive open then decides.
fn related(system: &System, number: &str) -> Vec<Related> {
    let Some(directory) = system.device_directory(number) else { return Vec::new() };
    let disk = if system.exists(directory.join("partition")) {
        directory.parent().map(Path::to_owned)
    } else {
        None
    };
    let partitions = system
        .names_in(&directory)
        .into_iter()
        .map(|name| directory.join(name))
        .filter(|child| system.exists(child.join("partition")));
    let all: Vec<PathBuf> = partitions.collect();
    std::iter::once(directory)
        .chain(disk)
        .chain(all)
        .filter_map(|directory| {
            Some(Related {
                name: name_of(&directory)?,
                number: system.line(directory.join("dev"))?,
                directory,
            })
        })
        .collect()
}

/// Compares the device number and the name of the mount's source, because some file systems (btrfs) have
/// numbers of their own.
fn check_not_mounted(system: &System, path: &Path, is_related: &dyn Fn(&str) -> bool) -> Result<(), Refusal> {
    for mount in system.mounts() {
        let by_source = || {
            mount.source.starts_with('/')
                && number_of(Path::new(&mount.source)).is_some_and(|n| is_related(&n))
        };
        if is_related(&mount.number) || by_source() {
            return Err(Refusal::Mounted {
                path: path.to_owned(),
                what: mount.source,
                mount_point: mount.mount_point,
            });
        }
    }
    Ok(())
}

/// Refuses the target if `matches` finds it among the swap files and devices.
pub(super) fn check_not_swap(
    system: &System,
    path: &Path,
    matches: impl Fn(&Path) -> bool,
) -> Result<(), Refusal> {
    match system.swaps().into_iter().find(|swap| matches(swap)) {
        Some(swap) => Err(Refusal::Swap { path: path.to_owned(), swap: swap.display().to_string() }),
        None => Ok(()),
    }
}

/// Refuses the target if `matches` finds it among the backing files of loop devices.
pub(super) fn check_not_under_loop(
    system: &System,
    path: &Path,
    matches: impl Fn(&Path) -> bool,
) -> Result<(), Refusal> {
    for loop_device in system.names_in("/sys/block") {
        let file = system.backing_file(&Path::new("/sys/block").join(&loop_device));
        if file.is_some_and(|file| matches(&file)) {
            return Err(Refusal::UnderLoop { path: path.to_owned(), loop_device });
        }
    }
    Ok(())
}

/// `major:minor` of a block device node; `None` for anything else.
fn number_of(path: &Path) -> Option<String> {
    let metadata = std::fs::metadata(path).ok()?;
    metadata.file_type().is_block_device().then(|| device_number(metadata.rdev()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::made_up::made_up;

    /// A disk `sdx` (8:0) with partitions 1 and 2, plus what a test adds.
    fn disk(more: &[(&str, &str)]) -> (tempfile::TempDir, System) {
        let base = [
            ("sys/devices/block/sdx/dev", "8:0\n"),
            ("sys/devices/block/sdx/sdx1/dev", "8:1\n"),
            ("sys/devices/block/sdx/sdx1/partition", "1\n"),
            ("sys/devices/block/sdx/sdx2/dev", "8:2\n"),
            ("sys/devices/block/sdx/sdx2/partition", "2\n"),
            ("sys/dev/block/README", ""),
        ];
        let (root, system) = made_up(&[&base, more].concat());
        for (number, name) in [("8:0", "sdx"), ("8:1", "sdx/sdx1"), ("8:2", "sdx/sdx2")] {
            let link = root.path().join("sys/dev/block").join(number);
            symlink(Path::new("../../devices/block").join(name), link).unwrap();
        }
        (root, system)
    }

    fn check(system: &System, number: &str) -> Result<(), Refusal> {
        check_unused(system, Path::new("/dev/target"), number)
    }

    #[test]
    fn a_mounted_partition_closes_the_disk_but_not_its_sibling() {
        let (_root, system) =
            disk(&[("proc/self/mountinfo", "50 1 8:1 / /data rw - ext4 /dev/made-up rw\n")]);
        for number in ["8:0", "8:1"] {
            let refusal = check(&system, number).unwrap_err();
            assert!(
                matches!(&refusal, Refusal::Mounted { mount_point, .. } if mount_point == Path::new("/data"))
            );
        }
        check(&system, "8:2").unwrap();
    }

    #[test]
    fn a_holder_of_a_partition_closes_the_disk_and_a_holder_of_the_disk_closes_its_partitions() {
        let (_root, system) = disk(&[("sys/devices/block/sdx/sdx2/holders/dm-0/x", "")]);
        for number in ["8:0", "8:2"] {
            let refusal = check(&system, number).unwrap_err();
            assert!(
                matches!(&refusal, Refusal::Held { device, holder, .. } if device == "sdx2" && holder == "dm-0")
            );
        }
        check(&system, "8:1").unwrap();
        let (_root, system) = disk(&[("sys/devices/block/sdx/holders/md0/x", "")]);
        for number in ["8:0", "8:1", "8:2"] {
            assert!(matches!(check(&system, number), Err(Refusal::Held { .. })));
        }
    }

    #[test]
    fn every_device_of_a_mounted_btrfs_is_closed() {
        let (_root, system) = disk(&[("sys/fs/btrfs/1234-abcd/devices/sdx1/x", "")]);
        let refusal = check(&system, "8:1").unwrap_err();
        assert!(matches!(&refusal, Refusal::InBtrfs { device, .. } if device == "sdx1"));
        check(&system, "8:2").unwrap();
    }

    #[test]
    fn an_unknown_device_is_left_to_the_exclusive_open() {
        let (_root, system) = made_up(&[]);
        check(&system, "9:9").unwrap();
    }
}
