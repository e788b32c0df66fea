//! Whether a target can be purged as it is wanted.

use std::path::Path;

use iostall_engine::files::is_block_device;
use iostall_engine::nvme::EraseError;
use iostall_model::qualify::Purge;

use crate::error::SessionError;

/// Before a file is made that no drive can erase.
pub(super) fn check_purge(purge: Purge, target: &Path) -> Result<(), SessionError> {
    let erases = matches!(purge, Purge::Format | Purge::Sanitize);
    if erases && !is_block_device(target) {
        return Err(SessionError::NotErased { path: target.to_owned(), cause: EraseError::NotNvme });
    }
    Ok(())
}
