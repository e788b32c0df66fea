//! What a target is, whatever it was called.

use std::path::Path;

use iostall_host::System;
use iostall_model::TargetIdentity;

use crate::targets::SCRATCH_NAME;

/// What the target at `path` is; one that is not stored anywhere has only its name.
pub(crate) fn target_identity_of(path: &Path, is_stored: bool) -> Option<TargetIdentity> {
    if !is_stored {
        return Some(TargetIdentity::Synthetic { name: path.display().to_string() });
    }
    if path.file_name().is_some_and(|name| name == SCRATCH_NAME) {
        let directory = path.parent().filter(|directory| !directory.as_os_str().is_empty());
        return System::here().scratch_identity(directory.unwrap_or(Path::new(".")));
    }
    System::here().target_identity(path)
}
