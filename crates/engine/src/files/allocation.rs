//! Which parts of a file have blocks allocated, and which of those were ever written.

use std::fs::File;
use std::io;
use std::mem::size_of;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allocation {
    pub size_bytes: u64,
    /// Allocated bytes, including the file system's own extent metadata.
    pub allocated_bytes: u64,
    /// Bytes inside the file without a block: they read as zeros and never touch the device. `None` if the
    /// file system does not list extents.
    pub hole_bytes: Option<u64>,
    /// Bytes inside the file that are allocated but were never written; they read as zeros too. `None` as
    /// above.
    pub unwritten_bytes: Option<u64>,
}

/// Reads the allocation from the file system. Dirty pages are flushed first, because blocks may be allocated
/// only when data is written back.
pub fn allocation(path: &Path) -> io::Result<Allocation> {
    let file = File::open(path)?;
    let extents = extents(&file);
    let metadata = file.metadata()?;
    let size_bytes = metadata.len();
    let within = |unwritten: bool| {
        let extents = extents.as_ref()?.iter().filter(|extent| !unwritten || extent.unwritten);
        Some(extents.map(|extent| extent.bytes_below(size_bytes)).sum::<u64>())
    };
    Ok(Allocation {
        size_bytes,
        allocated_bytes: metadata.blocks().saturating_mul(512),
        hole_bytes: within(false).map(|mapped| size_bytes.saturating_sub(mapped)),
        unwritten_bytes: within(true),
    })
}

#[derive(Clone, Copy, Debug)]
struct Extent {
    offset: u64,
    length: u64,
    unwritten: bool,
}

impl Extent {
    fn bytes_below(&self, size_bytes: u64) -> u64 {
        size_bytes.min(self.offset.saturating_add(self.length)).saturating_sub(self.offset)
    }
}

/// `struct fiemap_extent` of `linux/fiemap.h`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct RawExtent {
    logical: u64,
    physical: u64,
    length: u64,
    reserved: [u64; 2],
    flags: u32,
    reserved_too: [u32; 3],
}

const BATCH: usize = 256;

/// `struct fiemap` followed by its extents.
#[repr(C)]
struct Listing {
    start: u64,
    length: u64,
    flags: u32,
    mapped_extents: u32,
    extent_count: u32,
    reserved: u32,
    extents: [RawExtent; BATCH],
}

const FIEMAP_FLAG_SYNC: u32 = 1;
const FIEMAP_EXTENT_LAST: u32 = 1;
const FIEMAP_EXTENT_UNWRITTEN: u32 = 0x800;

/// `FS_IOC_FIEMAP`, which is `_IOWR('f', 11, struct fiemap)`; the size counts the 32 bytes before the extents.
const FS_IOC_FIEMAP: libc::Ioctl = 0xC020_660B_u32 as libc::Ioctl;

/// All extents in order; `None` where the file system does not list them.
fn extents(file: &File) -> Option<Vec<Extent>> {
    let mut all: Vec<Extent> = Vec::new();
    let mut start = 0;
    loop {
        let listing = list_extents(file, start)?;
        let count = usize::try_from(listing.mapped_extents).ok()?.min(BATCH);
        let batch = &listing.extents[..count];
        all.extend(batch.iter().map(|raw| Extent {
            offset: raw.logical,
            length: raw.length,
            unwritten: raw.flags & FIEMAP_EXTENT_UNWRITTEN != 0,
        }));
        let Some(last) = batch.last() else { return Some(all) };
        let next = last.logical.saturating_add(last.length);
        // A file system that makes no progress is broken; keep what it has returned so far.
        if last.flags & FIEMAP_EXTENT_LAST != 0 || next <= start {
            return Some(all);
        }
        start = next;
    }
}

#[expect(unsafe_code, reason = "FIEMAP has no safe wrapper in rustix or libc")]
fn list_extents(file: &File, start: u64) -> Option<Box<Listing>> {
    const { assert!(size_of::<RawExtent>() == 56 && size_of::<Listing>() == 32 + BATCH * 56) };
    let mut listing = Box::new(Listing {
        start,
        length: u64::MAX - start,
        flags: FIEMAP_FLAG_SYNC,
        mapped_extents: 0,
        extent_count: u32::try_from(BATCH).unwrap_or(0),
        reserved: 0,
        extents: [RawExtent::default(); BATCH],
    });
    // SAFETY: the descriptor is open, and `listing` has the layout of `struct fiemap` followed by
    // `extent_count` initialised extents of plain numbers, which the kernel may overwrite.
    let answer = unsafe { libc::ioctl(file.as_raw_fd(), FS_IOC_FIEMAP, &raw mut *listing) };
    (answer == 0).then_some(listing)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt;

    use rustix::fs::{FallocateFlags, fallocate};

    use super::*;

    #[test]
    fn holes_unwritten_and_written_bytes_add_up_to_the_length() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("data");
        let file = File::create_new(&path).unwrap();
        file.set_len(3 << 20).unwrap();
        let preallocated = fallocate(&file, FallocateFlags::empty(), 1 << 20, 1 << 20);
        file.write_all_at(&vec![7; 1 << 20], 2 << 20).unwrap();
        let found = allocation(&path).unwrap();
        assert_eq!(found.size_bytes, 3 << 20);
        assert!(found.allocated_bytes >= 1 << 20);
        if preallocated.is_ok() && found.unwritten_bytes.is_some() {
            assert_eq!((found.hole_bytes, found.unwritten_bytes), (Some(1 << 20), Some(1 << 20)));
        }
    }

    #[test]
    fn a_file_of_more_extents_than_one_call_lists_is_listed_whole() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("data");
        let file = File::create_new(&path).unwrap();
        let islands = 600;
        for island in 0..islands {
            file.write_all_at(&[1; 4096], island * 2 * 4096).unwrap();
        }
        let found = allocation(&path).unwrap();
        assert_eq!(found.size_bytes, (islands * 2 - 1) * 4096);
        if let Some(holes) = found.hole_bytes.filter(|_| found.allocated_bytes < found.size_bytes) {
            assert_eq!(holes, (islands - 1) * 4096);
        }
    }

    #[test]
    fn a_file_system_without_lists_of_extents_tells_nothing_of_them() {
        let found = allocation(Path::new("/proc/self/status")).unwrap();
        assert_eq!((found.hole_bytes, found.unwritten_bytes), (None, None));
        assert!(allocation(Path::new("/nowhere/at/all")).is_err());
    }
}
