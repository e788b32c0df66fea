//! What of an unfinished destination is on stable media: the base of `--resume`.
//!
//! A text file beside the unfinished destination. The first line names the source as it was; each further
//! line one piece that was written and synced, with its checksum. Every line ends in a checksum of itself, so
//! that a line torn by a crash counts as not there. The journal is synced after the data; and what it says
//! is believed only when the destination, read again past the cache, agrees.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;

use iostall_engine::files::FileStamp;
use xxhash_rust::xxh3::xxh3_64;

use super::part::{journal_path, new_journal_path};
use crate::pipeline::{Journal, Written};

const MAGIC: &str = "iostall-journal 1";

/// What a journal says about its source. Without the device number: it may be another after a restart.
fn identity(source: &FileStamp) -> String {
    format!(
        "{MAGIC} inode={} size={} modified_ns={} changed_ns={}",
        source.inode, source.size_bytes, source.modified_ns, source.changed_ns
    )
}

fn push_line(text: &mut String, line: &str) {
    // Writing into a String cannot fail.
    let _ = writeln!(text, "{line} {:016x}", xxh3_64(line.as_bytes()));
}

fn checked(line: &str) -> Option<&str> {
    let (line, sum) = line.rsplit_once(' ')?;
    (sum.len() == 16 && u64::from_str_radix(sum, 16).ok()? == xxh3_64(line.as_bytes())).then_some(line)
}

/// A journal being written.
pub(super) struct FileJournal {
    file: File,
    interval_bytes: u64,
    pieces: usize,
}

impl FileJournal {
    /// Whether there is anything to go on from.
    pub(super) fn has_pieces(&self) -> bool {
        self.pieces > 0
    }

    /// Begins one for a copy of `source` to `target`, with the pieces that are already known to be there.
    pub(super) fn begin(
        target: &Path,
        source: &FileStamp,
        kept: &[Written],
        interval_bytes: u64,
    ) -> io::Result<Self> {
        // Never half of an old one and half of a new one: the new one is written under another name first. Only the
        // holder of the unfinished destination gets here, so what has that name is a dead process's.
        let fresh = new_journal_path(target);
        match std::fs::remove_file(&fresh) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let file = File::create_new(&fresh)?;
        let mut journal = Self { file, interval_bytes, pieces: 0 };
        let mut text = String::new();
        push_line(&mut text, &identity(source));
        journal.file.write_all(text.as_bytes())?;
        journal.append(kept)?;
        std::fs::rename(&fresh, journal_path(target))?;
        Ok(journal)
    }
}

impl Journal for FileJournal {
    fn interval_bytes(&self) -> u64 {
        self.interval_bytes
    }

    fn append(&mut self, pieces: &[Written]) -> io::Result<()> {
        let mut text = String::with_capacity(pieces.len() * 64);
        for piece in pieces {
            push_line(&mut text, &format!("{} {} {:016x}", piece.offset, piece.length, piece.hash));
        }
        self.file.write_all(text.as_bytes())?;
        self.file.sync_data()?;
        self.pieces += pieces.len();
        Ok(())
    }
}

/// Removes the journal of `target`, and what a dead process left of one it was about to begin.
pub(super) fn remove_journal(target: &Path) -> io::Result<()> {
    for path in [journal_path(target), new_journal_path(target)] {
        match std::fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

/// The pieces that the journal of `target` claims for `source`, ascending and without overlap; empty where there is no
/// journal, or one of another source.
pub(super) fn read_journal(target: &Path, source: &FileStamp) -> io::Result<Vec<Written>> {
    let text = match std::fs::read(journal_path(target)) {
        Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut lines = text.lines();
    if lines.next().and_then(checked) != Some(identity(source).as_str()) {
        return Ok(Vec::new());
    }
    let mut pieces: Vec<Written> = lines.filter_map(|line| parse(checked(line)?)).collect();
    pieces.sort_by_key(|piece| piece.offset);
    let mut end = 0;
    pieces.retain(|piece| {
        let follows = piece.offset >= end && piece.length > 0;
        if follows {
            end = piece.offset + u64::from(piece.length);
        }
        follows && end <= source.size_bytes
    });
    Ok(pieces)
}

fn parse(line: &str) -> Option<Written> {
    let mut words = line.split(' ');
    let piece = Written {
        offset: words.next()?.parse().ok()?,
        length: words.next()?.parse().ok()?,
        hash: u64::from_str_radix(words.next()?, 16).ok()?,
    };
    words.next().is_none().then_some(piece)
}

#[cfg(test)]
mod tests {
    use super::*;
    use iostall_engine::files;

    fn piece(offset: u64, length: u32) -> Written {
        Written { offset, length, hash: offset ^ 0xdead }
    }

    #[test]
    fn a_journal_gives_back_what_was_appended_and_nothing_for_another_source() {
        let dir = tempfile::tempdir().unwrap();
        let source_path = dir.path().join("source");
        std::fs::write(&source_path, vec![1; 100_000]).unwrap();
        let source = files::stamp_of_path(&source_path).unwrap();
        let path = dir.path().join("x");
        let mut journal = FileJournal::begin(&path, &source, &[piece(0, 4096)], 1).unwrap();
        journal.append(&[piece(8192, 4096), piece(4096, 4096)]).unwrap();
        let expected = [piece(0, 4096), piece(4096, 4096), piece(8192, 4096)];
        assert_eq!(read_journal(&path, &source).unwrap(), expected);

        let other = FileStamp { modified_ns: source.modified_ns + 1, ..source };
        assert!(read_journal(&path, &other).unwrap().is_empty());
        assert!(read_journal(&dir.path().join("none"), &source).unwrap().is_empty());
    }

    #[test]
    fn a_torn_or_damaged_line_counts_as_not_there() {
        let dir = tempfile::tempdir().unwrap();
        let source_path = dir.path().join("source");
        std::fs::write(&source_path, vec![1; 100_000]).unwrap();
        let source = files::stamp_of_path(&source_path).unwrap();
        let target = dir.path().join("x");
        let path = journal_path(&target);
        FileJournal::begin(&target, &source, &[piece(0, 4096), piece(4096, 4096)], 1).unwrap();
        let whole = std::fs::read(&path).unwrap();
        for cut in 0..whole.len() {
            std::fs::write(&path, &whole[..cut]).unwrap();
            let pieces = read_journal(&target, &source).unwrap();
            assert!(pieces.len() < 2 || cut + 1 == whole.len(), "cut at {cut}");
            assert!(pieces.iter().all(|found| [piece(0, 4096), piece(4096, 4096)].contains(found)));
        }
        for at in 0..whole.len() - 1 {
            let mut damaged = whole.clone();
            damaged[at] ^= 1;
            std::fs::write(&path, &damaged).unwrap();
            assert!(read_journal(&target, &source).unwrap().len() < 2, "damaged at {at}");
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
        FileJournal::begin(&target, &source, &[piece(0, 4096)], 1).unwrap();
        assert_eq!(read_journal(&target, &source).unwrap(), [piece(0, 4096)]);
        assert_eq!(std::fs::read(&source_path).unwrap(), vec![1; 100_000]);
        assert!(!new_journal_path(&target).exists());
    }
}
