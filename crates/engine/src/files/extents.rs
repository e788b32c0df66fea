//! Data extents of a file, preallocation, holes, shared blocks, and discarding a range of a device.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::AsRawFd;

use rustix::fs::{FallocateFlags, SeekFrom};
use rustix::io::Errno;

/// The ranges of the file that hold data, ascending; a single range if the file system cannot report holes.
/// Moves the file's position.
///
/// A file system that forgets what was just written when it is asked for holes would have zeros copied in its place. So a file
/// that has all its blocks is not asked, and any other is made durable first.
pub fn data_ranges(file: &File, size_bytes: u64) -> io::Result<Vec<Range<u64>>> {
    let blocks = u64::try_from(rustix::fs::fstat(file)?.st_blocks).unwrap_or(0);
    if size_bytes > 0 && (blocks * 512 >= size_bytes || rustix::fs::fdatasync(file).is_err()) {
        return Ok(std::iter::once(0..size_bytes).collect());
    }
    let mut ranges = Vec::new();
    let mut at = 0;
    while at < size_bytes {
        let start = match rustix::fs::seek(file, SeekFrom::Data(at)) {
            Ok(start) => start,
            // No data from here to the end of the file.
            Err(Errno::NXIO) => break,
            Err(Errno::INVAL | Errno::OPNOTSUPP) => {
                ranges.clear();
                ranges.push(0..size_bytes);
                break;
            }
            Err(errno) => return Err(errno.into()),
        };
        let end = rustix::fs::seek(file, SeekFrom::Hole(start))?;
        if start >= size_bytes || end <= start {
            break;
        }
        ranges.push(start..end.min(size_bytes));
        at = end;
    }
    Ok(ranges)
}

/// Reserves space for the range and extends the file to its end, so that a full file system fails now and not
/// at the end, and the file has few extents. `false` if the file system cannot do it.
pub fn preallocate(file: &File, range: &Range<u64>) -> io::Result<bool> {
    if range.is_empty() {
        return Ok(true);
    }
    loop {
        match rustix::fs::fallocate(file, FallocateFlags::empty(), range.start, range.end - range.start) {
            Ok(()) => return Ok(true),
            Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => return Ok(false),
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
}

/// Turns the range into a hole that reads as zeros and uses no space. `false` if the file system cannot do
/// it.
pub fn punch_hole(file: &File, range: &Range<u64>) -> io::Result<bool> {
    if range.is_empty() {
        return Ok(true);
    }
    let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
    loop {
        match rustix::fs::fallocate(file, flags, range.start, range.end - range.start) {
            Ok(()) => return Ok(true),
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => return Ok(false),
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
}

/// Makes `target` share all blocks of `source` (a reflink), which is instant and takes no space. `false` if
/// the file system or this pair of files does not allow it.
pub fn clone_blocks(source: &File, target: &File) -> io::Result<bool> {
    match rustix::fs::ioctl_ficlone(target, source) {
        Ok(()) => Ok(true),
        Err(
            Errno::OPNOTSUPP
            | Errno::XDEV
            | Errno::INVAL
            | Errno::NOTTY
            | Errno::NOSYS
            | Errno::PERM
            | Errno::TXTBSY,
        ) => Ok(false),
        Err(errno) => Err(errno.into()),
    }
}

/// `BLKDISCARD`, which is `_IO(0x12, 119)`.
const BLKDISCARD: libc::Ioctl = 0x1277;

/// Discards the range of a block device, bytes, in multiples of its sectors. What it reads from there afterwards is not defined.
/// `false` if it cannot discard.
#[expect(unsafe_code, reason = "BLKDISCARD has no safe wrapper in rustix or libc")]
pub fn discard(device: &File, range: &Range<u64>) -> io::Result<bool> {
    let of_kernel: [u64; 2] = [range.start, range.end.saturating_sub(range.start)];
    if of_kernel[1] == 0 {
        return Ok(true);
    }
    loop {
        // SAFETY: the descriptor is open, and the kernel reads two initialised numbers from the pointer, which lives through the call.
        let answer = unsafe { libc::ioctl(device.as_raw_fd(), BLKDISCARD, of_kernel.as_ptr()) };
        if answer == 0 {
            return Ok(true);
        }
        let error = io::Error::last_os_error();
        match error.raw_os_error() {
            Some(libc::EINTR) => {}
            Some(libc::EOPNOTSUPP | libc::ENOTTY) => return Ok(false),
            _ => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt as _;

    use super::*;

    #[test]
    fn data_between_holes_is_found_where_it_is() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(8 << 20).unwrap();
        assert!(data_ranges(&file, 8 << 20).unwrap().is_empty());
        file.write_all_at(&[1; 4096], 2 << 20).unwrap();
        file.write_all_at(&[1; 4096], 6 << 20).unwrap();
        let ranges = data_ranges(&file, 8 << 20).unwrap();
        for at in [2 << 20, 6 << 20] {
            assert!(ranges.iter().any(|range| range.contains(&at)), "{ranges:?}");
        }
        assert!(!ranges.iter().any(|range| range.contains(&(4 << 20))), "{ranges:?}");
    }

    /// An answer of "no data" for a file just written was believed: its copy was all zeros, and compared equal.
    #[test]
    fn a_file_that_has_all_its_blocks_is_data_whatever_is_answered_of_its_holes() {
        let file = tempfile::tempfile().unwrap();
        file.write_all_at(&vec![1; 64 << 10], 0).unwrap();
        let whole = std::slice::from_ref(&(0..64 << 10));
        assert_eq!(data_ranges(&file, 64 << 10).unwrap(), whole);
        // A hole at its beginning, and as many blocks after what it was asked for.
        let file = tempfile::tempfile().unwrap();
        file.write_all_at(&vec![1; 64 << 10], 1 << 20).unwrap();
        assert_eq!(data_ranges(&file, 64 << 10).unwrap(), whole);
        assert!(data_ranges(&file, 0).unwrap().is_empty());
    }

    #[test]
    fn a_punched_range_is_zeros_and_its_neighbours_stay() {
        let file = tempfile::tempfile().unwrap();
        file.write_all_at(&vec![1; 64 << 10], 0).unwrap();
        if !punch_hole(&file, &(8192..16_384)).unwrap() {
            return;
        }
        let mut data = vec![2; 64 << 10];
        file.read_exact_at(&mut data, 0).unwrap();
        assert!(data[..8192].iter().chain(&data[16_384..]).all(|byte| *byte == 1));
        assert!(data[8192..16_384].iter().all(|byte| *byte == 0));
        assert_eq!(file.metadata().unwrap().len(), 64 << 10);
    }

    #[test]
    fn preallocated_room_is_there_and_none_is_refused_early() {
        let file = tempfile::tempfile().unwrap();
        assert!(preallocate(&file, &(0..1 << 20)).unwrap());
        assert_eq!(file.metadata().unwrap().len(), 1 << 20);
        let error = preallocate(&file, &(0..1 << 44)).unwrap_err();
        assert!(matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::FileTooLarge), "{error}");
    }

    #[test]
    fn a_file_is_no_device_and_cannot_be_discarded() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("data");
        std::fs::write(&path, [7; 8192]).unwrap();
        let file = File::options().read(true).write(true).open(&path).unwrap();
        assert!(!discard(&file, &(0..8192)).unwrap());
        assert!(discard(&file, &(0..0)).unwrap());
        assert_eq!(std::fs::read(&path).unwrap(), [7; 8192]);
    }
}
