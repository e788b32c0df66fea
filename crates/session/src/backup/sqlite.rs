//! A SQLite database that programs have open as the source of a backup.
//!
//! It is first copied as it is at one point in time, into a file that is removed again, because only SQLite itself can read
//! a database that is being written to.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use iostall_connect::sqlite::{SqliteCopy, SqliteError, copy};
use iostall_engine::files::{self, UnfinishedFile, path_bytes};
use iostall_measure::clock::utc_now;
use iostall_model::backup::{SourceKind, SourceRecord, StoredName};
use iostall_transfer::backup::create::{Item, Live, LiveEnd, PreparedSource};
use iostall_transfer::pipeline::StageFailure;
use thiserror::Error;

use crate::identity::identity_of;

#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SqliteBackupError {
    #[error(transparent)]
    Database(#[from] SqliteError),
    #[error("cannot look at {}", path.display())]
    Look { path: PathBuf, source: io::Error },
    #[error("cannot make a file for the copy in {}", directory.display())]
    Scratch { directory: PathBuf, source: io::Error },
}

impl SqliteBackupError {
    pub fn is_cancelled(&self) -> bool {
        matches!(self, Self::Database(SqliteError::Cancelled))
    }

    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Database(error) => error.hint(),
            Self::Look { .. } | Self::Scratch { .. } => None,
        }
    }
}

pub struct SqliteRequest<'a> {
    pub path: &'a Path,
    /// Where the copy is made, which needs as much room as the database.
    pub scratch: &'a Path,
    pub limit: Duration,
    pub is_cancelled: &'a dyn Fn() -> bool,
}

/// Copies the database. The copy is removed when the result is dropped.
pub fn prepare(request: &SqliteRequest<'_>) -> Result<PreparedSource, SqliteBackupError> {
    let look = |source| SqliteBackupError::Look { path: request.path.to_owned(), source };
    let original = files::stamp_of_path(request.path).map_err(look)?;
    let name = request.path.file_name().map_or_else(|| OsString::from("database"), ToOwned::to_owned);
    let scratch = Scratch::create(request.scratch, &name)?;
    let copied = copy(request.path, &scratch.path, request.limit, request.is_cancelled)?;
    let stamp = files::stamp_of_path(&scratch.path).map_err(look)?;
    let stored = StoredName(path_bytes(Path::new(&name)).to_vec());
    let mut item = Item::file(stored, scratch.path.clone(), &stamp);
    // The file is the database's and not the copy's.
    item.metadata = iostall_transfer::backup::create::metadata_of(&original);
    let kind = SourceKind::Sqlite { version: copied.version.clone() };
    let record = SourceRecord {
        named: format!("sqlite:{}", request.path.display()),
        identity: identity_of(request.path).ok(),
        prefix: StoredName::default(),
        kind: kind.clone(),
        read_until_utc: utc_now(),
    };
    let warnings = warnings(request.path, &copied);
    Ok(PreparedSource {
        record,
        items: vec![item],
        last: Vec::new(),
        live: Some(Box::new(Copied { _scratch: scratch, kind, warnings })),
        page_bytes: Some(copied.page_bytes),
        skipped_specials: 0,
        content_warnings: Vec::new(),
    })
}

fn warnings(path: &Path, copied: &SqliteCopy) -> Vec<String> {
    let waited = format!(
        "{}: programs could not write while it was copied, because it has no write-ahead log (PRAGMA journal_mode = wal)",
        path.display()
    );
    if copied.has_log { Vec::new() } else { vec![waited] }
}

/// The copy, which is removed at the end, also by a second Ctrl-C.
struct Scratch {
    path: PathBuf,
    _listed: UnfinishedFile,
}

impl Scratch {
    fn create(directory: &Path, name: &std::ffi::OsStr) -> Result<Self, SqliteBackupError> {
        let mut own = OsString::from(".");
        own.push(name);
        own.push(format!(".iostall-{}-{}", std::process::id(), utc_now().as_nanosecond()));
        let path = directory.join(own);
        let made = files::create_new_private(&path);
        made.map_err(|source| SqliteBackupError::Scratch { directory: directory.to_owned(), source })?;
        let listed = UnfinishedFile::at(&path);
        Ok(Self { path, _listed: listed })
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

struct Copied {
    _scratch: Scratch,
    kind: SourceKind,
    warnings: Vec<String>,
}

impl Live for Copied {
    fn end(&mut self) -> Result<LiveEnd, StageFailure> {
        let warnings = std::mem::take(&mut self.warnings);
        Ok(LiveEnd { items: Vec::new(), kind: self.kind.clone(), warnings, content_warnings: Vec::new() })
    }
}
