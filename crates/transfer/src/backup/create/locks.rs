//! Whether a backup can be locked where it is to go. Asked before the first byte: a set that was to be locked and is not protects
//! nobody.

use std::path::{Path, PathBuf};

use iostall_model::backup::ObjectLock;
use iostall_remote::{Object, is_object};

use super::error::CreateError;

/// Refuses places that lock nothing. Where the account may not ask, the store says so when it takes the first stripe.
pub(super) fn check(targets: &[PathBuf], lock: Option<&ObjectLock>) -> Result<(), CreateError> {
    if lock.is_none() {
        return Ok(());
    }
    let refuse = |path: &Path, why| Err(CreateError::NotLockable { path: path.to_owned(), why });
    if targets.is_empty() {
        return refuse(Path::new("null:"), "nothing is written to it");
    }
    if let Some(file) = targets.iter().find(|target| !is_object(target)) {
        return refuse(file, "it is a file, and only object stores lock what they have");
    }
    for target in targets {
        let can = Object::at(target).and_then(|object| object.can_be_locked());
        if can.map_err(CreateError::system("ask about locks at", target))? == Some(false) {
            return refuse(target, "its bucket has no object lock");
        }
    }
    Ok(())
}
