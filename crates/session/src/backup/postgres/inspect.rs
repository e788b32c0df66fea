//! Checks the pages of relations on their way into a backup.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use iostall_connect::postgres::Lsn;
use iostall_engine::files::path_from_bytes;
use iostall_measure::{Clock, MonotonicClock};
use iostall_model::backup::StoredName;
use iostall_transfer::backup::create::{Inspect, PagesSeen};
use iostall_transfer::backup::pages::{PageState, RelationFile, blocks_in_words, state_of};

use super::tablespace;

/// A page that is wrong may be in the middle of being written: it is read again so often, with such pauses.
const TRIES: u32 = 5;
const PAUSE_NS: u64 = 10_000_000;
/// With more wrong pages than this the disk is broken, and waiting for each of them would take hours.
const WAITED_MAX: usize = 100;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) page_bytes: usize,
    pub(super) pages_per_segment: u32,
    /// Where recovery begins: a page changed since is written again from the log.
    pub(super) start: Lsn,
}

pub(super) struct PageInspector {
    /// `None`: the files are not here, and the server has read a page that is wrong again before it sent it.
    data: Option<PathBuf>,
    /// What names begin with if there are other sources.
    prefix: StoredName,
    layout: Layout,
    checked: AtomicU64,
    found: Mutex<Found>,
}

#[derive(Default)]
struct Found {
    /// Wrong, and not to be repaired from the log.
    bad: BTreeSet<Page>,
    /// Wrong, but changed since the start, if their positions are to be believed.
    changed: Vec<(Page, Lsn)>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Page {
    file: StoredName,
    number: u64,
}

/// What a second look at the file itself says about a page that was wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    /// Cut off, or never used.
    Gone,
    Changed(Lsn),
    Bad,
}

impl PageInspector {
    pub(super) fn new(data: Option<&Path>, prefix: &StoredName, layout: Layout) -> Self {
        Self {
            data: data.map(Path::to_owned),
            prefix: prefix.clone(),
            layout,
            checked: AtomicU64::new(0),
            found: Mutex::default(),
        }
    }

    /// What was found, once the end of the backup in the log is known: a page whose position is beyond it is no page of this
    /// server, whatever it says.
    pub(super) fn seen(&self, stop: Lsn) -> PagesSeen {
        let found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        let beyond = found.changed.iter().filter(|(_, lsn)| *lsn > stop).map(|(page, _)| page);
        let bad: BTreeSet<&Page> = found.bad.iter().chain(beyond).collect();
        let page_bytes = self.layout.page_bytes as u64;
        let in_words = |Page { file, number }: &Page| {
            let (offset, segment) = (number * page_bytes, self.layout.pages_per_segment);
            let block = blocks_in_words(file.as_bytes(), *number, *number, segment);
            let block = block.unwrap_or_else(|| format!("{file} page {number}"));
            format!("{block} has a wrong checksum, in the running database too ({file}, at offset {offset})")
        };
        let wrong = bad.into_iter().map(in_words).collect();
        PagesSeen { checked: self.checked.load(Ordering::Relaxed), wrong }
    }

    fn look(&self, name: &StoredName, number: u64, block: u32, seen: &[u8]) {
        let page = Page { file: name.clone(), number };
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        let tries = if found.bad.len() < WAITED_MAX { TRIES } else { 1 };
        drop(found);
        let verdict = match self.path_of(name) {
            Some(path) => self.again(&path, number, block, tries),
            None => self.by_position(seen),
        };
        found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        match verdict {
            Verdict::Gone => {}
            Verdict::Changed(lsn) => found.changed.push((page, lsn)),
            Verdict::Bad => drop(found.bad.insert(page)),
        }
    }

    fn path_of(&self, name: &StoredName) -> Option<PathBuf> {
        let inside =
            name.as_bytes().strip_prefix(self.prefix.as_bytes()).and_then(|rest| rest.strip_prefix(b"/"));
        let name = inside.unwrap_or_else(|| name.as_bytes());
        Some(self.data.as_ref()?.join(path_from_bytes(tablespace::name_in_data_directory(name))))
    }

