//! What a copy has done so far.

use std::path::PathBuf;

use iostall_engine::files::Loss;
use iostall_model::transfer::{CopyCounts, DeviceImage, Mismatch, TransferShape};

use super::error::CopyError;
use crate::hash::Digest;

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

impl CopyLog {
    /// Whether everything that was tried is at the destination.
    pub fn is_whole(&self) -> bool {
        self.mismatches.is_empty() && self.failures.is_empty()
    }
}
