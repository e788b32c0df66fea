//! The journal of an unfinished file: which ranges are on stable media, so that a copy can resume.
//!
//! A text file next to the unfinished one. The first line identifies the source; each further line is one
//! range that was written and synced, with its checksum. Every line ends in a checksum of itself, so that a
//! line torn by a crash is ignored. The journal is synced after the data, and a claim counts only if the
//! destination, read again past the cache, confirms it.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;

use iostall_engine::files::FileStamp;
use iostall_engine::{Input, InputError};
use iostall_measure::ByteCount;
use xxhash_rust::xxh3::xxh3_64;

use super::beside::{journal_path, new_journal_path};

const MAGIC: &str = "iostall-journal 1";

/// Enough for the ranges of some twenty terabytes; a larger file under that name is not read.
const JOURNAL: Input = Input { what: "journal", limit: ByteCount(1 << 30) };

/// Identifies the source. Without the device number, which may change at a reboot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Identity {
    inode: u64,
    size_bytes: u64,
    modified_ns: i128,
    changed_ns: i128,
}

impl Identity {
    fn of(source: &FileStamp) -> Self {
        let FileStamp { inode, size_bytes, modified_ns, changed_ns, .. } = *source;
        Self { inode, size_bytes, modified_ns, changed_ns }
    }

    fn line(self) -> String {
        let Self { inode, size_bytes, modified_ns, changed_ns } = self;
        format!("{MAGIC} inode={inode} size={size_bytes} modified_ns={modified_ns} changed_ns={changed_ns}")
    }

