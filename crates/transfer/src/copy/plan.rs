//! Plans a copy before anything is written: whether it fits, and what it would do.

use std::mem;
use std::path::{Path, PathBuf};

use iostall_engine::files::{self, FileKind};
use iostall_engine::guard::check_new_file;
use iostall_model::transfer::{DryRun, PlannedAction, PlannedEntry, VerifyMode};

use super::context::CopyContext;
use super::entry::{Action, Entry};
use super::error::CopyError;
use super::extra::Extras;
use super::image::ImagePlan;
use super::log::{CopyFailure, CopyLog, Recorded};
use super::options::{CopyOptions, Symlinks};
use super::part::directory_of;
use super::same_content::resolve_compared;
use super::stream::StreamPlan;
use super::walk::Inventory;

/// The plan of a copy. Nothing is written until it is carried out.
#[derive(Debug, Default)]
pub struct CopyPlan {
    pub(super) inventory: Inventory,
    pub(super) into: Vec<PathBuf>,
    pub(super) extras: Extras,
    /// Instead of everything else: one file onto a device.
    pub(super) image: Option<ImagePlan>,
    /// Instead of everything else: from or to a stream, or the image of a device.
    pub(super) stream: Option<StreamPlan>,
}

impl CopyPlan {
    /// Examines everything. Known failures go to the log.
    pub(super) fn make(
        context: &CopyContext<'_>,
        log: &mut CopyLog,
        sources: &[PathBuf],
        destination: &Path,
    ) -> Result<Self, CopyError> {
        let image = ImagePlan::find(context, sources, destination)?;
        if image.is_some() {
            return Ok(Self { image, ..Self::default() });
        }
        let stream = StreamPlan::find(context, sources, destination)?;
        if stream.is_some() {
            return Ok(Self { stream, ..Self::default() });
        }
        let options = context.options;
        let pairs = options.pairs(sources, destination)?;
        check_request(options, &pairs, destination)?;
        let mut into: Vec<PathBuf> =
            pairs.iter().map(|(_, target)| directory_of(target).to_owned()).collect();
        into.dedup();
        for (_, target) in pairs.iter().filter(|(_, target)| files::stamp_of_link(target).is_err()) {
            check_new_file(target)?;
        }
        for (_, target) in &pairs {
            // No name is made for a directory that is there: whose it is in does not matter.
            if files::stamp_of_link(target).is_ok_and(|there| there.kind == FileKind::Directory) {
                continue;
            }
            context.destinations.check_directory(directory_of(target))?;
        }
        let mut inventory = Inventory::take(&pairs, options, &context.destinations)?;
        resolve_compared(context, &mut inventory)?;
        check_room(options, &mut inventory)?;
        let extras = find_extras(context, &pairs, &mut inventory)?;
        for failure in &inventory.failures {
            log.record(Recorded::Failed(failure.error.to_string()), &failure.source, 0);
        }
        log.failures.append(&mut inventory.failures);
        log.failed_at_start = log.failures.len();
        log.counts.skipped_specials += inventory.skipped_specials;
        log.counts.excluded += inventory.excluded;
        let plan = Self { inventory, into, extras, image: None, stream: None };
        plan.announce(context);
        Ok(plan)
    }

    fn announce(&self, context: &CopyContext<'_>) {
        let CopyContext { options, progress, .. } = context;
        progress.add_total(self.inventory.small.files, self.inventory.small.bytes);
        let passes = if options.verify == VerifyMode::ReadBack { 2 } else { 1 };
        for entry in self.inventory.files() {
            // A small file is read back within its batch and not counted twice.
            let passes = if entry.is_small(options) { 1 } else { passes };
            progress.add_total(1, entry.size_bytes() * passes);
        }
        if options.verify != VerifyMode::None {
            let up_to_date = self.inventory.up_to_date();
            for entry in up_to_date.filter(|entry| entry.kind() == FileKind::Regular) {
                progress.add_total(1, entry.size_bytes() * passes);
            }
        }
    }
}

/// Refuses options that do not fit the names, before anything is read.
fn check_request(
    options: &CopyOptions,
    pairs: &[(PathBuf, PathBuf)],
    destination: &Path,
) -> Result<(), CopyError> {
    let refused = |message: String| Err(CopyError::Names { message });
    let is_directory =
        |path: &Path| files::stamp_of_path(path).is_ok_and(|stat| stat.kind == FileKind::Directory);
    if options.selection.list.is_some() && !matches!(pairs, [(source, _)] if is_directory(source)) {
        return refused(
            "--files-from lists names below one source directory: name that directory".to_owned(),
        );
    }
    if let Some(named) = options.delete.as_deref().filter(|named| !is_same_place(named, destination)) {
        let (named, destination) = (named.to_owned(), destination.to_owned());
        return Err(CopyError::DeletesElsewhere { named, destination });
    }
    if options.remove_sources && options.verify != VerifyMode::ReadBack {
        return refused("sources are removed only after the copy was read back".to_owned());
    }
    if options.remove_sources && options.symlinks == Symlinks::Follow {
        return refused(
            "what a link leads to is not moved: leave out --symlinks follow, or --move".to_owned(),
        );
    }
    let is_link = |path: &Path| files::stamp_of_link(path).is_ok_and(|stat| stat.kind == FileKind::Symlink);
    match pairs.iter().find(|(source, _)| options.remove_sources && is_link(source)) {
        Some((link, _)) => {
            refused(format!("{} is a link: to move what it leads to, name that", link.display()))
        }
        None => Ok(()),
    }
}

