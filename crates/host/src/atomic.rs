//! What the kernel says about writes that are not torn.

use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use iostall_model::atomic::{AtomicQueue, AtomicUnits};
use rustix::fs::{AtFlags, CWD, IFlags, StatxFlags, ioctl_getflags, statx};

use super::device::SECTOR_BYTES;
use super::system::System;

/// `STATX_WRITE_ATOMIC`, since Linux 6.11.
const WRITE_ATOMIC: StatxFlags = StatxFlags::from_bits_retain(0x0001_0000);

/// The sizes that the file or device at `path` takes; `None` if the kernel or the file system does not say.
pub fn atomic_units(path: &Path) -> io::Result<Option<AtomicUnits>> {
    let found = match statx(CWD, path, AtFlags::empty(), StatxFlags::TYPE | WRITE_ATOMIC) {
        Err(rustix::io::Errno::INVAL) => return Ok(None),
        found => found?,
    };
    let says = StatxFlags::from_bits_retain(found.stx_mask).contains(WRITE_ATOMIC);
    Ok(says.then(|| AtomicUnits {
        min_bytes: found.stx_atomic_write_unit_min.into(),
        max_bytes: found.stx_atomic_write_unit_max.into(),
    }))
}

/// Whether a file of a file system that writes elsewhere is written in place (`chattr +C`); `None` if it cannot be seen.
pub fn is_written_in_place(path: &Path) -> Option<bool> {
    let flags = ioctl_getflags(File::open(path).ok()?).ok()?;
    Some(flags.contains(IFlags::NOCOW))
}

/// The unit in which a file is best written, bytes: on ZFS its record. `None` for what is no file.
pub fn file_unit_bytes(path: &Path) -> Option<u64> {
    let found = std::fs::metadata(path).ok()?;
    found.is_file().then(|| found.blksize())
}

impl System {
    /// The limits of atomic writes of the device `number` (`major:minor`); `None` where the kernel has none (before 6.11), and
    /// for a partition, whose disk has them.
    pub fn atomic_queue(&self, number: &str) -> Option<AtomicQueue> {
        let directory = self.device_directory(number)?;
        let read = |name: &str| {
            self.number::<u64>(directory.join("queue").join(format!("atomic_write_{name}_bytes")))
        };
        Some(AtomicQueue {
            units: AtomicUnits { min_bytes: read("unit_min")?, max_bytes: read("unit_max")? },
            request_bytes_max: read("max")?,
            boundary_bytes: read("boundary")?,
        })
    }

    /// Where the partition `number` begins on its disk, bytes; `None` for other devices.
    pub fn partition_start_bytes(&self, number: &str) -> Option<u64> {
        let directory = self.device_directory(number)?;
        let sectors = self.number::<u64>(directory.join("start"))?;
        self.exists(directory.join("partition")).then(|| sectors.checked_mul(SECTOR_BYTES))?
    }

    pub fn kernel_release(&self) -> Option<String> {
        self.line("/proc/sys/kernel/osrelease")
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::super::system::made_up;
    use super::*;

    #[test]
    fn limits_are_those_of_the_disk_and_absent_on_an_old_kernel() {
        let disk = "sys/devices/pci/nvme/block/nvme0n1";
        let file = |name: &str| format!("{disk}/queue/atomic_write_{name}_bytes");
        let (part, start) = (format!("{disk}/nvme0n1p1/partition"), format!("{disk}/nvme0n1p1/start"));
        let (root, system) = made_up(&[
            (file("max").as_str(), "131072\n"),
            (file("unit_min").as_str(), "4096\n"),
            (file("unit_max").as_str(), "16384\n"),
            (file("boundary").as_str(), "65536\n"),
            (part.as_str(), "1\n"),
            (start.as_str(), "2048\n"),
            ("sys/devices/virtual/block/loop0/queue/fua", "0\n"),
            ("sys/devices/virtual/block/loop1/queue/atomic_write_max_bytes", "-1\n"),
            ("proc/sys/kernel/osrelease", "6.18.44-fc\n"),
        ]);
        let numbers = root.path().join("sys/dev/block");
        fs::create_dir_all(&numbers).unwrap();
        for (number, to) in [
            ("259:0", "pci/nvme/block/nvme0n1"),
            ("259:1", "pci/nvme/block/nvme0n1/nvme0n1p1"),
            ("7:0", "virtual/block/loop0"),
            ("7:1", "virtual/block/loop1"),
        ] {
            symlink(Path::new("../../devices").join(to), numbers.join(number)).unwrap();
        }
        let wanted = AtomicQueue {
            units: AtomicUnits { min_bytes: 4096, max_bytes: 16_384 },
            request_bytes_max: 131_072,
            boundary_bytes: 65_536,
        };
        assert_eq!(system.atomic_queue("259:0"), Some(wanted));
        assert_eq!(system.atomic_queue("259:1"), None);
        assert_eq!((system.atomic_queue("7:0"), system.atomic_queue("7:1")), (None, None));
        assert_eq!(system.partition_start_bytes("259:1"), Some(1 << 20));
        assert_eq!(system.partition_start_bytes("259:0"), None);
        assert_eq!(system.kernel_release().as_deref(), Some("6.18.44-fc"));
    }

    #[test]
    fn a_file_has_sizes_that_fit_or_none_and_a_missing_one_is_an_error() {
        let file = tempfile::NamedTempFile::new().unwrap();
        if let Some(units) = atomic_units(file.path()).unwrap() {
            assert!(units.min_bytes <= units.max_bytes);
        }
        assert!(atomic_units(Path::new("/nonexistent/file")).is_err());
        assert_eq!(is_written_in_place(Path::new("/nonexistent/file")), None);
        assert!(file_unit_bytes(file.path()).is_some_and(|bytes| bytes > 0));
        assert_eq!(file_unit_bytes(Path::new("/")), None);
    }
}
