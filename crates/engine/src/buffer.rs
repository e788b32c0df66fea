//! I/O buffers: one memory region, aligned and faulted in before use.
//!
//! A device takes a large request in one piece only if its memory is physically contiguous. Scattered 4 KiB
//! pages run into the device's segment limit and split the request; on virtio that halved throughput. So a
//! pool is a single mapping on a 2 MiB boundary that asks for huge pages, and every page is populated before
//! the first request, which keeps page faults out of the measured latency.

#![expect(unsafe_code, reason = "maps memory and hands out disjoint parts of it")]

use std::fmt;
use std::io;
use std::ops::{Deref, DerefMut};
use std::ptr::{self, NonNull};
use std::slice;
use std::sync::{Arc, OnceLock};

use iostall_measure::{Feature, Unavailable};
use rustix::mm::{Advice, MapFlags, MprotectFlags, ProtFlags, madvise, mmap_anonymous, mprotect, munmap};

use crate::report::EngineReport;

/// Alignment of each buffer: one memory page, which satisfies every block device.
pub const BUFFER_ALIGN: usize = 4096;

const HUGE_PAGE_BYTES: usize = 2 << 20;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pages {
    /// Transparent huge pages if the kernel offers them, otherwise 4 KiB pages.
    #[default]
    HugeIfPossible,
    /// Always 4 KiB pages, to measure what they cost.
    Small,
}

/// One mapping cut into equal slots. Clones share the same memory, which is freed with the last pool handle
/// or [`Buffer`].
#[derive(Clone)]
pub struct BufferPool {
    mapping: Arc<Mapping>,
}

impl BufferPool {
    /// Maps and populates `count` buffers of `bytes_each`.
    ///
    /// A slot is `bytes_each` rounded up to [`BUFFER_ALIGN`]; the buffer exposes `bytes_each` of it.
    /// Fails with the error of `mmap`, or `InvalidInput` if the size is zero or exceeds the address space.
    pub fn new(count: u32, bytes_each: u32, pages: Pages) -> io::Result<(Self, Vec<Buffer>)> {
        let refuse = |what: &str| io::Error::new(io::ErrorKind::InvalidInput, what.to_owned());
        if count == 0 || bytes_each == 0 {
            return Err(refuse("a buffer pool needs at least one buffer of at least one byte"));
        }
        let buffer_bytes =
            usize::try_from(bytes_each).map_err(|_| refuse("a buffer beyond the address space"))?;
        let slot_bytes = buffer_bytes.next_multiple_of(BUFFER_ALIGN);
        let used_bytes = usize::try_from(count)
            .ok()
            .and_then(|count| count.checked_mul(slot_bytes))
            .filter(|bytes| *bytes < usize::MAX / 4)
            .ok_or_else(|| refuse("a buffer pool beyond the address space"))?;
        let mapping = Arc::new(Mapping::new(used_bytes, slot_bytes, pages)?);
        let buffers = (0..count)
            .map(|index| {
                // Less than `used_bytes`, which was checked above.
                let start = index as usize * slot_bytes;
                // SAFETY: `start` is inside the mapping, which is longer than `count * slot_bytes`.
                let data = unsafe { mapping.start.add(start) };
                Buffer { data, bytes: bytes_each, index, mapping: Arc::clone(&mapping) }
            })
            .collect();
        Ok((Self { mapping }, buffers))
    }

    /// Mapped bytes, rounded up to whole huge pages.
    pub fn mapped_bytes(&self) -> usize {
        self.mapping.bytes
    }

    /// Bytes backed by huge pages; `None` if the kernel does not report it.
    pub fn huge_bytes(&self) -> Option<u64> {
        self.mapping.huge_bytes()
    }

    pub fn report_pages(&self, report: &mut EngineReport) {
        let mapped = self.mapping.bytes as u64;
        if self.mapping.pages == Pages::Small {
            report.features.push("small pages".into());
            return;
        }
        match self.mapping.huge_bytes() {
            Some(huge) if huge >= mapped => {
                report.features.push("huge pages".into());
            }
            Some(huge) => report.refused.push(Unavailable::new(
                Feature::HugePages,
                format_args!(
                    "only {huge} of {mapped} bytes; free memory is scattered, or \
                     /sys/kernel/mm/transparent_hugepage/enabled says never"
                ),
            )),
            None => report.refused.push(Unavailable::new(
                Feature::HugePages,
                "requested, but the kernel does not report whether they are in use",
            )),
        }
    }

    pub(crate) fn start(&self) -> NonNull<u8> {
        self.mapping.start
    }

    pub(crate) fn used_bytes(&self) -> usize {
        self.mapping.used_bytes
    }

    pub(crate) fn slot_bytes(&self) -> usize {
        self.mapping.slot_bytes
    }

    #[inline]
    pub(crate) fn owns(&self, buffer: &Buffer) -> bool {
        Arc::ptr_eq(&self.mapping, &buffer.mapping)
    }
}

impl fmt::Debug for BufferPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BufferPool")
            .field("mapped_bytes", &self.mapping.bytes)
            .field("slot_bytes", &self.mapping.slot_bytes)
            .finish_non_exhaustive()
    }
}

