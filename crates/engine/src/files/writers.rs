//! Whether another process could be writing to a file while it is read.

#![expect(unsafe_code, reason = "leases have no safe form")]

use std::fs::File;
use std::os::fd::AsRawFd as _;

use rustix::io::Errno;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writers {
    /// No process has it open or mapped for writing.
    None,
    /// At least one process has it open or mapped for writing.
    Some,
    /// Unknown: the file belongs to another user, or the file system has no leases.
    Unknown,
}

/// Sets the signal that a lease holder gets. The number is the same on all supported architectures; the
/// library has no name for it.
const F_SETSIG: libc::c_int = 10;

/// Magic number of an overlay in `statfs`. There, a mapping whose descriptor was closed belongs to the lower
/// file, and the opened file counts no writer.
const OVERLAY: i64 = 0x794c_7630;

/// Takes a read lease on a file that is open for reading only, and releases it at once. The kernel grants one
/// only if no process has the file open for writing; a shared mapping keeps it open.
pub fn writers(file: &File) -> Writers {
    let descriptor = file.as_raw_fd();
    // A process that opens the file for writing meanwhile waits for the lease, and the holder gets a signal:
    // here one that is ignored by default. SAFETY: the call takes numbers only, and the descriptor is open
    // for as long as `file` is borrowed.
    if unsafe { libc::fcntl(descriptor, F_SETSIG, libc::SIGURG) } != 0 {
        return Writers::Unknown;
    }
    // SAFETY: as above.
    if unsafe { libc::fcntl(descriptor, libc::F_SETLEASE, libc::F_RDLCK) } != 0 {
        let refused = std::io::Error::last_os_error().raw_os_error();
        return if refused == Some(Errno::AGAIN.raw_os_error()) { Writers::Some } else { Writers::Unknown };
    }
    // Closing the file releases the lease in any case. SAFETY: as above.
    let _ = unsafe { libc::fcntl(descriptor, libc::F_SETLEASE, libc::F_UNLCK) };
    let answered = rustix::fs::fstatfs(file).is_ok_and(|found| found.f_type != OVERLAY);
    if answered { Writers::None } else { Writers::Unknown }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::OpenOptions;

    /// A small file that a database had mapped was copied while it was being written, half old and half new.
    /// Neither its size nor its time had changed, because the kernel updates the time only at the first write
    /// to a clean page.
    #[test]
    fn a_file_that_is_open_or_mapped_for_writing_has_a_writer() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("data");
        std::fs::write(&path, vec![1; 8192]).unwrap();
        let read = File::open(&path).unwrap();
        assert_ne!(writers(&read), Writers::Some);
        let write = OpenOptions::new().read(true).write(true).open(&path).unwrap();
        // A file system without leases gives no answer.
        if writers(&read) == Writers::Unknown {
            return;
        }
        assert_eq!(writers(&read), Writers::Some);
        let other = File::open(&path).unwrap();
        drop(write);
        assert_eq!(writers(&other), Writers::None);
        assert_eq!(writers(&read), Writers::None);
    }

    #[test]
    fn who_opens_the_file_for_writing_meanwhile_gets_it_and_nobody_is_killed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("data");
        std::fs::write(&path, b"x").unwrap();
        let read = File::open(&path).unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for _ in 0..2000 {
                    drop(OpenOptions::new().write(true).open(&path).unwrap());
                }
            });
            for _ in 0..2000 {
                let _ = writers(&read);
            }
        });
    }
}
