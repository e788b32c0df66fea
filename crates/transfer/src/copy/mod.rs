//! Copies files and trees.

pub(crate) mod beside;
mod changed_kind;
mod context;
mod endpoint;
mod entry;
mod error;
mod extra;
mod file;
mod found;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod image;
#[cfg(test)]
mod into_memory;
mod journal;
mod kept_time;
mod links;
mod log;
mod moved_source;
mod mover;
mod names;
mod opened;
mod options;
mod part;
mod places;
mod plan;
#[cfg(test)]
mod plan_tests;
pub(crate) mod read_back;
mod recheck;
mod replacing;
mod resume;
mod same_content;
mod selection;
mod sink;
mod small;
mod small_plan;
mod steady;
mod stream;
mod target;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod traps;
mod tree;
mod tree_mark;
mod unread;
mod up_to_date;
mod walk;

use std::path::{Path, PathBuf};
use std::sync::mpsc::SyncSender;

pub use beside::{is_part_name, journal_path, part_path};
pub use error::CopyError;
pub use log::{CopiedFile, CopyFailure, CopyLog, CopyRecord, Recorded};
pub use options::{CHECKPOINT_BYTES, CopyOptions, Equality, Resume, SMALL_FILE_BYTES, Specials, Symlinks};
pub use plan::CopyPlan;
pub use selection::{FileList, FileListError, Listed, NamePattern, NamePatternError, NameRule, Selection};

use crate::progress::Progress;

pub struct Copier<'a> {
    context: context::CopyContext<'a>,
    mover: mover::Mover<'a>,
    log: CopyLog,
}

impl<'a> Copier<'a> {
    pub fn new(options: &'a CopyOptions, progress: &'a Progress) -> Self {
        let context = context::CopyContext::new(options, progress);
        let mover = mover::Mover::new(options, progress, &context.clock);
        Self { context, mover, log: CopyLog::default() }
    }

    /// Passes on what happens to each file as soon as it has happened.
    pub fn record_to(&mut self, records: SyncSender<CopyRecord>) {
        self.log.records = Some(records);
    }

    pub fn log(&self) -> &CopyLog {
        &self.log
    }

    pub fn into_log(self) -> CopyLog {
        CopyLog { shape: self.mover.into_described(), records: None, ..self.log }
    }

    /// Copies files and trees: each source to `destination`, or into it if it is a directory.
    ///
    /// Files that cannot be copied are recorded in the log, and the rest is copied. An error means that the
    /// copy stopped.
    pub fn copy_all(&mut self, sources: &[PathBuf], destination: &Path) -> Result<(), CopyError> {
        let plan = self.plan(sources, destination)?;
        self.carry_out(plan)
    }

    /// Examines everything without writing. Known failures go to the log; an error makes the whole copy
    /// impossible.
    pub fn plan(&mut self, sources: &[PathBuf], destination: &Path) -> Result<CopyPlan, CopyError> {
        CopyPlan::make(&self.context, &mut self.log, sources, destination)
    }

    pub fn carry_out(&mut self, plan: CopyPlan) -> Result<(), CopyError> {
        let Self { context, mover, log } = self;
        tree::TreeCopier { files: file::FileCopier { context, mover, log } }.carry_out(plan)
    }
}
