//! Files and trees, from the list of names to the last directory.

use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use iostall_engine::files::{self, FileKind, FileStamp};
use iostall_model::transfer::{Reflink, VerifyMode};

use super::Copier;
use super::durable::FileSystems;
use super::error::CopyError;
use super::journal::remove_journal;
use super::part::{Part, Replace, directory_of, part_path};
use super::small::{SmallFiles, batches};
use super::walk::{Action, Entry, Inventory, pair_names, refuse_other_kind};
use crate::pipeline::PipelineError;

/// Whether a file may have holes: it lacks at least a block. One of no more than a block has none, or is kept in its
/// inode.
fn has_holes(stamp: &FileStamp) -> bool {
    stamp.size_bytes > 4096 && stamp.allocated_bytes + 4096 <= stamp.size_bytes
}

/// Removes what an earlier try left beside a file that is whole by now: it may have died between naming the file and
/// removing its journal.
fn forget_unfinished(target: &Path) -> Result<(), CopyError> {
    if part_path(target).exists() {
        // To be dropped at once, and the file with it; not while another process has it.
        Part::acquire(target, files::effective_user())?;
    }
    remove_journal(target).map_err(CopyError::system("remove the journal of", target))
}

impl Copier<'_> {
    /// Copies files and trees: each source to `destination`, or into it where it is a directory.
    ///
    /// Everything is looked at before anything is written. Small files go first, in parallel; then large ones, one
    /// after the other at the speed of the devices; then links; the times of directories come last.
    pub fn copy_all(&mut self, sources: &[PathBuf], destination: &Path) -> Result<(), CopyError> {
        let pairs = pair_names(sources, destination)?;
        let inventory = Inventory::take(&pairs, self.options)?;
        self.log.counts.skipped_specials += inventory.skipped_specials;
        let passes = if self.options.verify == VerifyMode::ReadBack { 2 } else { 1 };
        for entry in inventory.files() {
            // A small file is read back within its batch and not counted twice.
            let passes = if self.is_small(entry) { 1 } else { passes };
            self.progress.add_total(1, entry.stamp.size_bytes * passes);
        }
        if self.options.verify != VerifyMode::None {
            for entry in inventory.already_there().filter(|entry| entry.stamp.kind == FileKind::Regular) {
                self.progress.add_total(1, entry.stamp.size_bytes * passes);
            }
        }
        self.make_directories(&inventory)?;
        let directories = inventory.entries.iter().filter(|entry| entry.action == Action::Directory);
        let file_systems = FileSystems::of(
            directories
                .map(|entry| entry.target.as_path())
                .chain(pairs.iter().map(|(_, target)| directory_of(target))),
        )?;
        let (small, large): (Vec<_>, Vec<_>) = inventory.files().partition(|entry| self.is_small(entry));
        self.copy_small(&small, &file_systems)?;
        for Entry { source, target, .. } in large {
            if self.progress.is_cancelled() {
                // Files that share their blocks with the source never come to the pipeline, which would see it.
                let (from, to) = (source.clone(), target.clone());
                return Err(CopyError::Moving { from, to, cause: PipelineError::Cancelled, kept: false });
            }
            self.copy_file(source, target)?;
        }
        self.confirm_already_there(&inventory)?;
        self.make_links(&inventory)?;
        self.finish_directories(&inventory, &file_systems)
    }

    /// Whether a file goes by the path for small files. Holes, and sharing blocks where it is a must, need the other.
    fn is_small(&self, entry: &Entry) -> bool {
        let stamp = &entry.stamp;
        stamp.size_bytes < self.options.small_file_bytes
            && !has_holes(stamp)
            && self.options.reflink != Reflink::Always
    }

    fn make_directories(&mut self, inventory: &Inventory) -> Result<(), CopyError> {
        for entry in inventory.entries.iter().filter(|entry| entry.action == Action::Directory) {
            // Writable for us until it is full; its own mode comes at the end.
            match fs::DirBuilder::new().mode(0o700).create(&entry.target) {
                Ok(()) => {}
                // One that was there is looked at again: since the inventory a link may have taken its place.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    refuse_other_kind(&entry.source, &entry.target)?;
                }
                Err(error) => return Err(CopyError::system("create", &entry.target)(error)),
            }
            self.log.counts.directories += 1;
        }
        Ok(())
    }

    fn copy_small(&mut self, small: &[&Entry], file_systems: &FileSystems) -> Result<(), CopyError> {
        let workers = SmallFiles {
            options: self.options,
            progress: self.progress,
            clock: &self.clock,
            replace: if self.options.overwrite { Replace::Older(&self.named) } else { Replace::Never },
            file_systems,
        };
        let all = &mut self.log;
        workers.copy_batches(&batches(small), |mut log| {
            let files = log.files.len() as u64;
            all.counts.files += files;
            all.counts.small_files += files;
            all.bytes += log.files.iter().map(|file| file.bytes).sum::<u64>();
            all.verified_files += log.verified_files;
            all.sync_ns += log.sync_ns;
            all.losses.append(&mut log.losses);
            all.mismatches.append(&mut log.mismatches);
            all.files.append(&mut log.files);
        })
    }

    /// Modes, owners and times of directories, the innermost first; then everything is made durable.
    fn finish_directories(
        &mut self,
        inventory: &Inventory,
        file_systems: &FileSystems,
    ) -> Result<(), CopyError> {
        let directories = inventory.entries.iter().filter(|entry| entry.action == Action::Directory);
        for Entry { source, target, stamp, .. } in directories.collect::<Vec<_>>().into_iter().rev() {
            let open = |path: &Path| fs::File::open(path).map_err(CopyError::system("open", path));
            let losses = files::copy_metadata(&open(source)?, stamp, &open(target)?);
            self.log.losses.extend(losses.into_iter().map(|loss| (target.clone(), loss)));
        }
        if inventory.entries.iter().all(|entry| entry.action == Action::File && !self.is_small(entry)) {
            // Each large file was made durable, and its directory with it, when it was named.
            return Ok(());
        }
        for entry in inventory.already_there() {
            forget_unfinished(&entry.target)?;
        }
        file_systems.sync()
    }
}
