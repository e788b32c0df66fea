//! The file of a paced write: created or overwritten with consent, and removed or kept afterwards.

use std::path::{Path, PathBuf};

use iostall_engine::files::{self, FileKind, PathNow, UnfinishedFile};
use iostall_engine::guard::{
    GrantReason, HeaderKind, WriteConsent, WriteGrant, check_named_size, check_write, mark_made_by_iostall,
};
use iostall_engine::{Access, OpenOptions, OpenTarget, open_target};
use iostall_measure::{Caching, Durability};
use iostall_model::paced::WriteMethod;
use iostall_model::{Warning, WarningCode};

use super::pace::PacedRequest;
use crate::error::SessionError;
use crate::event::{Event, Observer};

/// No one else writes to it during the run, and it remains the same file even if the path is changed.
pub(crate) struct PacedFile {
    grant: WriteGrant,
    path: PathBuf,
    /// Removes a new file if the process exits early.
    _listed: Option<UnfinishedFile>,
}

/// A full file system stops whatever else writes to it. What the file has now is free once it is emptied.
fn check_room(path: &Path, wanted_bytes: u64) -> Result<(), SessionError> {
    let there = files::stamp_of_path(path).ok();
    if there.is_some_and(|there| there.kind != FileKind::Regular) {
        return Ok(());
    }
    let there_bytes = there.map_or(0, |there| there.allocated_bytes);
    let parent = path.parent().filter(|parent| *parent != Path::new("")).unwrap_or(Path::new("."));
    if !parent.is_dir() {
        // Making the file says so.
        return Ok(());
    }
    Ok(check_named_size(parent, wanted_bytes.saturating_sub(there_bytes))?)
}

impl PacedFile {
    pub(crate) fn prepare(request: &PacedRequest) -> Result<Self, SessionError> {
        let consent = WriteConsent { overwrite: request.overwrite.clone(), ..WriteConsent::none() };
        let path = request.file.clone();
        check_room(&path, request.total_bytes.unwrap_or(0))?;
        let grant = check_write(&path, &consent)?;
        if !grant.file().metadata().is_ok_and(|metadata| metadata.is_file()) {
            return Err(SessionError::PacedDevice { path });
        }
        let goes =
            matches!(grant.reason(), GrantReason::Created | GrantReason::MadeByIostall) && !request.keep;
        let listed = goes.then(|| UnfinishedFile::at(grant.path()));
        let file = Self { grant, path, _listed: listed };
        file.empty()?;
        Ok(file)
    }

    /// Whether iostall created it. A file that the user allowed to be overwritten stays the user's.
    fn is_ours(&self) -> bool {
        self.grant.is_made_by_iostall() || *self.grant.reason() == GrantReason::Empty
    }

    /// Truncates it, and marks it if it is ours: a later run may then write it even if this one dies.
    fn empty(&self) -> Result<(), SessionError> {
        let file = self.grant.file();
        let mark = || if self.is_ours() { mark_made_by_iostall(file) } else { Ok(()) };
        let made = file.set_len(0).and_then(|()| mark()).and_then(|()| file.sync_all());
        made.map_err(|source| SessionError::MakePaced { path: self.path.clone(), source })
    }

    pub(crate) fn open(&self, method: WriteMethod) -> Result<OpenTarget, SessionError> {
        self.empty()?;
        let caching = if method == WriteMethod::Buffered { Caching::Buffered } else { Caching::Direct };
        let durability =
            if method == WriteMethod::DirectDsync { Durability::WriteThrough } else { Durability::None };
        let options = OpenOptions { access: Access::Write, caching, durability, ..OpenOptions::default() };
        open_target(&self.grant.open_path(), &options).map_err(|error| SessionError::Run(error.into()))
    }

    pub(crate) fn first_header(&self) -> HeaderKind {
        if self.is_ours() { HeaderKind::MadeFile } else { HeaderKind::Block }
    }

    /// Whether the path no longer leads to the file.
    pub(crate) fn replaced(&self) -> Option<Warning> {
        let message = match PathNow::of(self.grant.file(), &self.path).ok()? {
            PathNow::Same => return None,
            PathNow::Gone => "the file was removed during the run, which continued on the removed file",
            PathNow::Other => "another file was put in its place during the run; it was not touched",
        };
        Some(Warning::new(WarningCode::TargetReplaced, message).about(self.path.display().to_string()))
    }

    /// Removes a file that iostall created; keeps one that was there before, empty or with the user's name.
    pub(crate) fn give_back(self, observer: &dyn Observer) {
        let given_back = match self.grant.reason() {
            GrantReason::Created | GrantReason::MadeByIostall => self.grant.remove(),
            GrantReason::Empty => self.grant.file().set_len(0),
            _ => {
                observer.on(&Event::FileStays { path: &self.path });
                Ok(())
            }
        };
        if let Err(cause) = given_back {
            observer.on(&Event::FileLeft { path: self.grant.path(), cause: &cause });
        }
    }
}
