//! What keeps a target the one that was looked at for as long as the run lasts, and says afterwards what became of it.

use std::cell::Cell;
use std::fs::File;
use std::path::{Path, PathBuf};

use iostall_engine::files::{FileNow, PathNow, UnfinishedFile};
use iostall_engine::guard::{FileLock, GrantReason, HeaderKind, WriteGrant};
use iostall_engine::open::OpenTarget;

/// See the module.
pub(super) struct Hold {
    kept: Kept,
    /// What the user's path leads to should stay this.
    path: PathBuf,
    least_seen: Cell<Option<FileNow>>,
}

enum Kept {
    /// A stand-in that no file is behind.
    Nothing,
    /// A target that is written. A scratch file goes with it; it is listed for an end of the process that comes before.
    Written { grant: WriteGrant, is_scratch: bool, _listed: Option<UnfinishedFile> },
    /// A target that is only read.
    Read { opened: OpenTarget, _lock: Option<FileLock> },
}

impl Hold {
    fn of(kept: Kept, path: &Path) -> Self {
        Self { kept, path: path.to_owned(), least_seen: Cell::new(None) }
    }

    pub(super) fn nothing(path: &Path) -> Self {
        Self::of(Kept::Nothing, path)
    }

    pub(super) fn written(grant: WriteGrant, is_scratch: bool, path: &Path) -> Self {
        let listed = (is_scratch && is_ours(&grant)).then(|| UnfinishedFile::at(grant.path()));
        Self::of(Kept::Written { grant, is_scratch, _listed: listed }, path)
    }

    pub(super) fn read(opened: OpenTarget, lock: Option<FileLock>, path: &Path) -> Self {
        Self::of(Kept::Read { opened, _lock: lock }, path)
    }

    /// The permission, where the target is written.
    pub(super) fn grant(&self) -> Option<&WriteGrant> {
        match &self.kept {
            Kept::Written { grant, .. } => Some(grant),
            Kept::Nothing | Kept::Read { .. } => None,
        }
    }

    /// What the very first block begins with when it is written: what iostall made is known again by it.
    pub(super) fn first_header(&self) -> HeaderKind {
        match &self.kept {
            Kept::Written { grant, .. } if is_ours(grant) => HeaderKind::MadeFile,
            _ => HeaderKind::Block,
        }
    }

    /// Looks at the file once more.
    pub(super) fn look(&self) {
        if let Some(now) = self.now() {
            let least = self.least_seen.get().map_or(now, |before| before.least_with(now));
            self.least_seen.set(Some(least));
        }
    }

    /// The least that was ever seen of the file; `None` where it is no file.
    pub(super) fn least_seen(&self) -> Option<FileNow> {
        self.look();
        self.least_seen.get()
    }

    /// The file as it is now.
    pub(super) fn now(&self) -> Option<FileNow> {
        // A file system that does not answer says so to the load, too.
        FileNow::of(self.file()?).ok()
    }

    /// What the path leads to now.
    pub(super) fn path_now(&self) -> PathNow {
        self.file().and_then(|file| PathNow::of(file, &self.path).ok()).unwrap_or(PathNow::Same)
    }

    /// The open file; `None` where it is a device or nothing.
    fn file(&self) -> Option<&File> {
        let file = match &self.kept {
            Kept::Nothing => return None,
            Kept::Written { grant, .. } => grant.file(),
            Kept::Read { opened, .. } => opened.file(),
        };
        file.metadata().is_ok_and(|metadata| metadata.is_file()).then_some(file)
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        if let Kept::Written { grant, is_scratch: true, .. } = &self.kept
            && is_ours(grant)
        {
            // While the lock is still held: the next run finds either this file, locked, or none.
            // One that cannot be removed is found by the next run, which makes use of it.
            let _ = grant.remove();
        }
    }
}

/// Whether what is written to the file makes it iostall's. What the user has given up stays the user's.
pub(super) fn is_ours(grant: &WriteGrant) -> bool {
    grant.is_made_by_iostall() || *grant.reason() == GrantReason::Empty
}