/// One slot of a pool, owned exclusively. It travels to an engine with its request and comes back with the
/// completion.
pub struct Buffer {
    data: NonNull<u8>,
    bytes: u32,
    index: u32,
    mapping: Arc<Mapping>,
}

impl Buffer {
    /// Index of its slot in the pool, from 0.
    #[inline]
    pub fn index(&self) -> u32 {
        self.index
    }

    #[inline]
    pub(crate) fn bytes(&self) -> u32 {
        self.bytes
    }

    #[inline]
    pub(crate) fn data(&mut self) -> *mut u8 {
        self.data.as_ptr()
    }
}

// SAFETY: a buffer is the only handle of its slot, and the slot is plain memory bound to no thread.
unsafe impl Send for Buffer {}
// SAFETY: a shared buffer only hands out `&[u8]`.
unsafe impl Sync for Buffer {}

impl Deref for Buffer {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        // SAFETY: the slot is mapped, initialised (zeroed by the kernel), at least `bytes` long, kept by
        // `mapping`, and no other handle of it exists, so a shared borrow of `self` rules out a writer.
        unsafe { slice::from_raw_parts(self.data.as_ptr(), self.bytes as usize) }
    }
}

impl DerefMut for Buffer {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as for `deref`, and `&mut self` makes this the only borrow.
        unsafe { slice::from_raw_parts_mut(self.data.as_ptr(), self.bytes as usize) }
    }
}

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Buffer")
            .field("index", &self.index)
            .field("bytes", &self.bytes)
            .finish_non_exhaustive()
    }
}

/// A mapping between two inaccessible guard areas. The guards keep the kernel from merging it with a
/// neighbouring mapping, so that its huge pages can be counted.
struct Mapping {
    start: NonNull<u8>,
    bytes: usize,
    used_bytes: usize,
    slot_bytes: usize,
    pages: Pages,
    /// Counted when somebody asks: to find it out, the kernel walks through all of the process's memory.
    huge_bytes: OnceLock<Option<u64>>,
    reserved_start: *mut u8,
    reserved_bytes: usize,
}

// SAFETY: the mapping is plain memory bound to no thread; it is reached only through `Buffer`s, each of
// which owns a slot of its own, and unmapped once by the last handle.
unsafe impl Send for Mapping {}
// SAFETY: a shared `Mapping` gives out nothing but numbers and an address.
unsafe impl Sync for Mapping {}

impl Mapping {
    fn new(used_bytes: usize, slot_bytes: usize, pages: Pages) -> io::Result<Self> {
        let bytes = used_bytes.next_multiple_of(HUGE_PAGE_BYTES);
        let reserved_bytes = bytes + HUGE_PAGE_BYTES + 2 * BUFFER_ALIGN;
        // SAFETY: a new anonymous mapping at an address chosen by the kernel overlaps nothing.
        let reserved = unsafe {
            mmap_anonymous(
                ptr::null_mut(),
                reserved_bytes,
                ProtFlags::empty(),
                MapFlags::PRIVATE | MapFlags::NORESERVE,
            )
        }?;
        let reserved_start = reserved.cast::<u8>();
        let guard_bytes = (reserved_start as usize + BUFFER_ALIGN).next_multiple_of(HUGE_PAGE_BYTES)
            - reserved_start as usize;
        // SAFETY: the guard is at most a page and 2 MiB, and the reservation is that much longer than `bytes`.
        let start = unsafe { reserved_start.add(guard_bytes) };
        let mapping = Self {
            start: NonNull::new(start).ok_or(io::ErrorKind::OutOfMemory)?,
            bytes,
            used_bytes,
            slot_bytes,
            pages,
            huge_bytes: OnceLock::new(),
            reserved_start,
            reserved_bytes,
        };
        mapping.populate()?;
        Ok(mapping)
    }

    fn huge_bytes(&self) -> Option<u64> {
        *self.huge_bytes.get_or_init(|| {
            let start = self.start.as_ptr() as usize;
            let smaps = std::fs::read_to_string("/proc/self/smaps").ok()?;
            huge_bytes(&smaps, start, start + self.bytes)
        })
    }

    /// Makes the part between the guards accessible and populates every page.
    fn populate(&self) -> io::Result<()> {
        let start = self.start.as_ptr().cast();
        // SAFETY: the range lies in our own reservation, and no reference into it exists yet.
        unsafe { mprotect(start, self.bytes, MprotectFlags::READ | MprotectFlags::WRITE) }?;
        let pages = if self.pages == Pages::Small { Advice::LinuxNoHugepage } else { Advice::LinuxHugepage };
        // A kernel without transparent huge pages rejects the advice; `huge_bytes` reports the result.
        // SAFETY: advice on page size changes no content.
        let _ = unsafe { madvise(start, self.bytes, pages) };
        // A child must not make our pages copy-on-write while a device writes to them.
        // SAFETY: the range is ours; a forked child never reaches it again, and none relies on it.
        let _ = unsafe { madvise(start, self.bytes, Advice::LinuxDontFork) };
        // SAFETY: the range is mapped for writing; populating keeps its content (zeroes).
        match unsafe { madvise(start, self.bytes, Advice::LinuxPopulateWrite) } {
            Ok(()) => Ok(()),
            Err(rustix::io::Errno::NOMEM) => Err(rustix::io::Errno::NOMEM.into()),
            Err(_) => {
                self.touch();
                Ok(())
            }
        }
    }

