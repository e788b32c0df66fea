//! Carries out the plan of a copy: several large files at once, failed ones again, and finished ones counted.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::{fs, io};

use iostall_engine::files::{self, FileKind};
use iostall_model::transfer::TransferShape;

use super::beside::part_path;
use super::changed_kind::refuse_made_by_others;
use super::context::CopyContext;
use super::entry::{Action, Entry, Location};
use super::error::CopyError;
use super::file::FileCopier;
use super::journal::remove_journal;
use super::links::LinkMaker;
use super::log::{CopyFailure, CopyLog, Recorded};
use super::moved_source::remove_sources;
use super::mover::Mover;
use super::opened::Opened;
use super::part::Part;
use super::places::FileSystems;
use super::plan::CopyPlan;
use super::replacing::replace_all;
use super::small::{SmallFiles, batches};
use super::small_plan::SmallPlan;
use super::target::refuse_other_kind;
use super::tree_mark;
use super::up_to_date::confirm_up_to_date;
use super::walk::Inventory;

/// Copies files and trees. Small files first, in parallel; then large ones, usually one after another at full
/// device speed; then links; then what a mirror deletes; directory times; and last what a move removes.
pub(super) struct TreeCopier<'c, 'a> {
    pub(super) files: FileCopier<'c, 'a>,
}

impl TreeCopier<'_, '_> {
    pub(super) fn carry_out(&mut self, plan: CopyPlan) -> Result<(), CopyError> {
        if let Some(image) = plan.image {
            return image.write(&mut self.files);
        }
        if let Some(stream) = plan.stream {
            return stream.write(&mut self.files);
        }
        let before = self.files.log.completed();
        let opened = Opened::open(&plan);
        let entries = plan.inventory.entries.len() - plan.inventory.directories().count();
        let expected = entries as u64 + plan.inventory.small.files;
        let result = self.in_order(plan);
        opened.close(result.is_ok());
        let failed = result.as_ref().is_err_and(|error| !error.is_cancelled());
        let completed = self.files.log.completed() - before + u64::from(failed);
        self.files.log.remaining = expected.saturating_sub(completed);
        result
    }

    fn in_order(&mut self, plan: CopyPlan) -> Result<(), CopyError> {
        let CopyPlan { mut inventory, into, extras, .. } = plan;
        if inventory.entries.is_empty() {
            return Ok(());
        }
        self.make_directories(&mut inventory)?;
        let file_systems = FileSystems::of(inventory.directories().map(Entry::target).chain(into))?;
        self.copy_and_retry(&inventory, &file_systems)?;
        confirm_up_to_date(&mut self.files, &inventory)?;
        let mut links = LinkMaker::new(&mut self.files, &inventory);
        for entry in &inventory.entries {
            links.make_or_note(entry)?;
        }
        let has_more = !extras.all.is_empty() || !inventory.changed_kinds.is_empty();
        if has_more && self.files.log.is_whole() {
            file_systems.sync()?;
            extras.remove(self.files.context, self.files.log)?;
        }
        if has_more && self.files.log.is_whole() {
            replace_all(self.files.context, self.files.log, &mut inventory)?;
        }
        self.finish_directories(&inventory, &file_systems)?;
        if self.files.context.options.remove_sources && self.files.log.is_whole() {
            if let Some((target, loss)) = self.files.log.losses.first() {
                let (path, what) = (target.clone(), loss.what.clone());
                let error = CopyError::MetadataLost { path, what };
                let paths = || (inventory.entries[0].source(), inventory.entries[0].target());
                return self.files.log.note(self.files.context.options, paths, Err(error));
            }
            self.finish_move(&inventory)?;
        }
        Ok(())
    }

    /// Removes the sources, and then the marks: until the last source is gone, the same command must find the
    /// same destination again.
    fn finish_move(&mut self, inventory: &Inventory) -> Result<(), CopyError> {
        let roots = inventory.directories().filter(|entry| inventory.roots.contains(&entry.target()));
        let marked: Vec<&Entry> =
            roots.filter(|entry| tree_mark::is_of(&entry.target(), &entry.source())).collect();
        remove_sources(self.files.context, inventory, self.files.log)?;
        for entry in marked.into_iter().filter(|_| self.files.log.is_whole()) {
            let tree = &entry.target();
            tree_mark::remove(tree).map_err(CopyError::system("take the mark out of", tree))?;
            // Without its mark the directory is as it was in the source. A failure to set times was recorded
            // the first time.
            let _ = fs::File::open(tree).and_then(|open| files::set_times(&open, &entry.stat()));
        }
        Ok(())
    }

