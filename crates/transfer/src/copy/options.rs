//! What a copy is asked to do.

use std::sync::Arc;

use iostall_engine::guard::WriteConsent;
use iostall_measure::Caching;
use iostall_model::transfer::{CopySettings, HashKind, Reflink, VerifyMode};

use super::error::CopyError;
use crate::rate::RateLimit;

/// What becomes of symbolic links.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Symlinks {
    /// A link stays a link.
    #[default]
    Keep,
    /// What it leads to is copied.
    Follow,
    /// Left out.
    Skip,
}

/// What becomes of devices, pipes and sockets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Specials {
    /// Left out, and counted.
    #[default]
    Skip,
    /// Made again at the destination.
    Keep,
    /// An error.
    Refuse,
}

/// What becomes of what an earlier try has left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Resume {
    /// An unfinished copy of this source is continued, and a tree that this very copy has begun.
    #[default]
    Matching,
    /// Likewise; and every file that is whole is left as it is, and what a source that changed still has in common with its
    /// unfinished copy is kept.
    Always,
    /// Everything is copied.
    Never,
}

/// Files below this go by the path for small files, bytes.
pub const SMALL_FILE_BYTES: u64 = 1 << 20;
/// How much is written between two entries of the journal, bytes.
pub const CHECKPOINT_BYTES: u64 = 512 << 20;

/// What a copy is asked to do. Start from the default and change what matters.
#[derive(Clone, Debug)]
pub struct CopyOptions {
    /// When it is checked.
    pub verify: VerifyMode,
    /// With which checksum.
    pub hash: HashKind,
    /// Block sharing.
    pub reflink: Reflink,
    /// Existing files may be replaced.
    pub overwrite: bool,
    /// What of databases and devices may be destroyed.
    pub consent: WriteConsent,
    /// What an earlier try has left.
    pub resume: Resume,
    /// The first thing that cannot be copied ends the copy.
    pub fail_fast: bool,
    /// How fast.
    pub rate: Option<Arc<RateLimit>>,
    /// Past the page cache of the source where that can be had, or through it.
    pub source_caching: Caching,
    /// The same for the destination.
    pub target_caching: Caching,
    /// Bytes a request; chosen from the devices where `None`.
    pub transfer_bytes: Option<u32>,
    /// Requests in flight on each side; chosen from the devices where `None`.
    pub depth: Option<u32>,
    /// Sizes and depth are measured on the first large file instead of chosen by rule.
    pub tune: bool,
    /// Files below this go by the path for small files, bytes.
    pub small_file_bytes: u64,
    /// How much is written between two entries of the journal, bytes; 0 keeps none, and such a copy cannot be resumed.
    /// Files below twice this have none either: they are copied again sooner than checked.
    pub checkpoint_bytes: u64,
    /// Symbolic links.
    pub symlinks: Symlinks,
    /// Devices, pipes and sockets.
    pub specials: Specials,
    /// Mounts below the sources are left out.
    pub one_file_system: bool,
    /// Workers for small files.
    pub workers: u32,
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
            fail_fast: false,
            rate: None,
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
            // Small files wait for the file system, not for the processor: more workers than processors pay.
            workers: u32::try_from(processors * 2).unwrap_or(8).clamp(2, 32),
        }
    }
}

impl CopyOptions {
    /// Whether the rest is copied after `error` has kept one file from it.
    pub(super) fn goes_on_after(&self, error: &CopyError) -> bool {
        !self.fail_fast && !error.ends_the_copy()
    }

    /// As they are stored; the rate is the caller's, who knows it as a number.
    pub fn settings(&self, limit_bytes_per_second: Option<u64>) -> CopySettings {
        CopySettings {
            verify: self.verify,
            hash: self.hash,
            reflink: self.reflink,
            limit_bytes_per_second,
            overwrite: self.overwrite,
            resume: self.resume == Resume::Always,
        }
    }
}