    fn again(&self, path: &Path, number: u64, block: u32, tries: u32) -> Verdict {
        let clock = MonotonicClock::new();
        let mut page = vec![0; self.layout.page_bytes];
        for _ in 0..tries {
            match read_page(path, number, &mut page) {
                // The relation was dropped or cut meanwhile, which the log says too.
                Ok(false) | Err(_) => return Verdict::Gone,
                Ok(true) => {}
            }
            match state_of(&page, block) {
                PageState::Zero => return Verdict::Gone,
                // It was being written when we read it. If its position is older than the start, we have read it wrong, and
                // the log does not repair that.
                PageState::Valid => return self.by_position(&page),
                PageState::Wrong { .. } => {}
            }
            clock.sleep_until(clock.now_ns() + PAUSE_NS);
        }
        self.by_position(&page)
    }

    /// A page that was changed since the start is written again from the log.
    fn by_position(&self, page: &[u8]) -> Verdict {
        let lsn = lsn_of(page);
        if lsn >= self.layout.start { Verdict::Changed(lsn) } else { Verdict::Bad }
    }
}

impl Inspect for PageInspector {
    fn inspect(&self, name: &StoredName, offset: u64, bytes: &[u8]) {
        let last = name.as_bytes().rsplit(|byte| *byte == b'/').next().unwrap_or_default();
        let Some(file) = RelationFile::parse(last) else { return };
        let page_bytes = self.layout.page_bytes;
        let first = file.segment.saturating_mul(self.layout.pages_per_segment);
        // Where a hole ends, or the file does, half a page may be left: recovery or a second look decides about it.
        let skipped =
            usize::try_from(offset.next_multiple_of(page_bytes as u64) - offset).unwrap_or(usize::MAX);
        let from = offset.div_ceil(page_bytes as u64);
        let pages = bytes.get(skipped..).unwrap_or_default().chunks_exact(page_bytes);
        let mut checked = 0;
        for (number, page) in (from..).zip(pages) {
            let block = first.wrapping_add(u32::try_from(number).unwrap_or(u32::MAX));
            match state_of(page, block) {
                PageState::Zero => continue,
                PageState::Valid => {}
                PageState::Wrong { .. } => self.look(name, number, block, page),
            }
            checked += 1;
        }
        self.checked.fetch_add(checked, Ordering::Relaxed);
    }
}

/// Reads a page; `false` if the file ends before it does.
fn read_page(path: &Path, number: u64, page: &mut [u8]) -> io::Result<bool> {
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(number * page.len() as u64))?;
    match file.read_exact(page) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        other => other.map(|()| true),
    }
}

fn lsn_of(page: &[u8]) -> Lsn {
    let half =
        |at: usize| u64::from(u32::from_ne_bytes([page[at], page[at + 1], page[at + 2], page[at + 3]]));
    Lsn(half(0) << 32 | half(4))
}

#[cfg(test)]
mod tests {
    use super::*;
    use iostall_transfer::backup::pages::checksum;

    const PAGE: usize = 8192;

    fn page(block: u32, lsn: Lsn) -> Vec<u8> {
        let mut page = vec![7; PAGE];
        let high = u32::try_from(lsn.0 >> 32).unwrap();
        let low = u32::try_from(lsn.0 & u64::from(u32::MAX)).unwrap();
        page[..4].copy_from_slice(&high.to_ne_bytes());
        page[4..8].copy_from_slice(&low.to_ne_bytes());
        let sum = checksum(&page, block);
        page[8..10].copy_from_slice(&sum.to_ne_bytes());
        page
    }

    struct Case {
        directory: tempfile::TempDir,
        inspector: PageInspector,
    }

