//! Files of a memory file system (tmpfs), written by several threads at once.
//!
//! `write` to one tmpfs file is one thread's affair: the file's lock is held while pages are allocated, accounted and
//! copied into. Pages that are missing can be put into a shared mapping of the file without that lock
//! (`UFFDIO_COPY`: each page is allocated and filled in one step, never zeroed first), so two threads do it in
//! little more than half the time. A mapping that is simply stored to is slower than `write`: the kernel zeroes
//! each page before it is written over.

mod engine;
mod userfault;

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};

use rustix::io::Errno;

pub use engine::MemoryFileEngine;
use userfault::Pages;

/// `TMPFS_MAGIC` of `linux/magic.h`.
const TMPFS_MAGIC: u32 = 0x0102_1994;

/// A file of a memory file system, open for writing.
#[derive(Debug)]
pub struct MemoryFile {
    file: OwnedFd,
    pages: Pages,
    page_bytes: usize,
}

impl MemoryFile {
    /// Takes `file`, of which it keeps a handle of its own, as large as it is now; what is beyond is written the
    /// ordinary way.
    ///
    /// Fails with `Unsupported` where the file is not on tmpfs or is empty, and with what the system says where it
    /// has no userfaultfd for this process.
    pub fn new(file: BorrowedFd<'_>) -> io::Result<Self> {
        let kind = rustix::fs::fstatfs(file)?.f_type;
        if u32::try_from(kind & 0xffff_ffff) != Ok(TMPFS_MAGIC) {
            return Err(io::Error::new(io::ErrorKind::Unsupported, "not a file of tmpfs"));
        }
        let page_bytes = rustix::param::page_size();
        let bytes = usize::try_from(rustix::fs::fstat(file)?.st_size).unwrap_or(0);
        if bytes == 0 {
            return Err(io::Error::new(io::ErrorKind::Unsupported, "an empty file has no pages to fill"));
        }
        let pages = Pages::map(file, bytes.next_multiple_of(page_bytes))?;
        Ok(Self { file: file.try_clone_to_owned()?, pages, page_bytes })
    }

    /// Writes as `pwrite` does, and answers how many bytes it wrote: pages that are missing are filled, everything else
    /// (pages that are there, parts of pages, what is beyond the size, what the system refuses) goes to `pwrite`.
    pub(crate) fn write_at(&self, data: &[u8], offset: u64) -> Result<usize, Errno> {
        let filled = self.fill(data, offset);
        if filled == data.len() {
            return Ok(filled);
        }
        // Also the way to the true error: a full file system refuses pages as if memory were short.
        match rustix::io::pwrite(&self.file, &data[filled..], offset + filled as u64) {
            Ok(written) => Ok(filled + written),
            Err(_) if filled > 0 => Ok(filled),
            Err(errno) => Err(errno),
        }
    }