    /// Copies the files, and those that failed for a reason that may pass once more, as often as wanted.
    fn copy_and_retry(&mut self, inventory: &Inventory, file_systems: &FileSystems) -> Result<(), CopyError> {
        let options = self.files.context.options;
        let failed_before = self.files.log.failures.len();
        self.copy_files(inventory.files(), &inventory.small, file_systems)?;
        for _ in 0..options.retries {
            let failed = take_failed(self.files.log, failed_before);
            let Some(first) = failed.first() else { return Ok(()) };
            if !self.files.context.pause(options.retry_wait_ns) {
                return Err(CopyError::cancelled(&first.source, &first.target, false));
            }
            let mut again = Vec::with_capacity(failed.len());
            for failure in failed {
                let now = as_it_is_now(&failure).map(|entry| again.push(entry));
                self.files.log.note(options, || (failure.source, failure.target), now)?;
            }
            self.copy_files(again.iter(), &SmallPlan::default(), file_systems)?;
        }
        Ok(())
    }

    fn copy_files<'e>(
        &mut self,
        entries: impl Iterator<Item = &'e Entry>,
        by_name: &SmallPlan,
        file_systems: &FileSystems,
    ) -> Result<(), CopyError> {
        let context = self.files.context;
        let (small, large): (Vec<&Entry>, Vec<&Entry>) =
            entries.partition(|entry| entry.is_small(context.options));
        let mut by_name = by_name.entries(context.options);
        let log = &mut *self.files.log;
        let workers = SmallFiles { context, file_systems, records: log.records.clone() };
        let small = small.into_iter().cloned().chain(&mut by_name);
        let copied = workers.copy_batches(batches(small), |batch| log.add_batch(batch));
        let (grown, failures) = by_name.into_rest();
        for failure in failures {
            let CopyFailure { source, target, error } = failure;
            log.note(context.options, || (source, target), Err(error))?;
        }
        copied?;
        let large: Vec<&Entry> = large.into_iter().chain(&grown).collect();
        let copiers = context.options.large_files_at_once as usize;
        if copiers > 1 && large.len() > 1 {
            return copy_large(context, (&mut *self.files.mover, &mut *self.files.log), &large, copiers);
        }
        large.iter().try_for_each(|entry| self.files.copy_or_note(entry))
    }

    fn note(&mut self, entry: &Entry, done: Result<(), CopyError>) -> Result<(), CopyError> {
        self.files.log.note(self.files.context.options, || entry.paths(), done)
    }

    /// Creates the directories. If one fails, its content is left out of the copy.
    fn make_directories(&mut self, inventory: &mut Inventory) -> Result<(), CopyError> {
        let mut failed: Vec<PathBuf> = Vec::new();
        for entry in inventory.directories() {
            if failed.iter().any(|above| entry.target().starts_with(above)) {
                continue;
            }
            let is_changed = inventory.changed_kinds.target_of(&entry.target()).is_some();
            match make_directory(entry, is_changed, inventory.roots.contains(&entry.target())) {
                Ok(()) => self.files.log.counts.directories += 1,
                Err(error) => {
                    self.note(entry, Err(error))?;
                    failed.push(entry.target());
                }
            }
        }
        if !failed.is_empty() {
            let is_left_out = |target: &Path| failed.iter().any(|above| target.starts_with(above));
            inventory.entries.retain(|entry| !is_left_out(&entry.target()));
            inventory.small.leave_out(is_left_out);
        }
        Ok(())
    }

    /// Sets modes, owners and times of directories, innermost first; then makes everything durable.
    fn finish_directories(
        &mut self,
        inventory: &Inventory,
        file_systems: &FileSystems,
    ) -> Result<(), CopyError> {
        for entry in inventory.directories().rev() {
            let finished = self.finish_directory(entry, inventory, file_systems);
            self.note(entry, finished)?;
        }
        let options = self.files.context.options;
        let is_large = |entry: &Entry| entry.action == Action::File && !entry.is_small(options);
        if inventory.small.is_empty() && inventory.entries.iter().all(is_large) {
            // Each large file and its directory were synced when it was renamed.
            return Ok(());
        }
        for entry in inventory.up_to_date() {
            let forgotten = forget_unfinished(&entry.target());
            self.note(entry, forgotten)?;
        }
        file_systems.sync()
    }

    fn finish_directory(
        &mut self,
        entry: &Entry,
        inventory: &Inventory,
        file_systems: &FileSystems,
    ) -> Result<(), CopyError> {
        let (source, target, stat) = (&entry.source(), &entry.target(), &entry.stat());
        if inventory.roots.contains(target) {
            self.finish_tree(source, target, file_systems)?;
        }
        let open = |path: &Path| fs::File::open(path).map_err(CopyError::system("open", path));
        let losses = files::copy_metadata(&open(source)?, stat, &open(target)?);
        self.files.log.losses.extend(losses.into_iter().map(|loss| (target.clone(), loss)));
        Ok(())
    }

    /// Removes the mark of an unfinished tree once everything in it is durable. An incomplete tree keeps it,
    /// so that the same command can resume; so does one whose sources are still to be removed.
    fn finish_tree(&self, source: &Path, tree: &Path, file_systems: &FileSystems) -> Result<(), CopyError> {
        let stays = self.files.context.options.remove_sources || !self.files.log.is_whole();
        if stays || !tree_mark::is_of(tree, source) {
            return Ok(());
        }
        file_systems.sync()?;
        tree_mark::remove(tree).map_err(CopyError::system("take the mark out of", tree))
    }
}

