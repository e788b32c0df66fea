//! Destinations that a copy must not replace, whatever the options.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use iostall_engine::files::{self, FileKind, FileStamp};
use iostall_engine::guard::{Destinations, Refusal};

use super::error::CopyError;
use super::part::directory_of;

/// Refuses the source itself, files that a copy never replaces, and existing files unless they may be
/// replaced.
pub(super) fn check_target(
    source: &Path,
    stat: &FileStamp,
    target: &Path,
    overwrite: bool,
    destinations: &Destinations,
) -> Result<(), CopyError> {
    let there = match files::stamp_of_link(target) {
        Ok(there) => there,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        // Such as a name that is too long, or a file where a directory should be: it would fail at the end
        // anyway.
        Err(error) => return Err(CopyError::system("name", target)(error)),
    };
    let followed = files::stamp_of_path(target).unwrap_or(there);
    if stat.is_same_file(&followed) {
        return Err(CopyError::SameFile { from: source.to_owned(), to: target.to_owned() });
    }
    if there.kind == FileKind::Directory {
        let message = format!("{} is a directory, and {} is not", target.display(), source.display());
        return Err(CopyError::Names { message });
    }
    // First, so that the user is not told to use --overwrite in vain.
    destinations.check_name(target, stat)?;
    if !overwrite {
        return Err(CopyError::Exists { path: target.to_owned() });
    }
    Ok(())
}

/// Refuses a destination inside the source: walks up from it, through any links and mounts.
pub(super) fn refuse_into_itself(source: &Path, stat: &FileStamp, target: &Path) -> Result<(), CopyError> {
    let mut at = target.to_owned();
    // The part of the path that does not exist yet will be created in the part that does.
    while files::stamp_of_path(&at).is_err() {
        at = directory_of(&at).to_owned();
    }
    let mut at = fs::canonicalize(&at).map_err(CopyError::system("resolve", target))?;
    loop {
        if files::stamp_of_path(&at).is_ok_and(|above| above.is_same_file(stat)) {
            return Err(CopyError::IntoItself { from: source.to_owned(), to: target.to_owned() });
        }
        match at.parent() {
            Some(parent) => at = parent.to_owned(),
            None => return Ok(()),
        }
    }
}

/// Checks that names can be made in an existing directory. `true` for one of ours that forbids it, which is opened for us while
/// the copy lasts.
pub(super) fn is_to_be_opened(destinations: &Destinations, directory: &Path) -> Result<bool, CopyError> {
    let us = files::effective_user();
    match destinations.check_directory(directory) {
        Err(Refusal::System { source, .. })
            if source.kind() == ErrorKind::PermissionDenied
                && us != 0
                && files::stamp_of_link(directory).is_ok_and(|there| there.uid == us) =>
        {
            Ok(true)
        }
        checked => Ok(checked.map(|()| false)?),
    }
}

/// Refuses an existing destination that is no directory. A link to one is refused too: what it leads to was
/// not named and may be anywhere.
pub(super) fn refuse_other_kind(source: &Path, target: &Path) -> Result<(), CopyError> {
    let what = match files::stamp_of_link(target).map(|there| there.kind) {
        Err(_) | Ok(FileKind::Directory) => return Ok(()),
        Ok(FileKind::Symlink) => "is a link: name what it leads to, or remove it",
        Ok(FileKind::Regular | FileKind::Special) => "is not",
    };
    let message = format!("{} is a directory, and {} {what}", source.display(), target.display());
    Err(CopyError::Names { message })
}
