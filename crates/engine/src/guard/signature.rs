//! Signatures of what may be on a block device: file systems, partition tables, swap, volume members.
//!
//! Deliberately broad: a false alarm costs the user a stronger flag, a miss costs them the data. Offsets are
//! from the formats' own documentation (kernel `Documentation/filesystems`, the md, LVM2, LUKS and ZFS
//! on-disk specifications, UEFI).

use std::fmt;
use std::io;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signature {
    pub what: &'static str,
    /// Byte offset on the device.
    pub offset: u64,
}

impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at byte {}", self.what, self.offset)
    }
}

/// Reads into the buffer from an offset, and returns how many bytes there were.
pub(super) trait ReadAt {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;
}

impl ReadAt for std::fs::File {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let mut filled = 0;
        while filled < buffer.len() {
            let at = offset + u64::try_from(filled).unwrap_or(u64::MAX);
            match std::os::unix::fs::FileExt::read_at(self, &mut buffer[filled..], at) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(filled)
    }
}

/// Signatures at a fixed offset from the start.
const AT_START: [(u64, &[u8], &str); 53] = [
    (510, b"\x55\xaa", "partition table or boot sector (MBR)"),
    (512, b"EFI PART", "partition table (GPT)"),
    (4096, b"EFI PART", "partition table (GPT)"),
    (1024 + 56, b"\x53\xef", "ext2, ext3 or ext4"),
    (0, b"XFSB", "xfs"),
    (65_536 + 64, b"_BHRfS_M", "btrfs"),
    (1024, b"\x10\x20\xf5\xf2", "f2fs"),
    (54, b"FAT1", "FAT"),
    (82, b"FAT32   ", "FAT32"),
    (3, b"EXFAT   ", "exFAT"),
    (3, b"NTFS    ", "NTFS"),
    (3, b"ReFS\0", "ReFS"),
    (3, b"-FVE-FS-", "BitLocker"),
    (4096 - 10, b"SWAPSPACE2", "swap"),
    (4096 - 10, b"SWAP-SPACE", "swap"),
    (8192 - 10, b"SWAPSPACE2", "swap"),
    (16_384 - 10, b"SWAPSPACE2", "swap"),
    (65_536 - 10, b"SWAPSPACE2", "swap"),
    (4096 - 10, b"S1SUSPEND", "suspended system"),
    (24, b"LVM2 001", "LVM2 physical volume"),
    (512 + 24, b"LVM2 001", "LVM2 physical volume"),
    (1024 + 24, b"LVM2 001", "LVM2 physical volume"),
    (1536 + 24, b"LVM2 001", "LVM2 physical volume"),
    (0, b"\xfc\x4e\x2b\xa9", "md RAID member (1.1)"),
    (4096, b"\xfc\x4e\x2b\xa9", "md RAID member (1.2)"),
    (0, b"LUKS\xba\xbe", "LUKS"),
    (0x4000, b"SKUL\xba\xbe", "LUKS2, second header"),
    (0x8000, b"SKUL\xba\xbe", "LUKS2, second header"),
    (0x1_0000, b"SKUL\xba\xbe", "LUKS2, second header"),
    (0x2_0000, b"SKUL\xba\xbe", "LUKS2, second header"),
    (0x4_0000, b"SKUL\xba\xbe", "LUKS2, second header"),
    (0x8_0000, b"SKUL\xba\xbe", "LUKS2, second header"),
    (0x10_0000, b"SKUL\xba\xbe", "LUKS2, second header"),
    (0x20_0000, b"SKUL\xba\xbe", "LUKS2, second header"),
    (0x40_0000, b"SKUL\xba\xbe", "LUKS2, second header"),
    (4096 + 24, b"\xc6\x85\x73\xf6\x4e\x1a\x45\xca\x82\x65\xf5\x7f\x48\xba\x6d\x81", "bcache"),
    (4096 + 24, b"\xc6\x85\x73\xf6\x66\xce\x90\xa9\xd9\x6a\x60\xcf\x80\x3d\xf7\xef", "bcachefs"),
    (32_769, b"CD001", "ISO 9660"),
    (32_769, b"BEA01", "UDF"),
    (0, b"hsqs", "squashfs"),
    (1024, b"\xe2\xe1\xf5\xe0", "erofs"),
    (32_768, b"JFS1", "jfs"),
    (65_536 + 52, b"ReIsEr", "reiserfs"),
    (1024 + 6, b"\x34\x34", "nilfs2"),
    (65_536, b"\x01\x16\x19\x70", "gfs2"),
    (8192, b"OCFSV2", "ocfs2"),
    (1024, b"H+", "HFS+"),
    (1024, b"HX", "HFS+"),
    (32, b"NXSB", "APFS"),
    (32, b"ORCLDISK", "Oracle ASM disk"),
    (0, b"bluestore block device", "Ceph BlueStore"),
    (0, b"dmvdo001", "VDO"),
    (0x10_0000, b"\x0d\xd0\x01\xc0", "VMFS"),
];

/// All known signatures on a device of `size_bytes`.
pub(super) fn find(device: &impl ReadAt, size_bytes: u64) -> io::Result<Vec<Signature>> {
    let mut found = Vec::new();
    let near_start = AT_START.iter().map(|(offset, magic, what)| (Some(*offset), *magic, *what));
    for (offset, magic, what) in near_start.chain(at_end(size_bytes)) {
        let Some(offset) = offset else { continue };
        let mut bytes = vec![0; magic.len()];
        if device.read_at(&mut bytes, offset)? == magic.len() && bytes == magic {
            found.push(Signature { what, offset });
        }
    }
    find_zfs(device, size_bytes, &mut found)?;
    Ok(found)
}