    fn fill(&self, data: &[u8], offset: u64) -> usize {
        let Ok(offset) = usize::try_from(offset) else { return 0 };
        if !offset.is_multiple_of(self.page_bytes) || offset >= self.pages.bytes() {
            return 0;
        }
        let whole = data.len().min(self.pages.bytes() - offset) / self.page_bytes * self.page_bytes;
        self.pages.fill(offset, &data[..whole])
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Write as _;
    use std::os::fd::AsFd;
    use std::os::unix::fs::{FileExt, MetadataExt};

    use super::*;

    /// Past the capture of a passing test's output.
    fn skipped(what: &str, why: &dyn std::fmt::Debug) {
        let _ = writeln!(io::stderr().lock(), "SKIPPED: {what}: {why:?}");
    }

    /// A file of `bytes` in memory, or `None`, said aloud, where this process has no userfaultfd.
    fn made(bytes: u64) -> Option<(File, MemoryFile)> {
        let file = tempfile::tempfile_in("/dev/shm").unwrap();
        file.set_len(bytes).unwrap();
        match MemoryFile::new(file.as_fd()) {
            Ok(memory) => Some((file, memory)),
            Err(error) => {
                skipped("filling pages of a memory file", &error);
                None
            }
        }
    }

    fn read(file: &File, offset: u64, bytes: usize) -> Vec<u8> {
        let mut data = vec![0; bytes];
        file.read_exact_at(&mut data, offset).unwrap();
        data
    }

    #[test]
    fn missing_pages_are_filled_and_what_is_there_is_written_over() {
        let Some((file, memory)) = made(8 * 4096) else { return };
        file.write_all_at(&[9; 100], 2 * 4096).unwrap();
        let data: Vec<u8> = (0..5 * 4096_u32).map(|at| u8::try_from(at % 251).unwrap()).collect();
        // The third page is there: the fill stops at it, and the rest is written.
        assert_eq!(memory.write_at(&data, 0), Ok(data.len()));
        assert_eq!(read(&file, 0, data.len()), data);
        assert_eq!(memory.write_at(&[7; 4096], 4096), Ok(4096));
        assert_eq!(read(&file, 4096, 4096), [7; 4096]);
        assert_eq!(read(&file, 5 * 4096, 3 * 4096), [0; 3 * 4096]);
        assert_eq!(file.metadata().unwrap().blocks() * 512, 5 * 4096, "holes stay");
    }

    #[test]
    fn parts_of_pages_and_what_is_beyond_the_size_are_written_too() {
        let Some((file, memory)) = made(4096 + 10) else { return };
        assert_eq!(memory.write_at(&[1; 100], 50), Ok(100));
        assert_eq!(memory.write_at(&[2; 4096 + 5000], 4096), Ok(4096 + 5000));
        assert_eq!(read(&file, 50, 100), [1; 100]);
        assert_eq!(file.metadata().unwrap().len(), 4096 + 4096 + 5000);
        assert_eq!(read(&file, 4096, 4096 + 5000), [2; 4096 + 5000]);
    }

    #[test]
    fn a_page_filled_beyond_the_end_leaves_the_size_and_zeros_when_it_grows() {
        let Some((file, memory)) = made(4096 + 10) else { return };
        assert_eq!(memory.write_at(&[3; 2 * 4096], 0), Ok(2 * 4096));
        assert_eq!(file.metadata().unwrap().len(), 4096 + 10);
        // What a copy does at its end: the size is set once more, and what was padded is cut off.
        file.set_len(4096 + 10).unwrap();
        file.set_len(2 * 4096).unwrap();
        assert_eq!(read(&file, 4096, 10), [3; 10]);
        assert_eq!(read(&file, 4096 + 10, 4096 - 10), [0; 4096 - 10]);
    }

    #[test]
    fn a_full_file_system_is_told_as_such() {
        let place = tempfile::tempdir().unwrap();
        let mount = ["-t", "tmpfs", "-o", "size=32k", "iostall-test"];
        let mounted = std::process::Command::new("mount").args(mount).arg(place.path()).output();
        if !mounted.as_ref().is_ok_and(|mounted| mounted.status.success()) {
            skipped("a full tmpfs, none can be mounted here", &mounted);
            return;
        }
        let file = tempfile::tempfile_in(place.path()).unwrap();
        file.set_len(16 * 4096).unwrap();
        let answers = MemoryFile::new(file.as_fd()).map(|memory| {
            let data = vec![5; 16 * 4096];
            let first = memory.write_at(&data, 0).unwrap();
            (first, memory.write_at(&data[first..], first as u64))
        });
        drop(file);
        let unmounted = std::process::Command::new("umount").arg(place.path()).status().unwrap();
        assert!(unmounted.success());
        match answers {
            Ok(answers) => assert_eq!(answers, (8 * 4096, Err(Errno::NOSPC))),
            Err(error) => skipped("filling pages of a memory file", &error),
        }
    }

    #[test]
    fn only_files_in_memory_are_taken() {
        let empty = tempfile::tempfile_in("/dev/shm").unwrap();
        assert_eq!(MemoryFile::new(empty.as_fd()).unwrap_err().kind(), io::ErrorKind::Unsupported);
        let proc = File::open("/proc/self/status").unwrap();
        assert_eq!(MemoryFile::new(proc.as_fd()).unwrap_err().kind(), io::ErrorKind::Unsupported);
    }
}
