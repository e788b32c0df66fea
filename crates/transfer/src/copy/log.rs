//! The log of a copy.

use std::path::{Path, PathBuf};
use std::sync::mpsc::SyncSender;

use iostall_engine::files::Loss;
use iostall_model::transfer::{CopyCounts, DeviceImage, Mismatch, TransferShape};

use super::error::CopyError;
use super::options::CopyOptions;
use super::read_back::BLOCK_BYTES;
use crate::hash::Digest;
use crate::pipeline::FileHashes;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopiedFile {
    pub path: PathBuf,
    pub bytes: u64,
    pub digest: Digest,
    /// XXH3 of each block of [`Self::block_bytes`], if it was read back.
    pub blocks: Vec<u64>,
    pub block_bytes: u64,
}

#[derive(Debug)]
pub struct CopyFailure {
    pub source: PathBuf,
    pub target: PathBuf,
    pub error: CopyError,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopyRecord {
    pub what: Recorded,
    pub path: PathBuf,
    pub bytes: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Recorded {
    Copied,
    /// A symbolic link, another name of a file, or a special file was created.
    Created,
    UpToDate,
    NewerThere,
    Retried(String),
    Failed(String),
    Different,
    Deleted,
    SourceRemoved,
}

/// The results of a copy so far; valid also if it ends with an error.
#[derive(Debug, Default)]
pub struct CopyLog {
    pub shape: Option<TransferShape>,
    pub counts: CopyCounts,
    pub bytes: u64,
    /// Of these, bytes in holes.
    pub hole_bytes: u64,
    pub kept_bytes: u64,
    /// Durable in unfinished files that were kept.
    pub unfinished_bytes: u64,
    pub prepare_ns: u64,
    pub sync_ns: u64,
    pub verify_ns: u64,
    pub verified_files: u64,
    pub mismatches: Vec<Mismatch>,
    pub image: Option<DeviceImage>,
    /// What was not copied, and why. Does not include the error that ended the copy.
    pub failures: Vec<CopyFailure>,
    /// How many failures were known before anything was written.
    pub failed_at_start: usize,
    /// Files, links and special files left when the copy ended.
    pub remaining: u64,
    pub losses: Vec<(PathBuf, Loss)>,
    /// Sources that another process had open for writing while they were read.
    pub in_use: Vec<PathBuf>,
    pub first_file: Option<PathBuf>,
    pub files: Vec<CopiedFile>,
    pub(super) records: Option<SyncSender<CopyRecord>>,
}

#[derive(Default)]
pub(super) struct Filled {
    pub(super) hashes: FileHashes,
    pub(super) hole_bytes: u64,
    pub(super) kept_bytes: u64,
    pub(super) is_clone: bool,
}

impl CopyLog {
    pub fn is_whole(&self) -> bool {
        self.mismatches.is_empty() && self.failures.is_empty()
    }

    pub(super) fn record(&self, what: Recorded, path: &Path, bytes: u64) {
        if let Some(records) = &self.records {
            // A reader that has ended has reported why.
            let _ = records.send(CopyRecord { what, path: path.to_owned(), bytes });
        }
    }

    pub(super) fn add_large_file(&mut self, target: &Path, bytes: u64, filled: Filled) {
        self.counts.files += 1;
        self.counts.reflinked_files += u64::from(filled.is_clone);
        self.counts.resumed_files += u64::from(filled.kept_bytes > 0);
        self.bytes += bytes;
        self.record(Recorded::Copied, target, bytes);
        self.hole_bytes += filled.hole_bytes;
        self.kept_bytes += filled.kept_bytes;
        self.add_checked(target, bytes, filled.hashes);
    }

    pub(super) fn add_checked(&mut self, target: &Path, bytes: u64, hashes: FileHashes) {
        self.first_file.get_or_insert_with(|| target.to_owned());
        let FileHashes { whole, blocks } = hashes;
        self.files.extend(whole.map(|digest| {
            let (path, block_bytes) = (target.to_owned(), BLOCK_BYTES);
            CopiedFile { path, bytes, digest, blocks, block_bytes }
        }));
    }

    /// Records the result of comparing a copy with its source; returns whether they are equal.
    pub(super) fn note_compared(&mut self, found: Option<Mismatch>) -> bool {
        let is_equal = found.is_none();
        if let Some(mismatch) = &found {
            self.record(Recorded::Different, Path::new(&mismatch.path), 0);
        }
        self.verified_files += u64::from(is_equal);
        self.mismatches.extend(found);
        is_equal
    }

    pub(super) fn add_small_file(&mut self, target: &Path, bytes: u64, digest: Option<&Digest>) {
        self.counts.files += 1;
        self.counts.small_files += 1;
        self.bytes += bytes;
        self.record(Recorded::Copied, target, bytes);
        self.first_file.get_or_insert_with(|| target.to_owned());
        self.files.extend(digest.map(|digest| {
            let (path, digest) = (target.to_owned(), digest.clone());
            CopiedFile { path, bytes, digest, blocks: Vec::new(), block_bytes: 0 }
        }));
    }

    pub(super) fn add_batch(&mut self, batch: CopyLog) {
        for failure in &batch.failures {
            self.record(Recorded::Failed(failure.error.to_string()), &failure.source, 0);
        }
        for mismatch in &batch.mismatches {
            self.record(Recorded::Different, Path::new(&mismatch.path), 0);
        }
        self.merge(batch);
    }

    pub(super) fn merge(&mut self, mut other: CopyLog) {
        let (all, counts) = (&mut self.counts, other.counts);
        all.files += counts.files;
        all.small_files += counts.small_files;
        all.reflinked_files += counts.reflinked_files;
        all.resumed_files += counts.resumed_files;
        self.bytes += other.bytes;
        self.hole_bytes += other.hole_bytes;
        self.kept_bytes += other.kept_bytes;
        self.unfinished_bytes += other.unfinished_bytes;
        self.prepare_ns += other.prepare_ns;
        self.sync_ns += other.sync_ns;
        self.verify_ns += other.verify_ns;
        self.verified_files += other.verified_files;
        self.first_file = self.first_file.take().or(other.first_file);
        self.mismatches.append(&mut other.mismatches);
        self.failures.append(&mut other.failures);
        self.losses.append(&mut other.losses);
        self.in_use.append(&mut other.in_use);
        self.files.append(&mut other.files);
    }

    /// Records a failure of one entry; returns an error if it ends the copy.
    pub(super) fn note(
        &mut self,
        options: &CopyOptions,
        paths: impl FnOnce() -> (PathBuf, PathBuf),
        done: Result<(), CopyError>,
    ) -> Result<(), CopyError> {
        let Err(error) = done else { return Ok(()) };
        if !options.continues_after(&error) {
            return Err(error);
        }
        let (source, target) = paths();
        self.record(Recorded::Failed(error.to_string()), &source, 0);
        self.failures.push(CopyFailure { source, target, error });
        Ok(())
    }

    /// Files, links and special files that have succeeded or failed.
    pub(super) fn completed(&self) -> u64 {
        let counts = &self.counts;
        let made = counts.files
            + counts.symlinks
            + counts.hard_links
            + counts.specials
            + counts.already_there
            + counts.newer_there;
        made + (self.failures.len() + self.mismatches.len()) as u64
    }
}
