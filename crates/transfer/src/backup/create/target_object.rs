//! A stripe as an object, which is not there before it is complete.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use iostall_engine::files::{path_bytes, path_from_bytes};
use iostall_model::backup::{ObjectLock, SetId};
use iostall_remote::{Object, Upload};

use super::error::CreateError;
use super::target_file::{MARK_BYTES, MARKS};
use crate::backup::format::StripeHeader;
use crate::backup::upload_note::unfinished_path;

/// A stripe on its way to a store. It is removed unless it was completed.
pub(super) struct TargetObject {
    pub(super) target: PathBuf,
    object: Object,
    pub(super) upload: Arc<Upload>,
    pub(super) header_bytes: u64,
    lock: Option<ObjectLock>,
    /// It has appeared in the store.
    is_named: bool,
    is_complete: bool,
}

impl TargetObject {
    pub(super) fn create(
        target: &Path,
        set: SetId,
        header: &StripeHeader,
        lock: Option<ObjectLock>,
    ) -> Result<Self, CreateError> {
        let upload = |object: &Object| {
            let until_complete = Object::at(&unfinished_path(target, set))?;
            object.upload(&until_complete, lock.as_ref())
        };
        Self::begin(target, header, lock, upload)
    }

    /// The same for what is thrown away: `target` is a name of its own.
    pub(super) fn create_trial(target: &Path, header: &StripeHeader) -> Result<Self, CreateError> {
        Self::begin(target, header, None, Object::upload_trial)
    }

    fn begin(
        target: &Path,
        header: &StripeHeader,
        lock: Option<ObjectLock>,
        upload: impl FnOnce(&Object) -> io::Result<Upload>,
    ) -> Result<Self, CreateError> {
        let failed = |source| CreateError::system("begin to write", target)(source);
        let object = Object::at(target).map_err(failed)?;
        let upload = upload(&object).map_err(failed)?;
        // It fits into the first part.
        upload.take(0, &header.encode()).map_err(failed)?;
        Ok(Self {
            target: target.to_owned(),
            object,
            upload: Arc::new(upload),
            header_bytes: header.bytes(),
            lock,
            is_named: false,
            is_complete: false,
        })
    }

    /// Makes it appear, locked if it is to be, unless something else has its name by now.
    pub(super) fn name(&mut self) -> io::Result<()> {
        // Where the store ignores the condition of the request that follows, this finds all but a race.
        if self.object.exists()? {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        self.upload.complete()?;
        self.is_named = true;
        self.lock.as_ref().map_or(Ok(()), |lock| self.object.lock(lock))
    }

    pub(super) fn complete(&mut self) {
        self.is_complete = true;
    }
}

impl Drop for TargetObject {
    fn drop(&mut self) {
        if self.is_named && !self.is_complete {
            // Already failing; without a manifest nobody takes it for a backup.
            let _ = self.object.delete();
        }
    }
}

/// The name of a stripe of a trial, which no stripe of a backup has.
pub(super) fn trial_path(target: &Path, set: SetId) -> PathBuf {
    let mut name = path_bytes(Path::new(target.file_name().unwrap_or_default())).to_vec();
    name.extend_from_slice(format!(".{set}.trial").as_bytes());
    target.with_file_name(path_from_bytes(name))
}

pub(super) fn begins_with_mark(path: &Path) -> io::Result<bool> {
    let object = Object::at(path)?.reader()?;
    let begin = object.read(0, MARK_BYTES)?;
    Ok(!begin.is_empty() && MARKS.iter().any(|mark| mark.starts_with(&begin)))
}

pub(super) fn is_there(path: &Path) -> io::Result<bool> {
    Object::at(path)?.exists()
}

/// Puts a manifest, locked if it is to be, unless one is there. Returns whether the store would have refused another: not all honour that a request
/// depends on it.
pub(super) fn put_manifest(path: &Path, bytes: &[u8], lock: Option<&ObjectLock>) -> io::Result<bool> {
    let object = Object::at(path)?;
    if object.exists()? {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    object.put_new(bytes, lock)?;
    // The same bytes, so that a store that takes them does no harm.
    let again = object.put_new(bytes, lock);
    lock.map_or(Ok(()), |lock| object.lock(lock))?;
    Ok(again.is_err_and(|error| error.kind() == io::ErrorKind::AlreadyExists))
}
