//! Removes the sources of a copy that has arrived as a whole.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::path::PathBuf;

use iostall_engine::files::{self, FileKind, OpenDirectory, Writers};
use iostall_engine::guard::Removes;
use iostall_model::transfer::Undone;

use super::context::CopyContext;
use super::entry::{Action, Entry};
use super::error::CopyError;
use super::log::{CopyLog, Recorded};
use super::part::directory_of;
use super::walk::Inventory;

/// Removes every source that the destination has. Everything must be verified and durable by now; what does
/// not look as it did when it was copied stays, and is a failure.
pub(super) fn remove_sources(
    context: &CopyContext<'_>,
    inventory: &Inventory,
    log: &mut CopyLog,
) -> Result<(), CopyError> {
    for entry in &inventory.entries {
        match entry.action {
            Action::File | Action::HardLink(_) | Action::Symlink | Action::Special | Action::UpToDate => {}
            Action::NewerThere => {
                let how =
                    "the destination has a newer one: compare them, and remove the one that is not needed";
                note_stays(context, log, entry.paths(), how)?;
                continue;
            }
            Action::Directory | Action::Compare => continue,
        }
        if context.progress.is_cancelled() {
            return Err(CopyError::cancelled(&entry.source(), &entry.target(), false));
        }
        let removed =
            remove_one(context, entry).map_err(|error| error.stays(Undone::Removed, &entry.source()));
        if removed.is_ok() {
            log.counts.removed_sources += 1;
            log.record(Recorded::SourceRemoved, &entry.source(), entry.size_bytes());
        }
        log.note(context.options, || entry.paths(), removed)?;
    }
    for paths in &inventory.specials {
        let how = "it is a device, a pipe or a socket, and was not copied: remove it, or move it with --specials keep";
        note_stays(context, log, paths.clone(), how)?;
    }
    for entry in inventory.directories().rev() {
        let source = entry.source();
        let removed = match fs::remove_dir(&source) {
            // What was left out, or came meanwhile, stays with its directory.
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => Ok(()),
            removed => removed
                .map_err(|error| CopyError::system("remove", &source)(error).stays(Undone::Removed, &source)),
        };
        log.note(context.options, || entry.paths(), removed)?;
    }
    Ok(())
}

/// Records a source that the destination does not have: whoever moves must know of each that stays.
fn note_stays(
    context: &CopyContext<'_>,
    log: &mut CopyLog,
    paths: (PathBuf, PathBuf),
    how: &'static str,
) -> Result<(), CopyError> {
    let source = paths.0.clone();
    let error = CopyError::NotMoved { path: source.clone(), how }.stays(Undone::Removed, &source);
    log.note(context.options, || paths, Err(error))
}

fn remove_one(context: &CopyContext<'_>, entry: &Entry) -> Result<(), CopyError> {
    let (source, target, stat) = (&entry.source(), &entry.target(), &entry.stat());
    let refused = |how| CopyError::NotRemoved { path: source.clone(), how };
    let name = source.file_name().unwrap_or(OsStr::new(""));
    let failed = |error| CopyError::system("remove", source)(error);
    context.destinations.check_removal(source, Removes::NameOnly)?;
    let directory = OpenDirectory::open_following(directory_of(source)).map_err(failed)?;
    let now = directory.stamp_of(name).map_err(failed)?;
    // Removing one of its names changes the times of the others.
    let change = if stat.links > 1 { now.content_change_since(stat) } else { now.change_since(stat) };
    if let Some(how) = change {
        return Err(refused(how));
    }
    let there = files::stamp_of_link(target).map_err(CopyError::system("find", target))?;
    if there.is_same_file(&now) {
        return Err(refused("it is the destination"));
    }
    let is_there = match stat.kind {
        FileKind::Symlink => {
            there.kind == FileKind::Symlink
                && fs::read_link(source)
                    .ok()
                    .is_some_and(|link| fs::read_link(target).is_ok_and(|to| to == link))
        }
        _ => {
            there.kind == stat.kind
                && there.size_bytes == stat.size_bytes
                && there.special_device == stat.special_device
        }
    };
    if !is_there {
        return Err(refused("the destination has something else by now"));
    }
    if stat.kind == FileKind::Regular {
        let file = File::open(source).map_err(CopyError::system("open", source))?;
        if files::writers(&file) == Writers::Some {
            return Err(refused("another program has it open for writing"));
        }
    }
    directory.remove_file(name).map_err(failed)
}
