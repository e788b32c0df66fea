//! Errors of a store.

use std::path::{Path, PathBuf};

use iostall_measure::foreign::shell_path;
use rusqlite::ErrorCode;
use thiserror::Error;

use crate::document::DocumentError;
use crate::entry::{Entry, RunNumber};
use crate::identity::SourceId;
use crate::repository_error::RepositoryError;
use crate::selector::Selector;

/// How many candidates [`StoreError::Ambiguous`] lists.
const CANDIDATES_SHOWN: usize = 10;

/// Why a store could not carry out a request. The message says what and where; [`StoreError::hint`] what to
/// do next.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StoreError {
    #[error(
        "there is no place for the store: XDG_DATA_HOME and HOME are not set and this account has no home directory"
    )]
    NoHome,
    #[error("cannot open the store {path}: {source}")]
    Open { path: PathBuf, source: std::io::Error },
    #[error("there is no store {path}")]
    Missing { path: PathBuf },
    #[error("{path} is not an iostall store: it is {what}")]
    Foreign { path: PathBuf, what: String },
    #[error(
        "the store {path} was created by a newer iostall: its schema has version {found}, this iostall supports versions up to {known}"
    )]
    Newer { path: PathBuf, found: i64, known: i64 },
    #[error("the store {path} is damaged: {source}")]
    Damaged { path: PathBuf, source: rusqlite::Error },
    #[error("cannot {action} the store {path}: its disk is full")]
    Full { action: &'static str, path: PathBuf },
    #[error("the store {path} stayed locked by another process for {waited_s} s")]
    Locked { path: PathBuf, waited_s: u64 },
    #[error("what the store remembers as {name:?} is not understood")]
    State { name: String },
    /// A server has as much as one may have.
    #[error("{reason}")]
    Quota { reason: String },
    #[error("the store {store} has no source {id}")]
    NoSource { store: String, id: SourceId },
    #[error(transparent)]
    Repository(#[from] RepositoryError),
    #[error("a batch of samples cannot be read: {source}")]
    Batch { source: BatchError },
    #[error("cannot {action} the store {path}: {source}")]
    Sqlite { action: &'static str, path: PathBuf, source: rusqlite::Error },
    #[error("the run {id} is already in the store as {number}")]
    Exists { id: iostall_model::RunId, number: RunNumber },
    #[error("there is no run {selector} in the store")]
    NotFound { selector: Selector },
    #[error("{selector} names {} runs:{}", candidates.len(), lines(candidates))]
    Ambiguous { selector: Selector, candidates: Vec<Entry> },
    /// The run exists, but its document cannot be encoded or decoded.
    #[error("the run {run} cannot be stored or read: {source}")]
    Document {
        /// Its number, or its id if it has none yet.
        run: String,
        source: DocumentError,
    },
}

/// One line per candidate, so that the user can see which one was meant.
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
    /// Whether the error may go away by itself or when space is freed, so that a long-running collector
    /// should try again.
    pub fn may_pass(&self) -> bool {
        match self {
            Self::Locked { .. } | Self::Full { .. } => true,
            Self::Repository(error) => error.may_pass(),
            Self::Sqlite { source, .. } => {
                matches!(source.sqlite_error_code(), Some(ErrorCode::SystemIoFailure))
            }
            _ => false,
        }
    }

    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::NoHome => {
                "name the store with --store PATH, or set XDG_DATA_HOME to an absolute directory".into()
            }
            Self::Open { .. } => {
                "check the directory's owner and mode, or name another store with --store PATH".into()
            }
            Self::Missing { .. } => "`iostall collect run` makes one; --store names another".into(),
            Self::Foreign { .. } => "nothing was changed; name another file with --store PATH".into(),
            Self::State { .. } => {
                "a newer iostall wrote it, or it was damaged by hand: use the newer one, or let `iostall collect run` or \
                 `iostall fleet send` set it aside and begin anew"
                    .into()
            }
            Self::Newer { .. } => {
                "nothing was changed; use the newer iostall, or name another store with --store PATH".into()
            }
            Self::Damaged { path, .. } => damaged_hint(path),
            Self::Full { .. } => {
                "free space on its file system (`df` and `df -i` show how much there is), or name a store elsewhere with \
                 --store PATH; later, `iostall collect run --keep-raw` and `iostall runs delete` keep less"
                    .into()
            }
            Self::Locked { .. } => {
                "find the process that has it open (fuser), or store this run elsewhere with --store PATH".into()
            }
            Self::NotFound { .. } => "`iostall runs` lists the stored runs".into(),
            Self::Ambiguous { .. } => "write more digits, or the number".into(),
            Self::Document { source: DocumentError::Schema { .. }, .. } => {
                "use the iostall that stored it, or export the document unchanged with `iostall runs export`"
                    .into()
            }
            Self::Document { source: DocumentError::Read(_), .. } => {
                "export the document unchanged with `iostall runs export`".into()
            }
            Self::Repository(error) => return error.hint(),
            Self::Sqlite { path, source, .. } => return sqlite_hint(path, source),
            Self::Exists { .. }
            | Self::Document { .. }
            | Self::NoSource { .. }
            | Self::Batch { .. }
            | Self::Quota { .. } => return None,
        };
        Some(hint)
    }
}

fn damaged_hint(path: &Path) -> String {
    format!(
        "nothing was changed; move {0} aside (with {0}-wal and {0}-shm, if they are there) and iostall starts a new store; \
         `sqlite3 {1} .recover` recovers what can be read",
        path.display(),
        shell_path(path)
    )
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum BatchError {
    #[error("its columns have different lengths")]
    Lengths,
    #[error("its number is not one from 1 to 9223372036854775807")]
    Number,
    #[error("it refers to a series or an epoch that is not in it")]
    Place,
}
