//! Resumes an unfinished file: finds out which ranges the media confirm, and clears the rest.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::Path;

use iostall_engine::{files, open_path};
use xxhash_rust::xxh3::Xxh3;

use super::beside::journal_path;
use super::context::CopyContext;
use super::endpoint::Endpoint;
use super::error::CopyError;
use super::journal::{Claims, DurableRange, Source, has_journal, is_unfinished, read_journal};
use super::mover::Mover;
use super::options::Resume;
use super::tree_mark;
use crate::pipeline::PipelineError;
use crate::plan::PLAN_ALIGN;

/// Ranges that an earlier attempt wrote and that the destination, read past the cache, confirms. If anything
/// about the source has changed, the source must confirm them as well.
pub(super) fn resumed_ranges(
    context: &CopyContext<'_>,
    mover: &mut Mover<'_>,
    from: &Endpoint,
    to: &Endpoint,
    target: &Path,
    same_device: bool,
) -> Result<Vec<DurableRange>, CopyError> {
    let Some(Claims { source, ranges: claimed }) = claims(context.options.resume, from, target)? else {
        return Ok(Vec::new());
    };
    if !to.is_direct() {
        files::drop_from_cache(&open_path(to.file()))
            .map_err(CopyError::system("drop from the page cache", to.path()))?;
    }
    let files: &[&File] = if source == Source::Same { &[to.file()] } else { &[from.file(), to.file()] };
    context.progress.begin_file(target, from.stat.size_bytes, "checking what is there of");
    let (_, set) = mover.buffers(same_device, from.path())?;
    let mut buffers = set.take();
    let mut confirmed = Vec::with_capacity(claimed.len());
    let mut is_cancelled = false;
    for range in claimed {
        let Some(buffer) = buffers.first_mut() else { break };
        let bytes = u64::from(range.length) * files.len() as u64;
        is_cancelled = !context.wait_for_rate(bytes);
        if is_cancelled {
            break;
        }
        if files.iter().all(|file| is_there(file, &range, buffer)) {
            confirmed.push(range);
        }
    }
    set.put_back(buffers).map_err(CopyError::system("map buffers for", to.path()))?;
    if is_cancelled {
        return Err(CopyError::cancelled(from.path(), target, true));
    }
    context.progress.begin_file(target, from.stat.size_bytes, "copying");
    Ok(confirmed)
}

/// Whether an earlier attempt at this copy left a tree with its mark, or a file with its journal.
pub(super) fn is_begun(source: &Path, target: &Path) -> bool {
    tree_mark::is_of(target, source)
        || files::stamp_of_path(source).is_ok_and(|stat| is_unfinished(target, &stat))
}

fn claims(resume: Resume, from: &Endpoint, target: &Path) -> Result<Option<Claims>, CopyError> {
    if resume == Resume::Never {
        return Ok(None);
    }
    let claims = read_journal(target, &from.stat)
        .map_err(CopyError::system("read the journal", &journal_path(target)))?;
    Ok(claims.filter(|claims| match claims.source {
        Source::Another => false,
        Source::Modified => resume == Resume::Always,
        Source::Same | Source::Touched => true,
    }))
}

/// Whether the file holds the range. Read in parts, because an earlier attempt may have had larger buffers;
/// an unreadable range counts as missing.
fn is_there(file: &File, range: &DurableRange, buffer: &mut [u8]) -> bool {
    let align = usize::try_from(PLAN_ALIGN).unwrap_or(4096);
    let mut state = Xxh3::new();
    let (mut offset, mut left) = (range.offset, range.length as usize);
    while left > 0 {
        let wanted = left.min(buffer.len());
        let asked = wanted.next_multiple_of(align).min(buffer.len());
        if !files::read_at(file, &mut buffer[..asked], offset).is_ok_and(|read| read >= wanted) {
            return false;
        }
        state.update(&buffer[..wanted]);
        offset += wanted as u64;
        left -= wanted;
    }
    state.digest() == range.hash
}

/// Turns these ranges of a resumed file into holes: nothing will be written there, so old content would stay.
pub(super) fn clear_holes(file: &File, holes: &[Range<u64>]) -> io::Result<()> {
    let length = file.metadata()?.len();
    for hole in holes {
        let hole = hole.start..hole.end.min(length);
        if hole.is_empty() || files::punch_hole(file, &hole)? {
            continue;
        }
        write_zeros(file, &hole)?;
    }
    Ok(())
}

/// For file systems without holes.
fn write_zeros(file: &File, range: &Range<u64>) -> io::Result<()> {
    let zeros = vec![0; 1 << 20];
    let mut at = range.start;
    while at < range.end {
        let part = usize::try_from(range.end - at).unwrap_or(usize::MAX).min(zeros.len());
        files::write_all_at(file, &zeros[..part], at)?;
        at += part as u64;
    }
    Ok(())
}

pub(super) fn joined(durable: &[DurableRange]) -> Vec<Range<u64>> {
    let mut ranges: Vec<Range<u64>> = Vec::new();
    for one in durable {
        let range = one.offset..one.offset + u64::from(one.length);
        match ranges.last_mut() {
            Some(last) if last.end == range.start => last.end = range.end,
            _ => ranges.push(range),
        }
    }
    ranges
}

/// A copy cancelled during verification only needs to be verified again, so with a journal the unfinished
/// file is kept.
pub(super) fn kept_where_cancelled(error: CopyError, from: &Path, target: &Path) -> CopyError {
    let kept = has_journal(target);
    match error {
        CopyError::Reading { cause: PipelineError::Cancelled, .. } => {
            CopyError::cancelled(from, target, kept)
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An exFAT stick knows no holes. What an earlier attempt had left where the source has one must not stay there either.
    #[test]
    fn where_there_are_no_holes_a_range_is_overwritten_with_zeros_and_nothing_else() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("part");
        std::fs::write(&path, vec![7; 3 << 20]).unwrap();
        let file = File::options().write(true).open(&path).unwrap();
        let range = 4096..(5 << 19) + 512;
        write_zeros(&file, &range).unwrap();
        let found = std::fs::read(&path).unwrap();
        assert_eq!(found.len(), 3 << 20);
        for (at, byte) in (0..).zip(found) {
            assert_eq!(byte, if range.contains(&at) { 0 } else { 7 }, "byte {at}");
        }
    }
}
