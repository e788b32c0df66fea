//! Files and trees, from the list of names to the last directory.

use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use iostall_engine::files::{self, FileKind, FileStamp};
use iostall_engine::guard::check_new_file;
use iostall_model::transfer::{Reflink, VerifyMode};

use super::Copier;
use super::beside::part_path;
use super::durable::FileSystems;
use super::error::CopyError;
use super::image::ImagePlan;
use super::journal::remove_journal;
use super::log::CopyFailure;
use super::part::{Part, Replace, directory_of};
use super::small::{SmallFiles, batches};
use super::tree_mark;
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

/// What a copy will do. Nothing is written until it is carried out.
#[derive(Debug, Default)]
pub struct CopyPlan {
    inventory: Inventory,
    /// Directories that must be there for it.
    into: Vec<PathBuf>,
    /// Instead of all this: one file onto a device.
    image: Option<ImagePlan>,
}

/// Makes one. That of a whole source gets a mark, by which the same command finds it again.
fn make_directory(entry: &Entry, is_root: bool) -> Result<(), CopyError> {
    // Writable for us until it is full; its own mode comes at the end.
    match fs::DirBuilder::new().mode(0o700).create(&entry.target) {
        Ok(()) if is_root => tree_mark::set(&entry.target, &entry.source)
            .map_err(CopyError::system("put a mark into", &entry.target)),
        Ok(()) => Ok(()),
        // One that was there is looked at again: since the inventory a link may have taken its place.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            refuse_other_kind(&entry.source, &entry.target)
        }
        Err(error) => Err(CopyError::system("create", &entry.target)(error)),
    }
}

