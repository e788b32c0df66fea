//! What a copy has done so far.

use std::path::{Path, PathBuf};

use iostall_engine::files::Loss;
use iostall_model::transfer::{CopyCounts, DeviceImage, Mismatch, TransferShape};

use super::error::CopyError;
use super::options::CopyOptions;
use super::read_back::BLOCK_BYTES;
use crate::hash::Digest;
use crate::pipeline::FileHashes;

/// A file that has its final name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopiedFile {
    /// Where it is.
    pub path: PathBuf,
    /// Size, bytes.
    pub bytes: u64,
    /// Its checksum, where one was asked for.
    pub digest: Option<Digest>,
    /// XXH3 of each block of [`Self::block_bytes`], where it was read back.
    pub blocks: Vec<u64>,
    /// Size of those blocks.
    pub block_bytes: u64,
}

/// Something that was not copied while the rest was.
#[derive(Debug)]
pub struct CopyFailure {
    /// What it is in the source.
    pub source: PathBuf,
    /// What it would have become.
    pub target: PathBuf,
    /// Why not.
    pub error: CopyError,
}

/// What a copy has done so far; whole also when it ends in an error.
#[derive(Debug, Default)]
pub struct CopyLog {
    /// How data was moved.
    pub shape: Option<TransferShape>,
    /// How many of what.
    pub counts: CopyCounts,
    /// Sizes of the files copied.
    pub bytes: u64,
    /// Of them, in holes.
    pub hole_bytes: u64,
    /// Kept from an earlier try.
    pub kept_bytes: u64,
    /// Time spent on preallocation, nanoseconds.
    pub prepare_ns: u64,
    /// Time spent on the sync calls at the end of files, nanoseconds.
    pub sync_ns: u64,
    /// Time spent on reading back, nanoseconds.
    pub verify_ns: u64,
    /// Files found equal when they were read back.
    pub verified_files: u64,
    /// Files found different.
    pub mismatches: Vec<Mismatch>,
    /// The device that was written to.
    pub image: Option<DeviceImage>,
    /// What was not copied, and why. What ended the whole copy is not in it.
    pub failures: Vec<CopyFailure>,
    /// How many of them were known before anything was written.
    pub failed_at_start: usize,
    /// Files, links and nodes that were still to be copied when the copy ended.
    pub remaining: u64,
    /// Metadata that could not be kept.
    pub losses: Vec<(PathBuf, Loss)>,
    /// Sources that another process had open for writing while they were read.
    pub in_use: Vec<PathBuf>,
    /// Files, in the order in which they were finished.
    pub files: Vec<CopiedFile>,
}

/// What has been put into an unfinished destination.
#[derive(Default)]
pub(super) struct Filled {
    pub(super) hashes: FileHashes,
    pub(super) hole_bytes: u64,
    pub(super) kept_bytes: u64,
    pub(super) is_clone: bool,
}

impl CopyLog {
    /// Whether everything that was tried is at the destination.
    pub fn is_whole(&self) -> bool {
        self.mismatches.is_empty() && self.failures.is_empty()
    }

    /// A large file has its final name.
    pub(super) fn add_large_file(&mut self, target: &Path, bytes: u64, filled: Filled) {
        self.counts.files += 1;
        self.counts.reflinked_files += u64::from(filled.is_clone);
        self.counts.resumed_files += u64::from(filled.kept_bytes > 0);
        self.bytes += bytes;
        self.hole_bytes += filled.hole_bytes;
        self.kept_bytes += filled.kept_bytes;
        self.add_checked(target, bytes, filled.hashes);
    }

    /// Lists a file with its checksums.
    pub(super) fn add_checked(&mut self, target: &Path, bytes: u64, hashes: FileHashes) {
        let FileHashes { whole: digest, blocks } = hashes;
        let (path, block_bytes) = (target.to_owned(), BLOCK_BYTES);
        self.files.push(CopiedFile { path, bytes, digest, blocks, block_bytes });
    }

    /// Notes what a comparison of a copy with its source has found; whether they are equal.
    pub(super) fn note_compared(&mut self, found: Option<Mismatch>) -> bool {
        let is_equal = found.is_none();
        self.verified_files += u64::from(is_equal);
        self.mismatches.extend(found);
        is_equal
    }

    /// A batch of small files is through.
    pub(super) fn add_batch(&mut self, mut batch: CopyLog) {
        let files = batch.files.len() as u64;
        self.counts.files += files;
        self.counts.small_files += files;
        self.bytes += batch.files.iter().map(|file| file.bytes).sum::<u64>();
        self.verified_files += batch.verified_files;
        self.sync_ns += batch.sync_ns;
        self.losses.append(&mut batch.losses);
        self.mismatches.append(&mut batch.mismatches);
        self.failures.append(&mut batch.failures);
        self.in_use.append(&mut batch.in_use);
        self.files.append(&mut batch.files);
    }

    /// Notes what failed with one entry; an error where that ends the copy.
    pub(super) fn note(
        &mut self,
        options: &CopyOptions,
        (source, target): (&Path, &Path),
        done: Result<(), CopyError>,
    ) -> Result<(), CopyError> {
        let Err(error) = done else { return Ok(()) };
        if !options.goes_on_after(&error) {
            return Err(error);
        }
        self.failures.push(CopyFailure { source: source.to_owned(), target: target.to_owned(), error });
        Ok(())
    }

    /// How many files, links and nodes have come to an end, good or bad.
    pub(super) fn completed(&self) -> u64 {
        let counts = &self.counts;
        let made =
            counts.files + counts.symlinks + counts.hard_links + counts.specials + counts.already_there;
        made + (self.failures.len() + self.mismatches.len()) as u64
    }
}
