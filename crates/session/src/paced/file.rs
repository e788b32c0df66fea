//! The file that a paced writing writes: made, or given up by the user, and afterwards removed or given back.

use std::path::PathBuf;

use iostall_engine::files::{PathNow, UnfinishedFile};
use iostall_engine::guard::{
    GrantReason, HeaderKind, WriteConsent, WriteGrant, check_write, mark_made_by_iostall,
};
use iostall_engine::{Access, OpenOptions, OpenTarget, open_target};
use iostall_measure::{Caching, Durability};
use iostall_model::paced::WriteMethod;
use iostall_model::{Warning, WarningCode};

use super::request::PacedRequest;
use crate::error::SessionError;
use crate::event::{Event, Observer};

/// See the module. Nobody else writes to it meanwhile, and whatever its path leads to by then, it is this file that is
/// written.
pub(crate) struct PacedFile {
    grant: WriteGrant,
    /// As it was named.
    path: PathBuf,
    /// One that goes at the end, for an end of the process that comes before.
    _listed: Option<UnfinishedFile>,
}

impl PacedFile {
    /// Makes the file, if it may be written.
    pub(crate) fn prepare(request: &PacedRequest) -> Result<Self, SessionError> {
        let consent = WriteConsent { overwrite: request.overwrite.clone(), ..WriteConsent::none() };
        let path = request.file.clone();
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

    /// Whether it is, or becomes, iostall's. A file that the user has given up stays the user's.
    fn is_ours(&self) -> bool {
        self.grant.is_made_by_iostall() || *self.grant.reason() == GrantReason::Empty
    }

    /// Takes everything out of it, and marks it where it is ours: a next run then may write it even if this one dies.
    fn empty(&self) -> Result<(), SessionError> {
        let file = self.grant.file();
        let mark = || if self.is_ours() { mark_made_by_iostall(file) } else { Ok(()) };
        let made = file.set_len(0).and_then(|()| mark()).and_then(|()| file.sync_all());
        made.map_err(|source| SessionError::MakePaced { path: self.path.clone(), source })
    }

    /// Empties the file and opens it as the method wants it.
    pub(crate) fn open(&self, method: WriteMethod) -> Result<OpenTarget, SessionError> {
        self.empty()?;
        let caching = if method == WriteMethod::Buffered { Caching::Buffered } else { Caching::Direct };
        let durability =
            if method == WriteMethod::DirectDsync { Durability::WriteThrough } else { Durability::None };
        let options = OpenOptions { access: Access::Write, caching, durability, exclusive: false };
        open_target(&self.grant.open_path(), &options).map_err(|error| SessionError::Run(error.into()))
    }

    /// What its first packet begins with.
    pub(crate) fn first_header(&self) -> HeaderKind {
        if self.is_ours() { HeaderKind::MadeFile } else { HeaderKind::Block }
    }

    /// Whether the path still leads to the file.
    pub(crate) fn replaced(&self) -> Option<Warning> {
        let message = match PathNow::of(self.grant.file(), &self.path).ok()? {
            PathNow::Same => return None,
            PathNow::Gone => {
                "the file was removed during the run, which went on with what had no name any more"
            }
            PathNow::Other => "another file was put in its place during the run; it was not touched",
        };
        Some(Warning::new(WarningCode::TargetReplaced, message).about(self.path.display().to_string()))
    }

    /// Removes what iostall made, and leaves what was there before: an empty file empty, the user's where it is.
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
