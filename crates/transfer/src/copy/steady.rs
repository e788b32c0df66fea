//! Reads a small file as it was at one point in time.
//!
//! Size and modification time alone are not enough. A write through a mapping updates the time only when it
//! hits a clean page, and not again until that page is written back; and two writes within one tick of the
//! file system's clock get the same time. So the time is trusted only if nobody can write to the file and it
//! is older than a tick. Otherwise the file is read twice, with a pause in between if someone seems to be
//! writing: a writer may also pause in mid-change.

use std::fs::File;
use std::io::{self, Read as _, Seek as _};
use std::path::Path;

use iostall_engine::files::{self, FileStamp, Writers};
use iostall_measure::clock::utc_now;
use iostall_measure::{Clock, MonotonicClock};

use super::error::CopyError;

const TRIES: u32 = 5;
/// Longer than a tick of any kernel's clock, nanoseconds.
const TICK_NS: i128 = 20_000_000;
/// The pause before reading a file again, nanoseconds: one tick.
const WAIT_NS_MIN: u64 = 20_000_000;
/// The resolution of the coarsest file system, nanoseconds.
const COARSE_NS: i128 = 2_000_000_000;
/// How long a writer may be delayed by other processes or by write-back.
const PAUSE_NS: u64 = 100_000_000;
/// Dirty pages are written back within this time, nanoseconds: half a minute plus the write itself.
const DIRTY_NS: i128 = 60_000_000_000;
const COMPARED_BYTES: usize = 64 << 10;

/// Reads all of `from` into `buffer` as of one point in time; returns its stamp and who can write to it.
/// Fails if it no longer matches `expected`, or never stops changing.
pub(super) fn read_steady(
    from: &File,
    path: &Path,
    expected: &FileStamp,
    buffer: &mut Vec<u8>,
    clock: &MonotonicClock,
) -> Result<(FileStamp, Writers), CopyError> {
    let changed = |how| CopyError::SourceChanged { path: path.to_owned(), how, kept: false };
    for attempt in 0..TRIES {
        if attempt > 0 {
            { from }.rewind().map_err(CopyError::system("read", path))?;
        }
        let writers = files::writers(from);
        let begun_ns = utc_now().as_nanosecond();
        let is_written_to = writers == Writers::Some
            && (begun_ns - expected.modified_ns < DIRTY_NS || files::has_dirty_pages(from) != Some(false));
        if writers != Writers::None {
            files::write_back(from, &(0..expected.size_bytes));
        }
        read_whole(from, expected.size_bytes, buffer).map_err(CopyError::system("read", path))?;
        if is_written_to {
            clock.sleep_until(clock.now_ns() + PAUSE_NS);
        }
        let is_same = writers == Writers::None
            || reads_the_same(from, buffer).map_err(CopyError::system("read", path))?;
        // If someone has opened and mapped it meanwhile, the first write through the new mapping updates its
        // time.
        let now = files::stamp(from).map_err(CopyError::system("look at", path))?;
        if let Some(how) = now.content_change_since(expected) {
            return Err(changed(how));
        }
        if buffer.len() as u64 != expected.size_bytes {
            return Err(changed("its size changed"));
        }
        let wait_ns = unproven_ns(now.modified_ns, begun_ns);
        if is_same && wait_ns == 0 {
            // Reading has changed the access time since.
            return Ok((FileStamp { accessed_ns: expected.accessed_ns, ..now }, writers));
        }
        clock.sleep_until(clock.now_ns() + wait_ns.max(WAIT_NS_MIN));
    }
    Err(changed("it is being written, and no two reads gave the same content"))
}

/// How long to wait until every further write to a file last modified at `modified_ns` would show as a new
/// time, nanoseconds; 0 if that was already so at `begun_ns`. A time in the future was set by hand, and no
/// write will get it.
pub(super) fn unproven_ns(modified_ns: i128, begun_ns: i128) -> u64 {
    // Some file systems store only whole seconds.
    let step_ns = if modified_ns % 1_000_000_000 == 0 { COARSE_NS } else { TICK_NS };
    let age_ns = begun_ns - modified_ns;
    if age_ns < -step_ns { 0 } else { u64::try_from(step_ns - age_ns).unwrap_or(0) }
}

/// Reads everything and tries one byte more than expected, to detect a file that grew.
fn read_whole(from: &File, size_bytes: u64, buffer: &mut Vec<u8>) -> io::Result<()> {
    buffer.clear();
    from.take(size_bytes + 1).read_to_end(buffer)?;
    Ok(())
}

fn reads_the_same(from: &File, expected: &[u8]) -> io::Result<bool> {
    let mut found = vec![0; expected.len().min(COMPARED_BYTES)];
    let mut at = 0;
    while at < expected.len() {
        let wanted = (expected.len() - at).min(found.len());
        let read = files::read_at(from, &mut found[..wanted], at as u64)?;
        if read == 0 || found[..read] != expected[at..at + read] {
            return Ok(false);
        }
        at += read;
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt as _;

    use super::*;

    /// A database wrote through a mapping while its file was copied. Size and time stay as they were then, and only the second
    /// reading shows it.
    #[test]
    fn a_second_reading_finds_every_byte_that_has_changed_since_the_first() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("data");
        // More than is compared at a time.
        let first: Vec<u8> = (0..COMPARED_BYTES * 2 + 100).map(|at| at.to_le_bytes()[0]).collect();
        std::fs::write(&path, &first).unwrap();
        let file = File::options().read(true).write(true).open(&path).unwrap();
        assert!(reads_the_same(&file, &first).unwrap());
        assert!(reads_the_same(&file, &[]).unwrap());
        for at in [0, COMPARED_BYTES - 1, COMPARED_BYTES, first.len() - 1] {
            file.write_all_at(&[!first[at]], at as u64).unwrap();
            assert!(!reads_the_same(&file, &first).unwrap(), "byte {at}");
            file.write_all_at(&[first[at]], at as u64).unwrap();
        }
        file.set_len(first.len() as u64 - 1).unwrap();
        assert!(!reads_the_same(&file, &first).unwrap(), "it has shrunk");
    }
}
