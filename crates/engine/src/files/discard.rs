//! Tells a device that the content of a range is no longer needed.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::AsRawFd;

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
    use super::*;

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