/// Whether two names lead to the same place, or are equal where nothing exists yet.
fn is_same_place(one: &Path, other: &Path) -> bool {
    match (files::stamp_of_path(one), files::stamp_of_path(other)) {
        (Ok(one), Ok(other)) => one.is_same_file(&other),
        (Err(_), Err(_)) => one.components().eq(other.components()),
        _ => false,
    }
}

fn find_extras(
    context: &CopyContext<'_>,
    pairs: &[(PathBuf, PathBuf)],
    inventory: &mut Inventory,
) -> Result<Extras, CopyError> {
    let ([(source, target)], Some(_)) = (pairs, &context.options.delete) else {
        return Ok(Extras::default());
    };
    let extras = Extras::find(context, (source, target), inventory)?;
    let is_file = |entry: &Entry| entry.action != Action::Directory;
    let has_files =
        inventory.excluded > 0 || !inventory.small.is_empty() || inventory.entries.iter().any(is_file);
    // With a failure nothing is deleted, and it says more.
    if !extras.all.is_empty() && !has_files && inventory.failures.is_empty() {
        return Err(CopyError::EmptySource { from: source.clone(), to: target.clone() });
    }
    Ok(extras)
}

/// Skips files that are too large for their file system, and refuses the copy if the rest does not fit.
/// Compression, quotas and other writers cannot be predicted and fail when they occur.
pub(super) fn check_room(options: &CopyOptions, inventory: &mut Inventory) -> Result<(), CopyError> {
    // What is planned by its name was added when it was found.
    let mut places = mem::take(&mut inventory.places);
    let mut too_large = Vec::new();
    for (index, entry) in inventory.entries.iter().enumerate() {
        if entry.action == Action::File
            && let Err(found) = places.add(options, &entry.stat(), &entry.target())
        {
            too_large.push((index, found));
        }
    }
    for (index, found) in too_large.into_iter().rev() {
        let entry = inventory.entries.remove(index);
        let (path, size_bytes) = (entry.source(), entry.size_bytes());
        let (directory, largest_bytes) = (found.directory, found.largest_bytes);
        let error = CopyError::TooLarge { path, size_bytes, directory, largest_bytes };
        if !options.continues_after(&error) {
            return Err(error);
        }
        inventory.failures.push(CopyFailure::of(&entry, error));
    }
    places.check(options)
}

impl CopyPlan {
    /// What carrying it out would do. If some files cannot be copied, nothing would be deleted or removed.
    pub fn preview(&self, options: &CopyOptions, has_failures: bool) -> DryRun {
        let planned = |entry| planned(entry, &self.inventory);
        let mut entries: Vec<PlannedEntry> = self.inventory.entries.iter().filter_map(planned).collect();
        if let Some(image) = &self.image {
            entries.push(planned_entry(PlannedAction::Replace, image.device(), image.image_bytes()));
        }
        if let Some(stream) = &self.stream {
            let (path, bytes) = stream.described();
            let action =
                if files::stamp_of_link(path).is_ok() { PlannedAction::Replace } else { PlannedAction::Copy };
            entries.push(planned_entry(action, path, bytes));
        }
        if !has_failures {
            let deleted = self.extras.all.iter();
            entries.extend(
                deleted
                    .map(|extra| planned_entry(PlannedAction::Delete, &extra.target, extra.stat.size_bytes)),
            );
        }
        if options.remove_sources && !has_failures {
            let removed = self.inventory.entries.iter().filter(|entry| entry.action != Action::Directory);
            let removed = removed.filter(|entry| entry.action != Action::NewerThere);
            entries.extend(removed.map(|entry| {
                planned_entry(PlannedAction::RemoveSource, &entry.source(), entry.size_bytes())
            }));
        }
        DryRun::new(entries)
    }
}

fn planned(entry: &Entry, inventory: &Inventory) -> Option<PlannedEntry> {
    let made = entry.target();
    let replaced = inventory.changed_kinds.final_place(&made);
    let is_replaced = replaced.is_some();
    let target = replaced.unwrap_or(made);
    let exists = || files::stamp_of_link(&target).is_ok();
    let made = |action| if exists() { PlannedAction::Replace } else { action };
    let (action, bytes) = match entry.action {
        Action::Directory if exists() && !is_replaced => return None,
        Action::Directory => (PlannedAction::Create, 0),
        Action::File | Action::Compare => (made(PlannedAction::Copy), entry.size_bytes()),
        Action::HardLink(_) | Action::Symlink | Action::Special => (made(PlannedAction::Create), 0),
        Action::UpToDate => (PlannedAction::KeepEqual, entry.size_bytes()),
        Action::NewerThere => (PlannedAction::KeepNewer, entry.size_bytes()),
    };
    Some(planned_entry(action, &target, bytes))
}

fn planned_entry(action: PlannedAction, path: &std::path::Path, bytes: u64) -> PlannedEntry {
    PlannedEntry { action, path: path.display().to_string(), bytes }
}
