//! Drops pages from the page cache behind a file that could not be opened for direct I/O, so that a large
//! transfer does not evict other programs' data.

#![expect(unsafe_code, reason = "sync_file_range has no safe form")]

use std::fs::File;
use std::num::NonZeroU64;
use std::ops::Range;
use std::os::fd::AsRawFd;

use rustix::fs::Advice;
use rustix::io::Errno;

pub fn drop_read(file: &File, range: &Range<u64>) {
    if let Some(length) = NonZeroU64::new(range.end.saturating_sub(range.start)) {
        // Only advice: a file system that ignores it loses nothing.
        let _ = rustix::fs::fadvise(file, range.start, Some(length), Advice::DontNeed);
    }
}

/// Starts writeback of the range's dirty pages without waiting.
pub fn start_writeback(file: &File, range: &Range<u64>) {
    // Without it, a later sync has more to do.
    let _ = sync_range(file, range, libc::SYNC_FILE_RANGE_WRITE);
}

/// Waits for writeback of the range, then drops its pages. The kernel reports write errors at the next sync
/// of the file.
pub fn drop_written(file: &File, range: &Range<u64>) {
    write_back(file, range);
    drop_read(file, range);
}

/// Waits until the range's dirty pages are written. After that, a write through a memory mapping updates the
/// modification time (if the file system tracks it); a write to a page that was already dirty would not.
pub fn write_back(file: &File, range: &Range<u64>) {
    let _ = write_range_back(file, range);
}

/// The flags of `sync_file_range` that write all dirty pages of a range and wait for them.
pub(crate) const WRITE_RANGE_BACK: u32 =
    libc::SYNC_FILE_RANGE_WAIT_BEFORE | libc::SYNC_FILE_RANGE_WRITE | libc::SYNC_FILE_RANGE_WAIT_AFTER;

/// The same, with the error if it fails.
pub(crate) fn write_range_back(file: &impl AsRawFd, range: &Range<u64>) -> Result<(), Errno> {
    sync_range(file, range, WRITE_RANGE_BACK)
}

fn sync_range(file: &impl AsRawFd, range: &Range<u64>, flags: libc::c_uint) -> Result<(), Errno> {
    let (Ok(offset), Ok(length)) =
        (i64::try_from(range.start), i64::try_from(range.end.saturating_sub(range.start)))
    else {
        return Err(Errno::INVAL);
    };
    // SAFETY: the call takes numbers only, and the descriptor is open for as long as `file` is borrowed.
    let answer = unsafe { libc::sync_file_range(file.as_raw_fd(), offset, length, flags) };
    if answer == 0 { Ok(()) } else { Err(last_errno()) }
}

fn last_errno() -> Errno {
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::FileExt as _;

    #[test]
    fn giving_pages_back_loses_nothing() {
        let file = tempfile::tempfile().unwrap();
        file.write_all_at(&vec![7; 100_000], 0).unwrap();
        start_writeback(&file, &(0..50_000));
        drop_written(&file, &(0..100_000));
        let mut data = vec![0; 100_000];
        file.read_exact_at(&mut data, 0).unwrap();
        assert!(data.iter().all(|byte| *byte == 7));
    }
}
