//! Why a store could not do what was asked.

use std::path::{Path, PathBuf};

use iostall_measure::foreign::shell_path;
use rusqlite::ErrorCode;
use thiserror::Error;

use crate::batch_error::BatchError;
use crate::document::DocumentError;
use crate::entry::{Entry, RunNumber};
use crate::identity::SourceId;
use crate::selector::Selector;

/// Most candidates an [`StoreError::Ambiguous`] lists.
const CANDIDATES_SHOWN: usize = 10;

/// Why a store could not do what was asked. The text says what and where; [`StoreError::hint`] says what next.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StoreError {
    /// Neither the environment nor the user database names a directory to keep runs in.
    #[error(
        "there is no place for the store: XDG_DATA_HOME and HOME are not set and this account has no home directory"
    )]
    NoHome,
    /// The file or its directory could not be made or opened.
    #[error("cannot open the store {path}: {source}")]
    Open {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The file is something else.
    #[error("{path} is not an iostall store: it is {what}")]
    Foreign {
        /// The file.
        path: PathBuf,
        /// What it is instead.
        what: String,
    },
    /// A newer iostall made it.
    #[error(
        "the store {path} was made by a newer iostall: its schema has version {found}, this iostall knows versions up to {known}"
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: i64,
        /// The newest this program knows.
        known: i64,
    },
    /// The file is damaged.
    #[error("the store {path} is damaged: {source}")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What SQLite said.
        source: rusqlite::Error,
    },
    /// There is no room for what SQLite would write, be it only to read.
    #[error("cannot {action} the store {path}: its disk is full")]
    Full {
        /// What was tried.
        action: &'static str,
        /// The file.
        path: PathBuf,
    },
    /// Another process kept it locked.
    #[error("the store {path} stayed locked by another process for {waited_s} s")]
    Locked {
        /// The file.
        path: PathBuf,
        /// How long it was waited for, seconds.
        waited_s: u64,
    },
    /// No source is called so in this store.
    #[error("the store {path} has no source {id}")]
    NoSource {
        /// The file.
        path: PathBuf,
        /// What was asked for.
        id: SourceId,
    },
    /// A batch of samples from elsewhere cannot be taken apart.
    #[error("a batch of samples cannot be read: {source}")]
    Batch {
        /// What is wrong with it.
        source: BatchError,
    },
    /// SQLite could not do it for another reason.
    #[error("cannot {action} the store {path}: {source}")]
    Sqlite {
        /// What was tried.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// What SQLite said.
        source: rusqlite::Error,
    },
    /// The run is there already.
    #[error("the run {id} is in the store already, as {number}")]
    Exists {
        /// Its identity.
        id: iostall_model::RunId,
        /// Its number.
        number: RunNumber,
    },
    /// No run has this name.
    #[error("there is no run {selector} in the store")]
    NotFound {
        /// The name.
        selector: Selector,
    },
    /// Several runs have this name.
    #[error("{selector} names {} runs:{}", candidates.len(), lines(candidates))]
    Ambiguous {
        /// The name.
        selector: Selector,
        /// All of them, newest first.
        candidates: Vec<Entry>,
    },
    /// The run is there, its document cannot be written or read.
    #[error("the run {run} cannot be stored or read: {source}")]
    Document {
        /// Its number, or its id while it has none.
        run: String,
        /// Why.
        source: DocumentError,
    },
}

/// One line a candidate, so that the user can see which one was meant.
fn lines(candidates: &[Entry]) -> String {
    let shown = candidates.iter().take(CANDIDATES_SHOWN);
    let mut lines: Vec<String> = shown
        .map(|entry| format!("\n  {} {} {} {:.0}", entry.number, entry.id, entry.name, entry.started_utc))
        .collect();
    if candidates.len() > CANDIDATES_SHOWN {
        lines.push(format!("\n  and {} more", candidates.len() - CANDIDATES_SHOWN));
    }
    lines.concat()
}

/// What may be done about a failure of SQLite, where its cause is one of the usual.
fn sqlite_hint(path: &Path, source: &rusqlite::Error) -> Option<String> {
    match source.sqlite_error_code()? {
        ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied => Some(format!(
            "even to read it, iostall must be able to write to {0} and its directory: run it as their owner, or copy {0}, \
             with {0}-wal if there is one, and name the copy with --store PATH",
            path.display()
        )),
        ErrorCode::SystemIoFailure => {
            Some("the kernel's log says what is wrong with the device (dmesg)".into())
        }
        _ => None,
    }
}

impl StoreError {
    /// Whether it may be over by itself, or when somebody makes room: what goes on for months tries again.
    pub fn may_pass(&self) -> bool {
        match self {
            Self::Locked { .. } | Self::Full { .. } => true,
            Self::Sqlite { source, .. } => {
                matches!(source.sqlite_error_code(), Some(ErrorCode::SystemIoFailure))
            }
            _ => false,
        }
    }

    /// What to do about it; `None` where the message says all there is.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::NoHome => {
                "name the store with --store PATH, or set XDG_DATA_HOME to an absolute directory".into()
            }
            Self::Open { .. } => {
                "check the directory's owner and mode, or name another store with --store PATH".into()
            }
            Self::Foreign { .. } => "nothing was changed; name another file with --store PATH".into(),
            Self::Newer { .. } => {
                "nothing was changed; use the newer iostall, or name another store with --store PATH".into()
            }
            Self::Damaged { path, .. } => damaged_hint(path),
            Self::Full { .. } => {
                "make room on its file system (`df` and `df -i` show how much there is), or name a store elsewhere with \
                 --store PATH; later, `iostall collect run --keep-raw` and `iostall runs delete` keep less"
                    .into()
            }
            Self::Locked { .. } => {
                "see which process has it open (fuser), or keep this run elsewhere with --store PATH".into()
            }
            Self::NotFound { .. } => "`iostall runs` lists what is there".into(),
            Self::Ambiguous { .. } => "write more digits, or the number".into(),
            Self::Document { source: DocumentError::Schema { .. }, .. } => {
                "use the iostall that stored it, or take the document as it is with `iostall runs export`"
                    .into()
            }
            Self::Document { source: DocumentError::Read(_), .. } => {
                "take the document as it is with `iostall runs export`".into()
            }
            Self::Sqlite { path, source, .. } => return sqlite_hint(path, source),
            Self::Exists { .. } | Self::Document { .. } | Self::NoSource { .. } | Self::Batch { .. } => {
                return None;
            }
        };
        Some(hint)
    }
}

fn damaged_hint(path: &Path) -> String {
    format!(
        "nothing was changed; move {0} aside (with {0}-wal and {0}-shm, if they are there) and iostall starts a new store; \
         `sqlite3 {1} .recover` saves what can be read",
        path.display(),
        shell_path(path)
    )
}
