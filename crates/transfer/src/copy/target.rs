//! Destinations that a copy must not replace, whatever the options.

use std::path::Path;

use iostall_engine::files::{self, FileKind, FileStamp};
use iostall_engine::guard::Destinations;

use super::error::CopyError;

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
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
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
