//! Options of a copy.

use std::path::PathBuf;
use std::sync::Arc;

use iostall_engine::guard::WriteConsent;
use iostall_measure::Caching;
use iostall_model::transfer::{CopySettings, HashKind, Reflink, VerifyMode};

use super::error::CopyError;
use super::selection::Selection;
use crate::rate::RateLimit;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Symlinks {
    #[default]
    Keep,
    Follow,
    Skip,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Specials {
    #[default]
    Skip,
    Keep,
    Refuse,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Resume {
    /// Resumes an unfinished copy of this source, and a tree that this same copy started.
    #[default]
    Matching,
    /// As above; also leaves complete files alone, and if the source has changed, keeps what its unfinished
    /// copy still has in common with it.
    Always,
    Never,
}

/// What makes a file at the destination equal, so that it is not copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Equality {
    SizeAndTime,
    /// Size and every byte; both files are read.
    Content,
}

pub const SMALL_FILE_BYTES: u64 = 1 << 20;
pub const CHECKPOINT_BYTES: u64 = 512 << 20;

/// Options of a copy. Start from the default and change what matters.
#[derive(Clone, Debug)]
pub struct CopyOptions {
    pub verify: VerifyMode,
    pub hash: HashKind,
    pub reflink: Reflink,
    pub overwrite: bool,
    pub consent: WriteConsent,
    pub resume: Resume,
    pub selection: Selection,
    pub equality: Option<Equality>,
    /// Newer files at the destination stay, whatever else may be replaced.
    pub update: bool,
    /// The single source directory is copied to the destination itself and not into it.
    pub mirror: bool,
    /// Once everything is copied, removes what the destination has and the source has not. Names the
    /// destination, as consent.
    pub delete: Option<PathBuf>,
    /// Once everything is copied and verified, removes the sources.
    pub remove_sources: bool,
    /// Nothing may be created, not even to find something out.
    pub dry_run: bool,
    pub retries: u32,
    pub retry_wait_ns: u64,
    pub fail_fast: bool,
    pub rate: Option<Arc<RateLimit>>,
    /// Maximum rate of reading back, which takes nothing from the rate of copying.
    pub read_back_rate: Option<Arc<RateLimit>>,
    /// Direct I/O on the source if possible, or through the page cache.
    pub source_caching: Caching,
    /// The same for the destination.
    pub target_caching: Caching,
    /// Bytes per request; chosen from the devices if `None`.
    pub transfer_bytes: Option<u32>,
    /// Requests in flight on each side; chosen from the devices if `None`.
    pub depth: Option<u32>,
    /// Measure sizes and depth on the first large file instead of choosing by rule.
    pub tune: bool,
    pub small_file_bytes: u64,
    /// Bytes written between two journal entries; 0 disables the journal, and such a copy cannot be resumed.
    /// Files below twice this have no journal either: copying them again is faster than checking them.
    pub checkpoint_bytes: u64,
    pub symlinks: Symlinks,
    pub specials: Specials,
    pub one_file_system: bool,
    pub workers: u32,
    /// How many large files are copied at once, each with its own buffers.
    pub large_files_at_once: u32,
}

impl Default for CopyOptions {
    fn default() -> Self {
        let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Self {
            verify: VerifyMode::None,
            hash: HashKind::default(),
            reflink: Reflink::Auto,
            overwrite: false,
            consent: WriteConsent::none(),
            resume: Resume::default(),
            selection: Selection::default(),
            equality: None,
            update: false,
            mirror: false,
            delete: None,
            remove_sources: false,
            dry_run: false,
            retries: 0,
            retry_wait_ns: 0,
            fail_fast: false,
            rate: None,
            read_back_rate: None,
            source_caching: Caching::Direct,
            target_caching: Caching::Direct,
            transfer_bytes: None,
            depth: None,
            tune: false,
            small_file_bytes: SMALL_FILE_BYTES,
            checkpoint_bytes: CHECKPOINT_BYTES,
            symlinks: Symlinks::Keep,
            specials: Specials::Skip,
            one_file_system: false,
            // Small files wait for the file system, not for the CPU, so more threads than CPUs help.
            workers: u32::try_from(processors * 2).unwrap_or(8).clamp(2, 32),
            // One fills most devices.
            large_files_at_once: 1,
        }
    }
}

impl CopyOptions {
    /// Keeps the limit of a transfer that gives way, if there is one; reading back has its part in it, because it loads the
    /// storage as well.
    #[must_use]
    pub fn giving_way(self, rate: Option<Arc<RateLimit>>) -> Self {
        match rate {
            Some(rate) => Self { read_back_rate: Some(Arc::clone(&rate)), rate: Some(rate), ..self },
            None => self,
        }
    }

    pub(super) fn continues_after(&self, error: &CopyError) -> bool {
        !self.fail_fast && !error.ends_the_copy()
    }

    /// The options in their stored form; the caller passes the rate, which it knows as a number.
    pub fn settings(&self, limit_bytes_per_second: Option<u64>) -> CopySettings {
        CopySettings {
            verify: self.verify,
            hash: self.hash,
            reflink: self.reflink,
            limit_bytes_per_second,
            overwrite: self.overwrite,
            resume: self.resume == Resume::Always,
            skips_equal: self.equality.is_some(),
        }
    }
}
