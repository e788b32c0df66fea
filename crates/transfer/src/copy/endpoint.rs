//! An open source or destination.

use std::fs::File;
use std::io;
use std::path::Path;

use iostall_engine::files::{self, FileStamp};
use iostall_engine::guard::WriteGrant;
use iostall_engine::{Access, FileHandle, OpenError, OpenOptions, OpenTarget, open_path, open_target};
use iostall_measure::Caching;

use super::error::CopyError;
use crate::plan::PLAN_ALIGN;

pub(crate) struct Endpoint {
    open: OpenTarget,
    pub(super) stat: FileStamp,
    /// Requests must be multiples of this, bytes.
    pub(super) align: u32,
}

impl Endpoint {
    pub(super) fn open(path: &Path, access: Access, caching: Caching) -> Result<Self, CopyError> {
        let options = OpenOptions { access, caching, ..OpenOptions::default() };
        // Opening reads a little to test direct I/O, so the access time comes from before.
        let before = files::stamp_of_path(path).ok();
        let open = open_target(path, &options)?;
        let mut stat = files::stamp(&open).map_err(CopyError::system("look at", path))?;
        if let Some(before) = before.filter(|before| before.is_same_file(&stat)) {
            stat.accessed_ns = before.accessed_ns;
        }
        let align = if files::is_direct(&open) { u32::try_from(PLAN_ALIGN).unwrap_or(4096) } else { 1 };
        Ok(Self { open, stat, align })
    }

    /// The file that is open as `file`, through its own descriptor: in a directory of others something else may have the name
    /// `path` by now.
    pub(super) fn reopen(
        file: &File,
        path: &Path,
        access: Access,
        caching: Caching,
    ) -> Result<Self, CopyError> {
        let mut opened = Self::open(&open_path(file), access, caching)?;
        path.clone_into(&mut opened.open.path);
        Ok(opened)
    }

    /// The device to be written, through the descriptor that was granted.
    pub(super) fn of_device(
        grant: &WriteGrant,
        device: &Path,
        access: Access,
        caching: Caching,
    ) -> Result<Self, CopyError> {
        let options = OpenOptions { access, caching, ..OpenOptions::default() };
        let mut open = open_target(&grant.open_path(), &options)?;
        device.clone_into(&mut open.path);
        let stat = files::stamp(&open).map_err(CopyError::system("look at", device))?;
        let sector = open.direct.as_ref().and_then(|direct| direct.offset_align);
        let align = if files::is_direct(&open) { sector.unwrap_or(4096) } else { 1 };
        Ok(Self { open, stat, align })
    }

    pub(super) fn file(&self) -> &File {
        self.open.file()
    }

    pub(super) fn size_bytes(&self) -> u64 {
        self.open.size_bytes
    }

    pub(super) fn is_held(&self) -> bool {
        let options = OpenOptions { exclusive: true, ..OpenOptions::default() };
        let busy = |source: &io::Error| source.kind() == io::ErrorKind::ResourceBusy;
        matches!(open_target(self.path(), &options), Err(OpenError::Refused { source, .. }) if busy(&source))
    }

    pub(super) fn handle(&self) -> FileHandle<'_> {
        FileHandle::from(self.file())
    }

    pub(super) fn path(&self) -> &Path {
        &self.open.path
    }

    pub(super) fn is_direct(&self) -> bool {
        self.open.direct.as_ref().is_some_and(|direct| direct.granted)
    }

    pub(super) fn reason(&self) -> Option<&str> {
        self.open.direct.as_ref()?.reason.as_deref()
    }

    /// A handle to drop its pages from the cache; `None` with direct I/O.
    pub(super) fn buffered(&self) -> Option<File> {
        if files::is_direct(&self.open) { None } else { self.file().try_clone().ok() }
    }

    pub(super) fn caching(&self) -> Caching {
        if self.is_direct() { Caching::Direct } else { Caching::Buffered }
    }
}
