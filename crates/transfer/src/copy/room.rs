//! Checks before the first byte whether a copy fits its destination.

use std::mem;

use super::entry::Action;
use super::error::CopyError;
use super::log::CopyFailure;
use super::options::CopyOptions;
use super::walk::Inventory;

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
    places.check()
}