/// Offsets of signatures at the end of the device; `None` if it is too small.
fn at_end(size_bytes: u64) -> [(Option<u64>, &'static [u8], &'static str); 6] {
    const MD: &[u8] = b"\xfc\x4e\x2b\xa9";
    let before_end = |bytes| size_bytes.checked_sub(bytes);
    // md 1.0: at least 8 KiB before the end, on a multiple of 4 KiB. md 0.90: the last whole 64 KiB.
    let md_10 = before_end(8192).map(|offset| offset / 4096 * 4096);
    let md_090 = (size_bytes / 65_536).checked_sub(1).map(|index| index * 65_536);
    [
        (before_end(512), b"EFI PART", "partition table (GPT, second)"),
        (before_end(4096), b"EFI PART", "partition table (GPT, second)"),
        (md_10, MD, "md RAID member (1.0)"),
        (md_090, MD, "md RAID member (0.90)"),
        (md_090, b"\xa9\x2b\x4e\xfc", "md RAID member (0.90)"),
        (before_end(1024), b"Intel Raid ISM Cfg Sig.", "Intel RAID member"),
    ]
}

const ZFS_LABEL_BYTES: u64 = 256 << 10;

/// In each label the uberblock ring begins here and takes the rest of the label.
const ZFS_RING_OFFSET: u64 = 128 << 10;

/// Uberblocks are 1 KiB or a larger power of two.
const ZFS_UBERBLOCK_BYTES: usize = 1024;

/// ZFS keeps two labels at the start and two at the end of the device. A label is recognised by the magic of
/// any of its uberblocks, in the byte order of the machine that wrote it.
fn find_zfs(device: &impl ReadAt, size_bytes: u64, found: &mut Vec<Signature>) -> io::Result<()> {
    const MAGIC: u64 = 0x00ba_b10c;
    let labels = size_bytes / ZFS_LABEL_BYTES;
    let mut indexes: Vec<u64> =
        [Some(0), Some(1), labels.checked_sub(2), labels.checked_sub(1)].into_iter().flatten().collect();
    indexes.sort_unstable();
    indexes.dedup();
    let mut ring = vec![0; 128 << 10];
    for index in indexes {
        let offset = index * ZFS_LABEL_BYTES;
        let length = device.read_at(&mut ring, offset + ZFS_RING_OFFSET)?;
        let is_uberblock =
            |block: &[u8]| block.starts_with(&MAGIC.to_le_bytes()) || block.starts_with(&MAGIC.to_be_bytes());
        if ring[..length].chunks(ZFS_UBERBLOCK_BYTES).any(is_uberblock) {
            found.push(Signature { what: "ZFS pool member", offset });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A device of zeros except for a few bytes, of any size and without taking memory.
    struct Sparse {
        size_bytes: u64,
        written: Vec<(u64, Vec<u8>)>,
    }

    impl ReadAt for Sparse {
        fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
            let there = usize::try_from(self.size_bytes.saturating_sub(offset)).unwrap().min(buffer.len());
            for (index, byte) in buffer[..there].iter_mut().enumerate() {
                let at = offset + u64::try_from(index).unwrap();
                *byte = self
                    .written
                    .iter()
                    .find_map(|(start, bytes)| bytes.get(usize::try_from(at.checked_sub(*start)?).ok()?))
                    .copied()
                    .unwrap_or(0);
            }
            Ok(there)
        }
    }

    fn found(size_bytes: u64, offset: u64, bytes: &[u8]) -> Vec<Signature> {
        find(&Sparse { size_bytes, written: vec![(offset, bytes.to_vec())] }, size_bytes).unwrap()
    }

    #[test]
    fn every_signature_of_the_table_is_found_where_it_belongs_and_not_a_byte_beside() {
        for (offset, magic, what) in AT_START {
            let expected = Signature { what, offset };
            assert!(found(16 << 20, offset, magic).contains(&expected), "{expected}");
            assert!(!found(16 << 20, offset + 1, magic).contains(&expected), "{expected}");
        }
    }

    #[test]
    fn signatures_at_the_end_are_found_on_devices_of_any_size() {
        for size_bytes in [(16 << 20), (16 << 20) + 512, (16 << 20) + 69_632] {
            for (offset, magic, what) in at_end(size_bytes) {
                let expected = Signature { what, offset: offset.unwrap() };
                assert!(found(size_bytes, expected.offset, magic).contains(&expected), "{expected}");
            }
        }
    }

    #[test]
    fn zfs_is_found_in_any_of_its_labels_and_in_both_byte_orders() {
        let size_bytes = (16 << 20) + 5000;
        for label in [0, 1, 62, 63] {
            let offset = label * ZFS_LABEL_BYTES;
            let uberblock = offset + ZFS_RING_OFFSET + 37 * 1024;
            let expected = [Signature { what: "ZFS pool member", offset }];
            assert_eq!(found(size_bytes, uberblock, &0x00ba_b10c_u64.to_le_bytes()), expected);
            assert_eq!(found(size_bytes, uberblock, &0x00ba_b10c_u64.to_be_bytes()), expected);
        }
    }

    #[test]
    fn an_empty_device_has_none_and_a_tiny_one_is_no_fault() {
        for size_bytes in [0, 1, 511, 512, 4096, 65_536, 1 << 20] {
            let device = Sparse { size_bytes, written: Vec::new() };
            assert_eq!(find(&device, size_bytes).unwrap(), [], "{size_bytes} bytes");
        }
    }
}