/// Creates a directory. The root of a tree gets a mark, by which the same command finds it again.
fn make_directory(entry: &Entry, is_changed: bool, is_root: bool) -> Result<(), CopyError> {
    // Writable for us until it is complete; its own mode is set at the end.
    let (source, target) = (&entry.source(), &entry.target());
    if is_root {
        return tree_mark::make(target, source);
    }
    match files::create_new_directory_private(target) {
        Ok(()) => Ok(()),
        // Check an existing one again: a link may have taken its place since the inventory.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            if is_changed {
                refuse_made_by_others(target, None)?;
            }
            refuse_other_kind(source, target)
        }
        Err(error) => Err(CopyError::system("create", target)(error)),
    }
}

/// Removes what an earlier attempt left next to a complete file: it may have died between renaming the file
/// and removing its journal.
fn forget_unfinished(target: &Path) -> Result<(), CopyError> {
    if part_path(target).exists() {
        // Dropped at once, which removes the file, unless another process owns it.
        Part::acquire(target, files::effective_user())?;
    }
    remove_journal(target).map_err(CopyError::system("remove the journal of", target))
}

/// Takes the files to try again out of the failures after the first `at_start`, which are of the plan and of
/// its directories.
pub(super) fn take_failed(log: &mut CopyLog, at_start: usize) -> Vec<CopyFailure> {
    let failures = log.failures.split_off(at_start.min(log.failures.len()));
    let (may_pass, lasting): (Vec<_>, Vec<_>) =
        failures.into_iter().partition(|failure| failure.error.may_pass());
    log.failures.extend(lasting);
    for failure in &may_pass {
        log.record(Recorded::Retried(failure.error.to_string()), &failure.source, 0);
    }
    may_pass
}

/// The file as it is now: it may have been written to since the plan was made.
pub(super) fn as_it_is_now(failure: &CopyFailure) -> Result<Entry, CopyError> {
    let CopyFailure { source, target, .. } = failure;
    let stat = files::stamp_of_path(source).map_err(CopyError::system("open", source))?;
    if stat.kind != FileKind::Regular {
        let how = "something that is no file has taken its name";
        return Err(CopyError::SourceChanged { path: source.clone(), how, kept: false });
    }
    Ok(Entry::new(Location::of_root(source, target), &stat, Action::File))
}

struct Done {
    shape: Option<TransferShape>,
    log: CopyLog,
    ended: Result<(), CopyError>,
}

/// Copies the entries with `copiers` threads. An error that ends the copy lets the others finish the file that
/// they are at.
pub(super) fn copy_large(
    context: &CopyContext<'_>,
    (mover, log): (&mut Mover<'_>, &mut CopyLog),
    entries: &[&Entry],
    copiers: usize,
) -> Result<(), CopyError> {
    let (next, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
    let work = |records| {
        let mut mover = Mover::new(context.options, context.progress, &context.clock);
        let mut log = CopyLog { records, ..CopyLog::default() };
        let mut files = FileCopier { context, mover: &mut mover, log: &mut log };
        let mut ended = Ok(());
        while ended.is_ok()
            && !stop.load(Ordering::Relaxed)
            && let Some(entry) = entries.get(next.fetch_add(1, Ordering::Relaxed))
        {
            ended = files.copy_or_note(entry);
        }
        if ended.is_err() {
            stop.store(true, Ordering::Relaxed);
        }
        Done { shape: mover.into_described(), log, ended }
    };
    let mut result = Ok(());
    std::thread::scope(|scope| {
        let work = &work;
        let threads: Vec<_> = (0..copiers.min(entries.len()))
            .map(|_| {
                let records = log.records.clone();
                scope.spawn(move || work(records))
            })
            .collect();
        for thread in threads {
            let done = thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            mover.take_description(done.shape);
            log.merge(done.log);
            if result.is_ok() {
                result = done.ended;
            }
        }
    });
    result
}
