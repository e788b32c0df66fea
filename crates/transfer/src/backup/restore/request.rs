//! What a restore needs, and what it gives back.

use std::fmt;
use std::path::{Path, PathBuf};

use iostall_engine::guard::WriteConsent;

use super::error::RestoreError;
use super::roots::Elsewhere;
use super::tree::FileLoss;
use crate::backup::read::{ReadChoice, StripeRead};
use crate::pipeline::StageFailure;
use crate::rate::RateLimit;

/// What is done with the directory of a restore before it gets its name.
#[derive(Clone, Copy)]
pub struct BeforeNamed<'a>(pub &'a (dyn Fn(&Path) -> Result<(), StageFailure> + Sync));

impl fmt::Debug for BeforeNamed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BeforeNamed")
    }
}

#[derive(Debug, Default)]
pub struct RestoreOptions<'a> {
    /// Names in the set; all of it if there is none. A single one is restored without the directories above it.
    pub only: &'a [PathBuf],
    pub consent: WriteConsent,
    pub rate: Option<&'a RateLimit>,
    pub choice: ReadChoice,
    /// Directories of the set that are not restored below the destination; not together with `only`.
    pub elsewhere: &'a [Elsewhere],
    /// Called when all files are there. If it fails, nothing is restored.
    pub before_named: Option<BeforeNamed<'a>>,
}

#[derive(Debug, Default)]
pub struct Restored {
    /// The destination, or the file in it.
    pub to: PathBuf,
    /// Regular files.
    pub files: u64,
    /// Their content, without holes.
    pub bytes: u64,
    pub stripes: Vec<StripeRead>,
    pub reads_max: u32,
    pub workers: u32,
    pub transfer_bytes: u32,
    pub sync_ns: u64,
    /// Visibility maps of PostgreSQL that are empty, because an increment of the server does not say what is in them.
    pub empty_maps: u64,
    pub losses: Vec<FileLoss>,
}

#[derive(Debug)]
pub struct NotRestored {
    pub error: RestoreError,
    pub left: Option<PathBuf>,
}

impl<E: Into<RestoreError>> From<E> for NotRestored {
    fn from(error: E) -> Self {
        Self { error: error.into(), left: None }
    }
}
