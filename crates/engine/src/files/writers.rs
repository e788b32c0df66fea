//! Whether somebody else could be writing to a file while it is read.

#![expect(unsafe_code, reason = "leases have no safe form")]

use std::fs::File;
use std::os::fd::AsRawFd as _;

use rustix::io::Errno;

/// Who could write to a file at this moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writers {
    /// Nobody: no process has it open for writing, and none has it mapped so.
    None,
    /// At least one process has it open for writing, or mapped so.
    Some,
    /// The system does not tell: neither our file nor enough rights, or a file system without leases.
    Unknown,
}

/// Which signal the holder of a lease gets. The same number on every architecture that this is built for, and no name in the
/// library.
const F_SETSIG: libc::c_int = 10;

/// What `statfs` calls an overlay. There a mapping whose descriptor was closed belongs to the file below, and the file that
/// was opened counts no writer.
const OVERLAY: i64 = 0x794c_7630;

/// Asks for a read lease on a file that is open for reading only, and gives it back at once: the kernel grants one only
/// where nobody has the file open for writing, and a shared mapping keeps it open.
pub fn writers(file: &File) -> Writers {
    let descriptor = file.as_raw_fd();
    // Whoever opens the file for writing meanwhile waits for the lease, and its holder gets a signal: here one that by
    // default does nothing.
    // SAFETY: the call takes numbers only, and the descriptor is open for as long as `file` is borrowed.
    if unsafe { libc::fcntl(descriptor, F_SETSIG, libc::SIGURG) } != 0 {
        return Writers::Unknown;
    }
    // SAFETY: as above.
    if unsafe { libc::fcntl(descriptor, libc::F_SETLEASE, libc::F_RDLCK) } != 0 {
        let refused = std::io::Error::last_os_error().raw_os_error();
        return if refused == Some(Errno::AGAIN.raw_os_error()) { Writers::Some } else { Writers::Unknown };
    }
    // It goes at the latest when the file is closed.
    // SAFETY: as above.
    let _ = unsafe { libc::fcntl(descriptor, libc::F_SETLEASE, libc::F_UNLCK) };
    let answered = rustix::fs::fstatfs(file).is_ok_and(|found| found.f_type != OVERLAY);
    if answered { Writers::None } else { Writers::Unknown }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::OpenOptions;

    /// A small file that a database had mapped was copied while it was written to, half old and half new: neither its size
    /// nor its time had changed, for the kernel sets the time at the first write to a clean page only.
    #[test]
    fn a_file_that_is_open_or_mapped_for_writing_has_a_writer() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("data");
        std::fs::write(&path, vec![1; 8192]).unwrap();
        let read = File::open(&path).unwrap();
        assert_ne!(writers(&read), Writers::Some);
        let write = OpenOptions::new().read(true).write(true).open(&path).unwrap();
        // Without leases on this file system there is no more to be seen.
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
