//! Why a result cannot be written where the user wants it.

use std::io;
use std::path::PathBuf;

use iostall_engine::guard::DatabaseFile;
use iostall_engine::output::OutputRefusal;
use thiserror::Error;

use super::form::Form;

/// The message says what and where; [`OutputError::hint`] says what to do.
#[derive(Debug, Error)]
pub enum OutputError {
    #[error("{one} and {two} cannot both use standard output")]
    StdoutTwice { one: &'static str, two: &'static str },
    #[error("{one} {} and {two} {} are the same file", first.display(), second.display())]
    OneFile { one: &'static str, first: PathBuf, two: &'static str, second: PathBuf },
    #[error("{flag} {}: {why}", path.display())]
    Refused { flag: &'static str, path: PathBuf, why: RefusalReason },
    #[error(transparent)]
    AtStart(Box<OutputError>),
    #[error("cannot write {flag} {}", path.display())]
    Write {
        flag: &'static str,
        path: PathBuf,
        /// Whether it is the one result that is not in the run.
        is_manifest: bool,
        source: io::Error,
    },
    #[error("cannot write to standard output")]
    Stdout(#[source] io::Error),
}

/// Why one file is refused. The texts go on after the option and the path.
#[derive(Debug, Error)]
pub enum RefusalReason {
    #[error(transparent)]
    Place(OutputRefusal),
    #[error("{0}")]
    Taken(String),
    #[error("{0} goes to the same file")]
    Redirected(&'static str),
    #[error("the existing file cannot be read: {0}")]
    Unread(io::Error),
    #[error("that file belongs to a database: {0}")]
    Database(DatabaseFile),
    #[error("that file exists and is not a {}", .0.name())]
    OtherForm(Form),
}

impl OutputError {
    /// What the user can do; `None` if the message says it.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::StdoutTwice { .. } => "give all but one of them a file",
            Self::OneFile { .. } => "give each a file of its own",
            Self::Refused { why, .. } => return Some(why.hint()),
            // The user need not wonder what was done before the failure.
            Self::AtStart(error) => {
                return error.hint().map(|hint| hint + "; nothing was measured or copied");
            }
            Self::Write { is_manifest: true, .. } => {
                "the same copy with --resume and another --manifest writes it, and copies nothing again"
            }
            Self::Write { .. } | Self::Stdout(_) => return None,
        };
        Some(hint.to_owned())
    }
}

impl RefusalReason {
    fn hint(&self) -> String {
        let hint = match self {
            Self::Place(refusal) => return refusal.hint(),
            Self::Taken(_) | Self::Database(_) => "name another file for the result",
            Self::Redirected(_) => "give each a file of its own",
            Self::Unread(_) => "name another file",
            Self::OtherForm(Form::Manifest { .. }) => {
                "name another file, or replace that one with --overwrite"
            }
            Self::OtherForm(_) => "name another file, or remove that one first",
        };
        hint.to_owned()
    }
}

#[derive(Debug, Error)]
pub enum TableError {
    #[error("cannot make {}", path.display())]
    Make { path: PathBuf, source: io::Error },
    #[error("cannot write {}", path.display())]
    Write { path: PathBuf, source: io::Error },
    #[error("cannot start the thread that writes the table")]
    Thread(#[source] io::Error),
}
