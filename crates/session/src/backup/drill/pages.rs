//! Checks every page of a cluster that is down.

use std::fs::File;
use std::io::{self, ErrorKind, Read as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::available_parallelism;

use iostall_engine::files::{self, path_bytes};
use iostall_transfer::backup::pages::{PageState, RelationFile, state_of};

use super::limits::Limits;

/// Bytes that are read at once; a multiple of every page size.
const READ_BYTES: usize = 1 << 20;
/// More threads than this would wait for one disk.
const THREADS_MAX: usize = 8;

#[derive(Clone, Copy, Debug)]
pub(super) struct PageLayout {
    pub(super) page_bytes: u32,
    pub(super) pages_per_segment: u32,
}

#[derive(Debug, Default)]
pub(super) struct PagesFound {
    pub(super) pages: u64,
    pub(super) files: u64,
    /// One sentence for each page or file that is wrong, sorted.
    pub(super) problems: Vec<String>,
}

/// Reads every relation's file below `data`. Ends early when it is over.
pub(super) fn check(data: &Path, layout: PageLayout, limits: &Limits<'_>) -> PagesFound {
    let mut files = Vec::new();
    let mut problems = Vec::new();
    for directory in ["base", "global", "pg_tblspc"] {
        if let Err(error) = list(&data.join(directory), &mut files) {
            problems.push(format!("{directory}: {error}"));
        }
    }
    let (next, pages, found) = (AtomicUsize::new(0), AtomicU64::new(0), Mutex::new(problems));
    let work = || {
        while let Some((path, file)) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
            let name = path.strip_prefix(data).unwrap_or(path).display().to_string();
            let problem = |text: String| {
                found.lock().unwrap_or_else(PoisonError::into_inner).push(format!("{name}: {text}"));
            };
            match check_file(path, *file, layout, limits, &problem) {
                Ok(count) => {
                    pages.fetch_add(count, Ordering::Relaxed);
                }
                Err(error) => problem(error.to_string()),
            }
        }
    };
    let threads = available_parallelism().map_or(1, usize::from).min(THREADS_MAX);
    std::thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(work);
        }
        work();
    });
    let mut problems = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    problems.sort_unstable();
    PagesFound { pages: pages.into_inner(), files: files.len() as u64, problems }
}

/// The relations' files below `directory`. Links are followed, because tablespaces are links.
fn list(directory: &Path, files: &mut Vec<(PathBuf, RelationFile)>) -> io::Result<()> {
    for entry in std::fs::read_dir(directory)? {
        let path = entry?.path();
        if path.is_dir() {
            list(&path, files)?;
        } else if let Some(name) = path.file_name()
            && let Some(file) = RelationFile::parse(path_bytes(Path::new(name)))
            && !file.is_temporary
        {
            files.push((path, file));
        }
    }
    Ok(())
}

fn check_file(
    path: &Path,
    file: RelationFile,
    layout: PageLayout,
    limits: &Limits<'_>,
    problem: &dyn Fn(String),
) -> io::Result<u64> {
    let page_bytes = layout.page_bytes as usize;
    let first = file.segment.saturating_mul(layout.pages_per_segment);
    let mut open = files::open_in_shared_directory(path)?;
    let mut buffer = vec![0; READ_BYTES];
    let mut pages = 0_u64;
    while !limits.is_over() {
        let filled = fill(&mut open, &mut buffer)?;
        for page in buffer[..filled].chunks_exact(page_bytes) {
            let block = first.wrapping_add(u32::try_from(pages).unwrap_or(u32::MAX));
            if matches!(state_of(page, block), PageState::Wrong { .. }) {
                let offset = pages * u64::from(layout.page_bytes);
                problem(format!("page {pages} (at offset {offset}) has a wrong checksum"));
            }
            pages += 1;
        }
        if filled % page_bytes != 0 {
            problem(format!("its last page has only {} bytes", filled % page_bytes));
        }
        if filled < buffer.len() {
            break;
        }
    }
    Ok(pages)
}

fn fill(file: &mut File, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match file.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

#[cfg(test)]
mod tests {
    use iostall_measure::Nanos;
    use iostall_transfer::Progress;
    use iostall_transfer::backup::pages::checksum;

    use super::*;

    const PAGE: usize = 8192;
    const LAYOUT: PageLayout = PageLayout { page_bytes: 8192, pages_per_segment: 2 };

    fn page(block: u32) -> Vec<u8> {
        let mut page = vec![7; PAGE];
        let sum = checksum(&page, block);
        page[8..10].copy_from_slice(&sum.to_ne_bytes());
        page
    }

    #[test]
    fn every_page_of_every_segment_is_read_and_a_wrong_one_is_named_with_its_file() {
        let data = tempfile::tempdir().unwrap();
        let write = |name: &str, bytes: Vec<u8>| {
            let path = data.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, bytes).unwrap();
        };
        write("base/5/20", [page(0), vec![0; PAGE]].concat());
        write("base/5/20.1", page(2));
        write("base/5/20_vm", page(0));
        write("base/5/pg_filenode.map", vec![1; 512]);
        write("global/1260", page(0));
        write("pg_tblspc/7/PG_15_1/5/30", page(0));
        let progress = Progress::default();
        let limits = Limits::new(&progress, Nanos(600_000_000_000));
        let good = check(data.path(), LAYOUT, &limits);
        assert_eq!((good.pages, good.files, good.problems), (6, 5, Vec::new()));
        // A page in the place of another one.
        write("base/5/20.1", page(0));
        write("global/1260", [page(0), vec![7; 100]].concat());
        let bad = check(data.path(), LAYOUT, &limits);
        assert_eq!(
            bad.problems,
            [
                "base/5/20.1: page 0 (at offset 0) has a wrong checksum",
                "global/1260: its last page has only 100 bytes"
            ]
        );
    }
}