    fn parse(line: &str) -> Option<Self> {
        let mut words = line.strip_prefix(MAGIC)?.strip_prefix(' ')?.split(' ');
        let mut value = |key: &str| words.next()?.strip_prefix(key);
        let found = Self {
            inode: value("inode=")?.parse().ok()?,
            size_bytes: value("size=")?.parse().ok()?,
            modified_ns: value("modified_ns=")?.parse().ok()?,
            changed_ns: value("changed_ns=")?.parse().ok()?,
        };
        words.next().is_none().then_some(found)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    Same,
    /// Something other than the content changed, judging by size and time.
    Touched,
    /// The same file with different content.
    Modified,
    Another,
}

impl Identity {
    fn related_to(&self, now: &Self) -> Source {
        match () {
            () if self == now => Source::Same,
            () if Self { changed_ns: self.changed_ns, ..*now } == *self => Source::Touched,
            () if self.inode == now.inode => Source::Modified,
            () => Source::Another,
        }
    }
}

pub(super) fn push_line(text: &mut String, line: &str) {
    // Writing into a String cannot fail.
    let _ = writeln!(text, "{line} {:016x}", xxh3_64(line.as_bytes()));
}

fn checked(line: &str) -> Option<&str> {
    let (line, sum) = line.rsplit_once(' ')?;
    (sum.len() == 16 && u64::from_str_radix(sum, 16).ok()? == xxh3_64(line.as_bytes())).then_some(line)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DurableRange {
    pub(super) offset: u64,
    pub(super) length: u32,
    /// XXH3 of its data.
    pub(super) hash: u64,
}

pub(super) struct FileJournal {
    file: File,
    interval_bytes: u64,
    ranges: usize,
}

impl FileJournal {
    pub(super) fn has_ranges(&self) -> bool {
        self.ranges > 0
    }

    /// Starts a journal for a copy of `source` to `target`, with the ranges already known to be there.
    pub(super) fn begin(
        target: &Path,
        source: &FileStamp,
        kept: &[DurableRange],
        interval_bytes: u64,
    ) -> io::Result<Self> {
        // Written under a temporary name first, so that it is never half old and half new. Only the owner of
        // the unfinished file gets here, so an existing file of that name was left by a dead process.
        let fresh = new_journal_path(target);
        match std::fs::remove_file(&fresh) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let file = File::create_new(&fresh)?;
        let mut journal = Self { file, interval_bytes, ranges: 0 };
        let mut text = String::new();
        push_line(&mut text, &Identity::of(source).line());
        journal.file.write_all(text.as_bytes())?;
        journal.append(kept)?;
        std::fs::rename(&fresh, journal_path(target))?;
        Ok(journal)
    }

    /// Bytes written between two entries.
    pub(super) fn interval_bytes(&self) -> u64 {
        self.interval_bytes
    }

    /// Records ranges that are on stable media: the destination was synced after they were written.
    pub(super) fn append(&mut self, ranges: &[DurableRange]) -> io::Result<()> {
        let mut text = String::with_capacity(ranges.len() * 64);
        for range in ranges {
            push_line(&mut text, &format!("{} {} {:016x}", range.offset, range.length, range.hash));
        }
        self.file.write_all(text.as_bytes())?;
        self.file.sync_data()?;
        self.ranges += ranges.len();
        Ok(())
    }
}

pub(super) fn has_journal(target: &Path) -> bool {
    journal_path(target).exists()
}

/// Removes the journal of `target`, and a temporary one left by a dead process.
pub(super) fn remove_journal(target: &Path) -> io::Result<()> {
    for path in [journal_path(target), new_journal_path(target)] {
        match std::fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

/// Bytes that are durable of an unfinished copy of `source` to `target`.
pub(super) fn durable_bytes(target: &Path, source: &FileStamp) -> u64 {
    let claims = read_journal(target, source).ok().flatten();
    claims.map_or(0, |claims| claims.ranges.iter().map(|range| u64::from(range.length)).sum())
}

pub(super) struct Claims {
    /// What has happened to the source since.
    pub(super) source: Source,
    /// What was written and synced: ascending, without overlap, within the current source.
    pub(super) ranges: Vec<DurableRange>,
}

pub(super) fn read_journal(target: &Path, source: &FileStamp) -> io::Result<Option<Claims>> {
    let text = match JOURNAL.read(&journal_path(target)) {
        Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(InputError::System { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
            return Ok(None);
        }
        Err(InputError::System { source, .. }) => return Err(source),
        Err(error) => return Err(io::Error::other(error)),
    };
    Ok(claims_of(&text, source))
}

pub(super) fn claims_of(text: &str, source: &FileStamp) -> Option<Claims> {
    let mut lines = text.lines();
    let named = lines.next().and_then(checked).and_then(Identity::parse)?;
    let mut ranges: Vec<DurableRange> = lines.filter_map(|line| parse(checked(line)?)).collect();
    ranges.sort_by_key(|range| range.offset);
    let mut end = 0;
    ranges.retain(|range| {
        let range_end = range.offset.saturating_add(u64::from(range.length));
        let follows = range.offset >= end && range.length > 0 && range_end <= source.size_bytes;
        if follows {
            end = range_end;
        }
        follows
    });
    Some(Claims { source: named.related_to(&Identity::of(source)), ranges })
}

/// Whether an earlier attempt to copy `source` to `target` can be resumed.
pub(super) fn is_unfinished(target: &Path, source: &FileStamp) -> bool {
    let claims = read_journal(target, source).ok().flatten();
    claims.is_some_and(|claims| matches!(claims.source, Source::Same | Source::Touched))
}

fn parse(line: &str) -> Option<DurableRange> {
    let mut words = line.split(' ');
    let range = DurableRange {
        offset: words.next()?.parse().ok()?,
        length: words.next()?.parse().ok()?,
        hash: u64::from_str_radix(words.next()?, 16).ok()?,
    };
    words.next().is_none().then_some(range)
}

#[cfg(test)]
mod tests {
    use super::*;
    use iostall_engine::files;

    fn range(offset: u64, length: u32) -> DurableRange {
        DurableRange { offset, length, hash: offset ^ 0xdead }
    }

    fn ranges_of(target: &Path, source: &FileStamp) -> Vec<DurableRange> {
        read_journal(target, source).unwrap().map(|claims| claims.ranges).unwrap_or_default()
    }

    #[test]
    fn a_journal_gives_back_what_was_appended_and_knows_its_source_again() {
        let dir = tempfile::tempdir().unwrap();
        let source_path = dir.path().join("source");
        std::fs::write(&source_path, vec![1; 100_000]).unwrap();
        let source = files::stamp_of_path(&source_path).unwrap();
        let path = dir.path().join("x");
        let mut journal = FileJournal::begin(&path, &source, &[range(0, 4096)], 1).unwrap();
        journal.append(&[range(8192, 4096), range(4096, 4096)]).unwrap();
        let claims = read_journal(&path, &source).unwrap().unwrap();
        assert_eq!(claims.ranges, [range(0, 4096), range(4096, 4096), range(8192, 4096)]);
        assert!(read_journal(&dir.path().join("none"), &source).unwrap().is_none());
        for (now, expected) in [
            (source, Source::Same),
            (FileStamp { device: source.device + 1, accessed_ns: 0, ..source }, Source::Same),
            (FileStamp { changed_ns: source.changed_ns + 1, mode: 0, ..source }, Source::Touched),
            (FileStamp { modified_ns: source.modified_ns + 1, ..source }, Source::Modified),
            (FileStamp { size_bytes: source.size_bytes + 1, ..source }, Source::Modified),
            (FileStamp { inode: source.inode + 1, ..source }, Source::Another),
        ] {
            assert_eq!(read_journal(&path, &now).unwrap().unwrap().source, expected, "{now:?}");
            let continues = matches!(expected, Source::Same | Source::Touched);
            assert_eq!(is_unfinished(&path, &now), continues, "{now:?}");
        }
        let shorter = FileStamp { size_bytes: 5000, ..source };
        assert_eq!(read_journal(&path, &shorter).unwrap().unwrap().ranges, [range(0, 4096)]);
    }

    #[test]
    fn a_torn_or_damaged_line_counts_as_not_there() {
        let dir = tempfile::tempdir().unwrap();
        let source_path = dir.path().join("source");
        std::fs::write(&source_path, vec![1; 100_000]).unwrap();
        let source = files::stamp_of_path(&source_path).unwrap();
        let target = dir.path().join("x");
        let path = journal_path(&target);
        FileJournal::begin(&target, &source, &[range(0, 4096), range(4096, 4096)], 1).unwrap();
        let whole = std::fs::read(&path).unwrap();
        for cut in 0..whole.len() {
            std::fs::write(&path, &whole[..cut]).unwrap();
            let ranges = ranges_of(&target, &source);
            assert!(ranges.len() < 2 || cut + 1 == whole.len(), "cut at {cut}");
            assert!(ranges.iter().all(|found| [range(0, 4096), range(4096, 4096)].contains(found)));
        }
        for at in 0..whole.len() - 1 {
            let mut damaged = whole.clone();
            damaged[at] ^= 1;
            std::fs::write(&path, &damaged).unwrap();
            assert!(ranges_of(&target, &source).len() < 2, "damaged at {at}");
        }
    }

    #[test]
    fn the_longest_name_has_a_journal_and_what_a_dead_process_began_is_no_obstacle() {
        let dir = tempfile::tempdir().unwrap();
        let source_path = dir.path().join("source");
        std::fs::write(&source_path, vec![1; 100_000]).unwrap();
        let source = files::stamp_of_path(&source_path).unwrap();
        let target = dir.path().join("n".repeat(255));
        std::os::unix::fs::symlink(&source_path, new_journal_path(&target)).unwrap();
        FileJournal::begin(&target, &source, &[range(0, 4096)], 1).unwrap();
        assert_eq!(ranges_of(&target, &source), [range(0, 4096)]);
        assert_eq!(std::fs::read(&source_path).unwrap(), vec![1; 100_000]);
        assert!(!new_journal_path(&target).exists());
    }
}
