//! Reads a finished destination back from the media and reports where it differs.

use std::fs::File;
use std::path::Path;

use iostall_engine::{Access, files, open_path};
use iostall_measure::{Caching, Clock};
use iostall_model::transfer::Mismatch;

use super::endpoint::Endpoint;
use super::error::CopyError;
use crate::buffers::BufferSet;
use crate::page_cache::PlannedSource;
use crate::pipeline::{Checksums, FileHashes, HashWanted, Job, Pipeline, PipelineError, StageWorkers};
use crate::plan::Plan;
use crate::progress::Progress;
use crate::rate::RateLimit;

/// Block size for locating a difference, bytes.
pub(crate) const BLOCK_BYTES: u64 = 1 << 20;

pub(crate) struct Reader<'a, C> {
    pub(crate) buffers: &'a mut BufferSet,
    pub(crate) clock: &'a C,
    pub(crate) progress: &'a Progress,
    pub(crate) rate: Option<&'a RateLimit>,
    pub(crate) transfer_bytes: u32,
}

impl<C: Clock> Reader<'_, C> {
    /// The checksums of the first `size_bytes` of a file, bypassing the page cache: with direct I/O if
    /// possible, otherwise after writing and dropping its pages. Skips holes, because there is nothing to
    /// read.
    pub(crate) fn hashes(
        &mut self,
        path: &Path,
        size_bytes: u64,
        wanted: HashWanted,
    ) -> Result<FileHashes, CopyError> {
        self.hashes_of(&Endpoint::open(path, Access::Read, Caching::Direct)?, size_bytes, wanted)
    }

    /// The same of a file that is open already, whatever has its name by now.
    pub(super) fn hashes_of(
        &mut self,
        file: &Endpoint,
        size_bytes: u64,
        wanted: HashWanted,
    ) -> Result<FileHashes, CopyError> {
        let path = file.path();
        if !file.is_direct() {
            files::drop_from_cache(&open_path(file.file()))
                .map_err(CopyError::system("drop from the page cache", path))?;
        }
        let data = files::data_ranges(file.file(), size_bytes)
            .map_err(CopyError::system("look for holes in", path))?;
        let plan = Plan::new(size_bytes, &data, &[], self.transfer_bytes);
        let engine = self.buffers.engine(&[file.handle()])?;
        let mut source = PlannedSource::new(plan, file.buffered());
        let mut checksums = Checksums::new(wanted);
        let mut pipeline = Pipeline::new(engine, self.clock.clone(), self.buffers.take());
        let moved = pipeline.run(Job {
            source: &mut source,
            stages: vec![StageWorkers::in_order(&mut checksums)],
            sinks: Vec::new(),
            aligns: &[file.align],
            reads_max: self.buffers.buffer_count(),
            rate: self.rate,
            progress: self.progress,
        });
        self.buffers
            .put_back(pipeline.into_buffers())
            .map_err(CopyError::system("map buffers to read", path))?;
        let failed = |cause: PipelineError| CopyError::Reading { path: path.to_owned(), cause };
        moved.map_err(failed)?;
        Ok(checksums.finish())
    }
}

/// Compares what was read from the source with what the destination holds. `None` if equal.
pub(crate) fn compare(
    shown: &Path,
    source: &Path,
    copy: &Path,
    expected: &FileHashes,
    found: &FileHashes,
    block_bytes: u64,
) -> Option<Mismatch> {
    let block = expected.blocks.iter().zip(&found.blocks).position(|(one, other)| one != other);
    if block.is_none() && expected.whole == found.whole && expected.blocks.len() == found.blocks.len() {
        return None;
    }
    let start = block.map(|block| block as u64 * block_bytes);
    let exact = start.and_then(|start| first_difference(source, copy, start, block_bytes));
    let message = match (exact, start) {
        (Some(offset), _) => format!("the destination differs from the source, first at byte {offset}"),
        (None, Some(start)) => format!(
            "the destination was read incorrectly between bytes {start} and {}, but correctly when read again: memory, controller or cable is faulty",
            start + block_bytes
        ),
        (None, None) => "the destination has another checksum than the source".to_owned(),
    };
    Some(Mismatch { path: shown.display().to_string(), first_offset: exact.or(start), message })
}

/// The first byte from `start` within `length` at which two files differ.
fn first_difference(source: &Path, copy: &Path, start: u64, length: u64) -> Option<u64> {
    let length = usize::try_from(length).ok()?;
    let read = |path: &Path| -> Option<Vec<u8>> {
        let file = File::open(path).ok()?;
        let mut data = vec![0; length];
        let mut filled = 0;
        while filled < length {
            match files::read_at(&file, &mut data[filled..], start + filled as u64).ok()? {
                0 => break,
                read => filled += read,
            }
        }
        data.truncate(filled);
        Some(data)
    };
    // Reads the copy from the media again: the cache holds what was meant to be written.
    let _ = files::drop_from_cache(copy);
    let (one, other) = (read(source)?, read(copy)?);
    let differs = one.iter().zip(&other).position(|(one, other)| one != other);
    let at = differs.or_else(|| (one.len() != other.len()).then(|| one.len().min(other.len())))?;
    Some(start + at as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_differing_byte_is_found_within_its_block() {
        let dir = tempfile::tempdir().unwrap();
        let (source, copy) = (dir.path().join("source"), dir.path().join("copy"));
        let mut data = vec![5u8; 50_000];
        std::fs::write(&source, &data).unwrap();
        data[30_001] = 6;
        data[40_000] = 6;
        std::fs::write(&copy, &data).unwrap();
        assert_eq!(first_difference(&source, &copy, 16_384, 16_384), Some(30_001));
        assert_eq!(first_difference(&source, &copy, 0, 16_384), None);
        std::fs::write(&copy, &data[..20_000]).unwrap();
        assert_eq!(first_difference(&source, &copy, 16_384, 16_384), Some(20_000));
    }
}
