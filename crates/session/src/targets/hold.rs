//! Keeps a target unchanged for the length of a run, and reports afterwards what became of it.

use std::cell::Cell;
use std::fs::File;
use std::path::{Path, PathBuf};

use iostall_engine::files::{FileNow, PathNow, UnfinishedFile};
use iostall_engine::guard::{FileLock, GrantReason, HeaderKind, WriteGrant};
use iostall_engine::open::OpenTarget;

pub(super) struct Hold {
    kept: Kept,
    /// The user's path, which should keep leading to this target.
    path: PathBuf,
    least_seen: Cell<Option<FileNow>>,
}

enum Kept {
    /// A synthetic target without a file.
    Nothing,
    /// A target that is written. A scratch file is removed with it, also if the process exits early.
    Written {
        grant: WriteGrant,
        is_scratch: bool,
        _listed: Option<UnfinishedFile>,
    },
    Read {
        opened: OpenTarget,
        _lock: Option<FileLock>,
    },
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

    pub(super) fn grant(&self) -> Option<&WriteGrant> {
        match &self.kept {
            Kept::Written { grant, .. } => Some(grant),
            Kept::Nothing | Kept::Read { .. } => None,
        }
    }

    /// The header of the block at offset 0: it identifies files that iostall created.
    pub(super) fn first_header(&self) -> HeaderKind {
        match &self.kept {
            Kept::Written { grant, .. } if is_ours(grant) => HeaderKind::MadeFile,
            _ => HeaderKind::Block,
        }
    }

    pub(super) fn look(&self) {
        if let Some(now) = self.now() {
            let least = self.least_seen.get().map_or(now, |before| before.least_with(now));
            self.least_seen.set(Some(least));
        }
    }

    /// The smallest values ever seen for the file; `None` if it is no file.
    pub(super) fn least_seen(&self) -> Option<FileNow> {
        self.look();
        self.least_seen.get()
    }

    pub(super) fn now(&self) -> Option<FileNow> {
        // If the file system does not answer, the load will fail too.
        FileNow::of(self.file()?).ok()
    }

    pub(super) fn path_now(&self) -> PathNow {
        self.file().and_then(|file| PathNow::of(file, &self.path).ok()).unwrap_or(PathNow::Same)
    }

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
            // While the lock is still held: the next run finds either this file, locked, or none. If it
            // cannot be removed, the next run reuses it.
            let _ = grant.remove();
        }
    }
}

/// Whether writing to the file makes it iostall's. A file that the user allowed to be overwritten stays the
/// user's.
pub(super) fn is_ours(grant: &WriteGrant) -> bool {
    grant.is_made_by_iostall() || *grant.reason() == GrantReason::Empty
}