impl Copier<'_> {
    /// Copies files and trees: each source to `destination`, or into it where it is a directory.
    ///
    /// Everything is looked at before anything is written. Small files go first, in parallel; then large ones, one
    /// after the other at the speed of the devices; then links; the times of directories come last.
    ///
    /// What cannot be copied is noted in the log, and the rest is copied. An error is what ended the copy.
    pub fn copy_all(&mut self, sources: &[PathBuf], destination: &Path) -> Result<(), CopyError> {
        let plan = self.plan(sources, destination)?;
        self.carry_out(plan)
    }

    /// Looks at everything. What is known by then not to be copied is in the log; an error is what makes the whole copy
    /// impossible.
    pub fn plan(&mut self, sources: &[PathBuf], destination: &Path) -> Result<CopyPlan, CopyError> {
        let image = self.plan_image(sources, destination)?;
        if image.is_some() {
            return Ok(CopyPlan { image, ..CopyPlan::default() });
        }
        let pairs = pair_names(sources, destination)?;
        let mut into: Vec<PathBuf> =
            pairs.iter().map(|(_, target)| directory_of(target).to_owned()).collect();
        into.dedup();
        for directory in &into {
            self.destinations.check_directory(directory)?;
        }
        for (_, target) in pairs.iter().filter(|(_, target)| files::stamp_of_link(target).is_err()) {
            check_new_file(target)?;
        }
        let mut inventory = Inventory::take(&pairs, self.options, &self.destinations)?;
        self.check_room(&mut inventory)?;
        self.log.failures.append(&mut inventory.failures);
        self.log.failed_at_start = self.log.failures.len();
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
        Ok(CopyPlan { inventory, into, image: None })
    }

    /// Does what was planned.
    pub fn carry_out(&mut self, plan: CopyPlan) -> Result<(), CopyError> {
        if let Some(image) = plan.image {
            return self.write_image(&image);
        }
        let before = self.settled();
        let expected =
            plan.inventory.entries.iter().filter(|entry| entry.action != Action::Directory).count();
        let result = self.carry_out_in_order(plan);
        let failed = result.as_ref().is_err_and(|error| !error.is_cancelled());
        let settled = self.settled() - before + u64::from(failed);
        self.log.remaining = (expected as u64).saturating_sub(settled);
        result
    }

    /// How many files, links and nodes have come to an end, good or bad.
    fn settled(&self) -> u64 {
        let counts = &self.log.counts;
        let made =
            counts.files + counts.symlinks + counts.hard_links + counts.specials + counts.already_there;
        made + (self.log.failures.len() + self.log.mismatches.len()) as u64
    }

    fn carry_out_in_order(&mut self, plan: CopyPlan) -> Result<(), CopyError> {
        let CopyPlan { mut inventory, into, .. } = plan;
        if inventory.entries.is_empty() {
            return Ok(());
        }
        self.make_directories(&mut inventory)?;
        let directories = inventory.entries.iter().filter(|entry| entry.action == Action::Directory);
        let targets = directories.map(|entry| entry.target.as_path());
        let file_systems = FileSystems::of(targets.chain(into.iter().map(PathBuf::as_path)))?;
        let (small, large): (Vec<_>, Vec<_>) = inventory.files().partition(|entry| self.is_small(entry));
        self.copy_small(&small, &file_systems)?;
        for entry in large {
            if self.progress.is_cancelled() {
                // Files that share their blocks with the source never come to the pipeline, which would see it.
                let (from, to) = (entry.source.clone(), entry.target.clone());
                return Err(CopyError::Moving { from, to, cause: PipelineError::Cancelled, kept: false });
            }
            let copied = self.copy_file(&entry.source, &entry.target);
            self.noted(entry, copied)?;
        }
        self.confirm_already_there(&inventory)?;
        self.make_links(&inventory)?;
        self.finish_directories(&inventory, &file_systems)
    }

    /// Notes what failed with one entry; an error where that ends the copy.
    pub(super) fn noted(&mut self, entry: &Entry, done: Result<(), CopyError>) -> Result<(), CopyError> {
        let Err(error) = done else { return Ok(()) };
        if !self.options.goes_on_after(&error) {
            return Err(error);
        }
        self.log.failures.push(CopyFailure::of(entry, error));
        Ok(())
    }

    /// Whether a file goes by the path for small files. Holes, and sharing blocks where it is a must, need the other.
    fn is_small(&self, entry: &Entry) -> bool {
        let stamp = &entry.stamp;
        stamp.size_bytes < self.options.small_file_bytes
            && !has_holes(stamp)
            && self.options.reflink != Reflink::Always
    }

    /// Makes them. What is in one that cannot be made is left out of the copy.
    fn make_directories(&mut self, inventory: &mut Inventory) -> Result<(), CopyError> {
        let mut failed: Vec<PathBuf> = Vec::new();
        for entry in inventory.entries.iter().filter(|entry| entry.action == Action::Directory) {
            if failed.iter().any(|above| entry.target.starts_with(above)) {
                continue;
            }
            match make_directory(entry, inventory.roots.contains(&entry.target)) {
                Ok(()) => self.log.counts.directories += 1,
                Err(error) => {
                    self.noted(entry, Err(error))?;
                    failed.push(entry.target.clone());
                }
            }
        }
        inventory.entries.retain(|entry| !failed.iter().any(|above| entry.target.starts_with(above)));
        Ok(())
    }

    fn copy_small(&mut self, small: &[&Entry], file_systems: &FileSystems) -> Result<(), CopyError> {
        let workers = SmallFiles {
            options: self.options,
            progress: self.progress,
            clock: &self.clock,
            replace: if self.options.overwrite {
                Replace::Older(&self.named, &self.destinations)
            } else {
                Replace::Never
            },
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
            all.failures.append(&mut log.failures);
            all.in_use.append(&mut log.in_use);
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
        for entry in directories.collect::<Vec<_>>().into_iter().rev() {
            let finished = self.finish_directory(entry, inventory, file_systems);
            self.noted(entry, finished)?;
        }
        if inventory.entries.iter().all(|entry| entry.action == Action::File && !self.is_small(entry)) {
            // Each large file was made durable, and its directory with it, when it was named.
            return Ok(());
        }
        for entry in inventory.already_there() {
            let forgotten = forget_unfinished(&entry.target);
            self.noted(entry, forgotten)?;
        }
        file_systems.sync()
    }

    fn finish_directory(
        &mut self,
        Entry { source, target, stamp, .. }: &Entry,
        inventory: &Inventory,
        file_systems: &FileSystems,
    ) -> Result<(), CopyError> {
        if inventory.roots.contains(target) {
            self.finish_tree(source, target, file_systems)?;
        }
        let open = |path: &Path| fs::File::open(path).map_err(CopyError::system("open", path));
        let losses = files::copy_metadata(&open(source)?, stamp, &open(target)?);
        self.log.losses.extend(losses.into_iter().map(|loss| (target.clone(), loss)));
        Ok(())
    }

    /// Takes the mark of an unfinished tree away when everything in it is durable. One that is not whole keeps it: the same
    /// command then goes on with it.
    fn finish_tree(&self, source: &Path, tree: &Path, file_systems: &FileSystems) -> Result<(), CopyError> {
        if !self.log.is_whole() || !tree_mark::is_of(tree, source) {
            return Ok(());
        }
        file_systems.sync()?;
        tree_mark::remove(tree).map_err(CopyError::system("take the mark out of", tree))
    }
}
