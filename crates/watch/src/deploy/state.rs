//! What an agent remembers: which releases it applied, what was there before, and what it has begun.

use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use iostall_engine::Input;
use iostall_engine::files::{
    create_new_directory_private, effective_user, has_no_locks, open_or_create_private, stamp_of_link,
};
use iostall_measure::ByteCount;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::place::replace;
use crate::release::ObjectKind;
use crate::release_error::ReleaseError;

const FILE: Input = Input { what: "state of the agent", limit: ByteCount(64 << 20) };
const STATE_NAME: &str = "state.json";
const JOURNAL_NAME: &str = "journal.json";
const LOCK_NAME: &str = "lock";
const EARLIER_NAME: &str = "earlier";
pub(super) const FORMAT: u32 = 1;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct State {
    pub(super) format: u32,
    /// The highest version that was ever applied here; never lowered.
    pub(super) highest: u64,
    pub(super) applied: Option<AppliedRelease>,
    pub(super) objects: Vec<Placed>,
    pub(super) undo: Option<Undo>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct AppliedRelease {
    pub(super) version: u64,
    pub(super) id: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Placed {
    pub(super) kind: ObjectKind,
    pub(super) name: String,
    pub(super) path: PathBuf,
    /// As in the release's manifest.
    pub(super) sha256: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Undo {
    pub(super) release: String,
    pub(super) applied: Option<AppliedRelease>,
    pub(super) objects: Vec<Placed>,
    pub(super) steps: Vec<UndoStep>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct UndoStep {
    pub(super) object: String,
    pub(super) path: PathBuf,
    /// What the release put there.
    pub(super) sha256: String,
    /// `None` if nothing was there.
    pub(super) earlier: Option<Kept>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Kept {
    pub(super) file: PathBuf,
    pub(super) sha256: String,
    pub(super) mode: u32,
    pub(super) user: u32,
    pub(super) group: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Journal {
    pub(super) format: u32,
    pub(super) steps: Vec<JournalStep>,
    /// When all is done.
    pub(super) next: State,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct JournalStep {
    pub(super) path: PathBuf,
    /// `None` if nothing is there.
    pub(super) earlier: Option<Kept>,
    /// `None` if nothing is to be there.
    pub(super) sha256: Option<String>,
}

/// The directory of an agent, locked.
#[derive(Debug)]
pub(super) struct StateDirectory {
    path: PathBuf,
    _lock: File,
}

impl StateDirectory {
    /// Makes it, if it is not there.
    pub(super) fn open(path: &Path) -> Result<Self, ReleaseError> {
        let failed = |source| ReleaseError::Write { path: path.to_owned(), source };
        super::place::check_directory(path)?;
        match create_new_directory_private(path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(failed(error)),
            _ => {}
        }
        let stamp = stamp_of_link(path).map_err(failed)?;
        if stamp.mode & 0o077 != 0 || stamp.uid != effective_user() {
            let reason =
                "it must be a directory that only the user of the agent can enter (chmod 700)".to_owned();
            return Err(ReleaseError::State { path: path.to_owned(), reason });
        }
        let lock = open_or_create_private(&path.join(LOCK_NAME)).map_err(failed)?;
        match lock.try_lock() {
            Err(TryLockError::WouldBlock) => return Err(ReleaseError::Locked { path: path.to_owned() }),
            // A file system without locks: two at once are not noticed there.
            Err(TryLockError::Error(error)) if !has_no_locks(&error) => return Err(failed(error)),
            Ok(()) | Err(TryLockError::Error(_)) => {}
        }
        Ok(Self { path: path.to_owned(), _lock: lock })
    }

    pub(super) fn state(&self) -> Result<State, ReleaseError> {
        let state: Option<State> = self.read(STATE_NAME)?;
        let state = state.unwrap_or(State { format: FORMAT, ..State::default() });
        self.check_format(STATE_NAME, state.format)?;
        Ok(state)
    }

    pub(super) fn put_state(&self, state: &State) -> Result<(), ReleaseError> {
        self.put(STATE_NAME, state)
    }

    pub(super) fn journal(&self) -> Result<Option<Journal>, ReleaseError> {
        let journal: Option<Journal> = self.read(JOURNAL_NAME)?;
        if let Some(journal) = &journal {
            self.check_format(JOURNAL_NAME, journal.format)?;
        }
        Ok(journal)
    }

    pub(super) fn put_journal(&self, journal: &Journal) -> Result<(), ReleaseError> {
        self.put(JOURNAL_NAME, journal)
    }

    pub(super) fn remove_journal(&self) -> Result<(), ReleaseError> {
        let path = self.path.join(JOURNAL_NAME);
        super::place::remove(&path)?;
        super::place::sync_parent(&path)
    }

    /// A directory for what was there before a release; made if it is not there.
    pub(super) fn earlier(&self, release: &str) -> Result<PathBuf, ReleaseError> {
        let all = self.path.join(EARLIER_NAME);
        let own = all.join(release);
        for path in [&all, &own] {
            match create_new_directory_private(path) {
                Err(source) if source.kind() != io::ErrorKind::AlreadyExists => {
                    return Err(ReleaseError::Write { path: path.clone(), source });
                }
                _ => super::place::sync_parent(path)?,
            }
        }
        Ok(own)
    }

    /// Removes what was there before other releases than this one.
    pub(super) fn forget_earlier(&self, but: Option<&str>) {
        let Ok(entries) = std::fs::read_dir(self.path.join(EARLIER_NAME)) else { return };
        for entry in entries.flatten() {
            if but.is_none_or(|but| entry.file_name() != *but) {
                // What stays is only in the way.
                let _ = std::fs::remove_dir_all(entry.path());
            }
        }
    }

    fn read<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>, ReleaseError> {
        let path = self.path.join(name);
        match stamp_of_link(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            _ => {}
        }
        let text = FILE.secret(&path)?;
        let damaged =
            |error: serde_json::Error| ReleaseError::State { path: path.clone(), reason: error.to_string() };
        serde_json::from_str(&text).map(Some).map_err(damaged)
    }

    fn check_format(&self, name: &str, format: u32) -> Result<(), ReleaseError> {
        if format == FORMAT {
            return Ok(());
        }
        let reason = format!("it has the format {format}, and this iostall knows {FORMAT}");
        Err(ReleaseError::State { path: self.path.join(name), reason })
    }

    fn put(&self, name: &str, document: &impl Serialize) -> Result<(), ReleaseError> {
        let text = serde_json::to_string_pretty(document).unwrap_or_default() + "\n";
        replace(&self.path.join(name), text.as_bytes())
    }
}
