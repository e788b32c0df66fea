//! What the kernel says about the layout of a device: where it begins, and its units.

use iostall_model::stack_check::BlockLayout;

use super::system::System;

impl System {
    /// The layout of the device `number` (`major:minor`). A partition has the queue of its disk, and a beginning of its own.
    pub fn block_layout(&self, number: &str) -> BlockLayout {
        let Some(directory) = self.device_directory(number) else { return BlockLayout::default() };
        let is_partition = self.exists(directory.join("partition"));
        let disk = if is_partition { directory.parent().unwrap_or(&directory) } else { &directory };
        let queue = |file: &str| self.number::<u64>(disk.join("queue").join(file));
        BlockLayout {
            start_bytes: self.partition_start_bytes(number),
            // -1 means that the kernel does not know, and does not parse as u64.
            misaligned_bytes: self.number(directory.join("alignment_offset")),
            discard_bytes_max: queue("discard_max_bytes"),
            discard_unit_bytes: queue("discard_granularity"),
            optimal_io_bytes: queue("optimal_io_size").filter(|bytes| *bytes > 0),
            chunk_bytes: self.number(disk.join("md/chunk_size")).filter(|bytes| *bytes > 0),
            erase_bytes: self.number(disk.join("device/preferred_erase_size")).filter(|bytes| *bytes > 0),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::path::Path;

    use super::super::system::made_up;
    use super::*;

    #[test]
    fn a_partition_has_the_units_of_its_disk_and_its_own_beginning() {
        let (root, system) = made_up(&[
            ("sys/devices/mmc/block/mmcblk0/queue/discard_max_bytes", "2147450880\n"),
            ("sys/devices/mmc/block/mmcblk0/queue/discard_granularity", "512\n"),
            ("sys/devices/mmc/block/mmcblk0/queue/optimal_io_size", "0\n"),
            ("sys/devices/mmc/block/mmcblk0/device/preferred_erase_size", "4194304\n"),
            ("sys/devices/mmc/block/mmcblk0/mmcblk0p1/partition", "1\n"),
            ("sys/devices/mmc/block/mmcblk0/mmcblk0p1/start", "63\n"),
            ("sys/devices/mmc/block/mmcblk0/mmcblk0p1/alignment_offset", "-1\n"),
            ("sys/devices/virtual/block/md0/queue/discard_max_bytes", "0\n"),
            ("sys/devices/virtual/block/md0/md/chunk_size", "524288\n"),
        ]);
        let numbers = root.path().join("sys/dev/block");
        fs::create_dir_all(&numbers).unwrap();
        for (number, to) in [
            ("179:1", "mmc/block/mmcblk0/mmcblk0p1"),
            ("179:0", "mmc/block/mmcblk0"),
            ("9:0", "virtual/block/md0"),
        ] {
            symlink(Path::new("../../devices").join(to), numbers.join(number)).unwrap();
        }
        let part = system.block_layout("179:1");
        assert_eq!((part.start_bytes, part.misaligned_bytes), (Some(63 * 512), None));
        assert_eq!((part.discard_bytes_max, part.erase_bytes), (Some(2_147_450_880), Some(4 << 20)));
        let disk = system.block_layout("179:0");
        assert_eq!((disk.start_bytes, disk.optimal_io_bytes), (None, None));
        let array = system.block_layout("9:0");
        assert_eq!((array.discard_bytes_max, array.chunk_bytes), (Some(0), Some(512 << 10)));
        assert_eq!(system.block_layout("1:1"), BlockLayout::default());
    }
}
