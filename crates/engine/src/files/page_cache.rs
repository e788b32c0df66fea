//! How much of a file is in the page cache, and how to drop it.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;

use rustix::fs::{Access, Advice, access, fadvise};

/// Share of a file's pages in memory, 0 to 1; `None` if the system does not report it.
///
/// `cachestat(2)` (Linux 6.5) gives the exact number. Older kernels have `mincore(2)`, which is accurate only
/// for users who may write the file and reports every page as resident to others; they get `None`.
pub fn page_cache_share(path: &Path) -> io::Result<Option<f64>> {
    let file = File::open(path)?;
    let size_bytes = file.metadata()?.len();
    if size_bytes == 0 {
        return Ok(None);
    }
    let pages = size_bytes.div_ceil(page_bytes());
    let resident = match cachestat(&file) {
        Some(stat) => Some(stat.cached),
        None if access(path, Access::WRITE_OK).is_ok() => resident_by_mincore(&file, size_bytes),
        None => None,
    };
    // A large folio at the end may include pages beyond the end of the file.
    Ok(resident.map(|resident| resident.min(pages) as f64 / pages as f64))
}

/// Whether the file has dirty pages in the page cache; `None` if the system does not report it.
pub fn has_dirty_pages(file: &File) -> Option<bool> {
    cachestat(file).map(|stat| stat.dirty + stat.writeback > 0)
}

/// Writes the file's dirty pages and drops all of its pages.
///
/// Pages that a process has mapped stay, so this is only a request: check the result with
/// [`page_cache_share`].
pub fn drop_from_cache(path: &Path) -> io::Result<()> {
    let file = File::open(path)?;
    // Dirty pages would not be dropped.
    file.sync_data()?;
    fadvise(&file, 0, None, Advice::DontNeed)?;
    Ok(())
}

fn page_bytes() -> u64 {
    u64::try_from(rustix::param::page_size()).unwrap_or(4096)
}

/// The same number on every Linux architecture.
const SYS_CACHESTAT: libc::c_long = 451;

#[repr(C)]
struct CacheRange {
    offset: u64,
    length: u64,
}

#[repr(C)]
#[derive(Default)]
struct CacheStat {
    cached: u64,
    dirty: u64,
    writeback: u64,
    evicted: u64,
    recently_evicted: u64,
}

#[expect(unsafe_code, reason = "cachestat has no wrapper in rustix or libc")]
fn cachestat(file: &File) -> Option<CacheStat> {
    // Length 0 means up to the end of the file.
    let range = CacheRange { offset: 0, length: 0 };
    let mut stat = CacheStat::default();
    // SAFETY: both structures have the layout of `linux/mman.h` and outlive the call, which reads the first
    // and writes the second; the descriptor is open; flags must be 0.
    let answer =
        unsafe { libc::syscall(SYS_CACHESTAT, file.as_raw_fd(), &raw const range, &raw mut stat, 0_u32) };
    (answer == 0).then_some(stat)
}

/// Bytes mapped at a time: the result takes a byte for each page, too much for a large file at once.
const WINDOW_BYTES: u64 = 1 << 30;

#[expect(unsafe_code, reason = "mincore needs a mapping, which safe Rust has no notion of")]
fn resident_by_mincore(file: &File, size_bytes: u64) -> Option<u64> {
    let mut resident = 0;
    let mut offset = 0;
    while offset < size_bytes {
        let length = usize::try_from((size_bytes - offset).min(WINDOW_BYTES)).ok()?;
        let mut pages = vec![0_u8; length.div_ceil(rustix::param::page_size())];
        // SAFETY: a new mapping at an address chosen by the kernel, without access rights, so that no
        // reference into it can exist; it is unmapped below with the same length.
        let mapping = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                length,
                libc::PROT_NONE,
                libc::MAP_SHARED,
                file.as_raw_fd(),
                libc::off_t::try_from(offset).ok()?,
            )
        };
        if mapping == libc::MAP_FAILED {
            return None;
        }
        // SAFETY: the range is the mapping above, and `pages` has a byte for each of its pages.
        let answered = unsafe { libc::mincore(mapping, length, pages.as_mut_ptr()) } == 0;
        // SAFETY: the range is the mapping above, and nothing else refers to it.
        let unmapped = unsafe { libc::munmap(mapping, length) } == 0;
        if !(answered && unmapped) {
            return None;
        }
        resident += pages.iter().map(|page| u64::from(page & 1)).sum::<u64>();
        offset += WINDOW_BYTES;
    }
    Some(resident)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_just_written_is_in_memory_and_both_ways_to_ask_agree() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("data");
        std::fs::write(&path, vec![1; 100_000]).unwrap();
        let pages = 100_000_u64.div_ceil(page_bytes());
        let file = File::open(&path).unwrap();
        assert_eq!(resident_by_mincore(&file, 100_000), Some(pages));
        if let Some(stat) = cachestat(&file) {
            assert!(stat.cached >= pages);
        }
        assert!(page_cache_share(&path).unwrap().unwrap() > 0.999);
    }

    #[test]
    fn dropping_leaves_none_of_it_where_there_is_a_device_to_drop_to() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("data");
        std::fs::write(&path, vec![1; 1 << 20]).unwrap();
        if iostall_host::device_of(&path).is_none() {
            return drop_from_cache(&path).unwrap();
        }
        // A page that the kernel is using stays, so this may have to be repeated.
        let dropped = (0..1000).any(|_| {
            drop_from_cache(&path).unwrap();
            page_cache_share(&path).unwrap() == Some(0.0)
        });
        assert!(dropped, "{:?} is still in memory", page_cache_share(&path));
    }

    #[test]
    fn an_empty_file_has_no_share() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("empty");
        std::fs::write(&path, "").unwrap();
        assert_eq!(page_cache_share(&path).unwrap(), None);
    }
}
