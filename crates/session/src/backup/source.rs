//! The sources of a backup as they are named on a command line.

use std::path::Path;

use iostall_model::backup::Through;
use thiserror::Error;

use super::create::BackupSource;
use super::database::{AskPassword, DatabaseSource};
use crate::error::{SessionError, UseCaseError};

pub struct SourceHelp<'a> {
    /// Where the copy of a database of SQLite is made.
    pub scratch: &'a Path,
    pub engine_dir: Option<&'a Path>,
    /// How the files of a PostgreSQL are read; `None`: in the best way that is possible.
    pub through: Option<Through>,
    /// What comes through standard input, however the stream was made.
    pub stream_name: Option<&'a str>,
    pub ask: AskPassword<'a>,
}

#[derive(Debug, Error)]
#[error("{scheme}:// is no source of a backup")]
struct UnknownScheme {
    scheme: String,
}

/// The source that `named` names. What exists as a file is one, whatever it is called.
pub fn source_of(named: &Path, help: &SourceHelp<'_>) -> Result<BackupSource, SessionError> {
    let text = named.to_string_lossy();
    if text == "-" {
        return Ok(BackupSource::StandardInput(help.stream_name.map(str::to_owned)));
    }
    if named.exists() {
        return Ok(BackupSource::Path(named.to_owned()));
    }
    if let Some(database) = DatabaseSource::parse(&text)? {
        return Ok(BackupSource::Database(database.ready(
            help.scratch,
            help.engine_dir,
            help.through,
            help.ask,
        )?));
    }
    match text.split_once("://") {
        Some((scheme, _)) => {
            let hint = "name files, directories, a block device, postgres://USER@HOST, mariadb://USER@HOST, sqlite:PATH, or - \
                        for standard input";
            let error = UnknownScheme { scheme: scheme.to_owned() };
            Err(SessionError::OfUseCase(UseCaseError::new(error, Some(hint.to_owned()))))
        }
        None => Ok(BackupSource::Path(named.to_owned())),
    }
}
