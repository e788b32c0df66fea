//! Puts what has changed its kind in its place, at the end of a mirror.

use std::ffi::OsStr;

use iostall_engine::files::{self, FileKind, OpenDirectory};
use iostall_engine::guard::Removes;

use super::changed_kind::ChangedKind;
use super::context::CopyContext;
use super::error::CopyError;
use super::log::CopyLog;
use super::part::directory_of;
use super::walk::Inventory;

/// Replaces everything that has changed its kind, once all else is copied and durable and what was in replaced directories is
/// gone. From then on the inventory and the log have the final names.
pub(super) fn replace_all(
    context: &CopyContext<'_>,
    log: &mut CopyLog,
    inventory: &mut Inventory,
) -> Result<(), CopyError> {
    let mut changed_kinds = std::mem::take(&mut inventory.changed_kinds);
    let mut failed = Vec::new();
    for changed in changed_kinds.iter() {
        let replaced = replace(context, changed);
        failed.extend(replaced.is_err().then(|| changed.clone()));
        log.note(context.options, || (changed.source.clone(), changed.target.clone()), replaced)?;
    }
    for changed in &failed {
        changed_kinds.forget(changed);
    }
    for entry in &mut inventory.entries {
        if let Some(place) = changed_kinds.final_place(&entry.target()) {
            entry.place_at(&place);
        }
    }
    for path in log.files.iter_mut().map(|file| &mut file.path).chain(log.first_file.as_mut()) {
        if let Some(place) = changed_kinds.final_place(path) {
            *path = place;
        }
    }
    Ok(())
}

/// Puts the new content in the place of the old, which is an empty directory by now or no directory.
fn replace(context: &CopyContext<'_>, changed: &ChangedKind) -> Result<(), CopyError> {
    let ChangedKind { target, made, there, is_directory, .. } = changed;
    let failed = |error| CopyError::system("replace", target)(error);
    context.destinations.check_removal(target, Removes::Content)?;
    let name = target.file_name().unwrap_or(OsStr::new(""));
    let directory = OpenDirectory::open_following(directory_of(target)).map_err(failed)?;
    let now = directory.stamp_of(name).map_err(failed)?;
    if !now.is_same_file(there) {
        let how = "another file has taken its name";
        return Err(CopyError::NotRemoved { path: target.clone(), how });
    }
    if there.kind == FileKind::Directory {
        directory.remove_directory(name).map_err(failed)?;
    } else if *is_directory {
        directory.remove_file(name).map_err(failed)?;
    } else {
        files::rename_over(made, target).map_err(failed)?;
        return directory.sync().map_err(failed);
    }
    files::rename_new(made, target).and_then(|()| directory.sync()).map_err(failed)
}