    /// Writes to every page, for kernels before 5.14, which have no `MADV_POPULATE_WRITE`.
    fn touch(&self) {
        for page in (0..self.bytes).step_by(BUFFER_ALIGN) {
            // SAFETY: `page` is inside the mapping, which is writable and not yet shared. The write is
            // volatile so that the compiler cannot drop it.
            unsafe { self.start.as_ptr().add(page).write_volatile(0) };
        }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the reservation is ours alone, and the last `Buffer` and pool handle are gone: each holds
        // an `Arc` of this mapping.
        let _ = unsafe { munmap(self.reserved_start.cast(), self.reserved_bytes) };
    }
}

/// Bytes of huge pages that `/proc/self/smaps` lists for the mapping from `start` to `end`.
fn huge_bytes(smaps: &str, start: usize, end: usize) -> Option<u64> {
    let heading = format!("{start:08x}-{end:08x} ");
    let mut lines = smaps.lines().skip_while(|line| !line.starts_with(&heading)).skip(1);
    let count = lines.find_map(|line| line.strip_prefix("AnonHugePages:"))?;
    let kibibytes: u64 = count.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_aligned_apart_and_zeroed() {
        let (pool, mut buffers) = BufferPool::new(9, 5000, Pages::HugeIfPossible).unwrap();
        assert_eq!(pool.start().as_ptr() as usize % HUGE_PAGE_BYTES, 0);
        for (value, buffer) in (1u8..).zip(&mut buffers) {
            assert_eq!(buffer.len(), 5000);
            assert_eq!(buffer.as_ptr() as usize % BUFFER_ALIGN, 0);
            assert!(buffer.iter().all(|byte| *byte == 0));
            buffer.fill(value);
        }
        for (value, buffer) in (1u8..).zip(&buffers) {
            assert!(buffer.iter().all(|byte| *byte == value), "buffer {} was written over", buffer.index());
        }
    }

    #[test]
    fn a_buffer_outlives_its_pool_and_moves_between_threads() {
        let (pool, mut buffers) = BufferPool::new(2, 4096, Pages::Small).unwrap();
        drop(pool);
        let mut last = buffers.pop().unwrap();
        drop(buffers);
        let sum = std::thread::spawn(move || {
            last.fill(3);
            last.iter().map(|byte| u32::from(*byte)).sum::<u32>()
        });
        assert_eq!(sum.join().unwrap(), 3 * 4096);
    }

    #[test]
    fn a_pool_knows_its_own_buffers() {
        let (pool, buffers) = BufferPool::new(1, 512, Pages::Small).unwrap();
        let (_other_pool, others) = BufferPool::new(1, 512, Pages::Small).unwrap();
        assert!(pool.owns(&buffers[0]));
        assert!(!pool.owns(&others[0]));
    }

    #[test]
    fn small_pages_are_never_huge_and_the_report_says_which_there_are() {
        let (small, _buffers) = BufferPool::new(4, 1 << 20, Pages::Small).unwrap();
        assert_eq!(small.huge_bytes(), Some(0));
        let mut report = EngineReport::default();
        small.report_pages(&mut report);
        assert_eq!(report.features, ["small pages"]);

        let (huge, _buffers) = BufferPool::new(4, 1 << 20, Pages::HugeIfPossible).unwrap();
        let mut report = EngineReport::default();
        huge.report_pages(&mut report);
        // Huge pages may not be available on this machine, but the report must match the count.
        let all = huge.huge_bytes() == Some(huge.mapped_bytes() as u64);
        assert_eq!(report.features.contains(&"huge pages".to_owned()), all);
        assert_eq!(report.refused.is_empty(), all);
    }

    #[test]
    fn huge_pages_are_read_from_the_right_mapping() {
        let smaps = "00400000-00600000 rw-p 00000000 00:00 0\nSize: 2048 kB\nAnonHugePages:         0 kB\n\
                     7f0000000000-7f0000400000 rw-p 00000000 00:00 0\nSize: 4096 kB\nAnonHugePages:      4096 kB\n";
        assert_eq!(huge_bytes(smaps, 0x40_0000, 0x60_0000), Some(0));
        assert_eq!(huge_bytes(smaps, 0x7f00_0000_0000, 0x7f00_0040_0000), Some(4 << 20));
        assert_eq!(huge_bytes(smaps, 0x1000, 0x2000), None);
    }

    #[test]
    fn an_empty_pool_is_refused() {
        assert!(BufferPool::new(0, 4096, Pages::Small).is_err());
        assert!(BufferPool::new(1, 0, Pages::Small).is_err());
    }
}