    /// A relation of four pages of which the fourth is in the second file, as they are on disk.
    fn case(pages: &[Vec<u8>; 3], second: Vec<u8>) -> Case {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(directory.path().join("base/1")).unwrap();
        std::fs::write(directory.path().join("base/1/20"), pages.concat()).unwrap();
        std::fs::write(directory.path().join("base/1/20.1"), second).unwrap();
        let layout = Layout { page_bytes: PAGE, pages_per_segment: 3, start: Lsn(1000) };
        let inspector = PageInspector::new(Some(directory.path()), &"main".into(), layout);
        Case { directory, inspector }
    }

    fn good() -> Case {
        let old = Lsn(500);
        case(&[page(0, old), page(1, old), vec![0; PAGE]], page(3, old))
    }

    fn read(case: &Case, name: &str) -> Vec<u8> {
        std::fs::read(case.directory.path().join(name)).unwrap()
    }

    #[test]
    fn good_and_unused_pages_of_every_file_of_a_relation_are_no_warning() {
        let case = good();
        for name in ["base/1/20", "base/1/20.1"] {
            case.inspector.inspect(&name.into(), 0, &read(&case, name));
        }
        case.inspector.inspect(&"base/1/pg_filenode.map".into(), 0, &[1; 8192]);
        // The third page was never used, so it has no checksum.
        assert_eq!(case.inspector.seen(Lsn(2000)), PagesSeen { checked: 3, wrong: Vec::new() });
    }

    #[test]
    fn a_page_that_is_wrong_on_disk_too_is_named_with_its_offset() {
        let case = good();
        let name = "base/1/20";
        let mut bytes = read(&case, name);
        bytes[PAGE + 100] ^= 1;
        std::fs::write(case.directory.path().join(name), &bytes).unwrap();
        // The range begins in the middle of a page.
        case.inspector.inspect(&"main/base/1/20".into(), 4096, &bytes[4096..]);
        let warnings = case.inspector.seen(Lsn(2000)).wrong;
        assert_eq!(warnings.len(), 1, "{warnings:?}");
        assert!(warnings[0].starts_with("main/base/1/20 block 1 has a wrong checksum"), "{warnings:?}");
    }

    /// A page that was read while the server wrote it was reported as a broken disk.
    #[test]
    fn a_page_that_was_torn_by_a_write_is_repaired_by_the_log() {
        let case = good();
        let name = "base/1/20";
        let torn = [&page(0, Lsn(1500))[..4096], &page(0, Lsn(500))[4096..]].concat();
        let torn = [&torn[..8], &torn[10..], &[9, 9]].concat();
        std::fs::write(case.directory.path().join(name), page(0, Lsn(1500))).unwrap();
        case.inspector.inspect(&name.into(), 0, &torn);
        assert_eq!(case.inspector.seen(Lsn(2000)).wrong, Vec::<String>::new());
        // A position that the server has never reached is made up by the damage.
        assert_eq!(case.inspector.seen(Lsn(1499)).wrong.len(), 1);
    }

    #[test]
    fn a_page_that_was_read_wrong_while_the_one_on_disk_is_good_is_bad() {
        let case = good();
        let mut bytes = read(&case, "base/1/20");
        bytes[5000] ^= 1;
        case.inspector.inspect(&"base/1/20".into(), 0, &bytes);
        assert_eq!(case.inspector.seen(Lsn(2000)).wrong.len(), 1);
    }

    #[test]
    fn a_page_of_a_relation_that_was_cut_or_dropped_meanwhile_is_no_warning() {
        let case = good();
        let mut bytes = read(&case, "base/1/20");
        bytes[PAGE + 100] ^= 1;
        std::fs::write(case.directory.path().join("base/1/20"), &bytes[..PAGE]).unwrap();
        case.inspector.inspect(&"base/1/20".into(), 0, &bytes);
        case.inspector.inspect(&"base/1/21".into(), 0, &bytes[PAGE..]);
        assert_eq!(case.inspector.seen(Lsn(2000)).wrong, Vec::<String>::new());
    }
}
